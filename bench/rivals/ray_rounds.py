"""Ray Data: torch batches with a local shuffle buffer, of files that the page cache holds or,
with "materialized", of blocks that its object store holds.

    ray_rounds.py TABLE ROWS [materialized]
"""

import logging
import sys

import ray
from rounds import serve

BUFFER_ROWS = 10_000


def main():
    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR,
             configure_logging=True, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    table = ray.data.read_parquet(sys.argv[1]).limit(int(sys.argv[2]))
    if "materialized" in sys.argv:
        table = table.materialize()

    def read():
        batches = table.iter_torch_batches(batch_size=1024,
                                           local_shuffle_buffer_size=BUFFER_ROWS)
        return sum(len(batch["id"]) for batch in batches)

    serve(read)


if __name__ == "__main__":
    main()
