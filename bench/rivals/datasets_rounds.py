"""Hugging Face datasets: a table in its Arrow cache, shuffled, torch format.

    datasets_rounds.py TABLE ROWS
"""

import sys
import tempfile
from pathlib import Path

import datasets
from rounds import serve


def main():
    files = sorted(map(str, Path(sys.argv[1]).glob("*.parquet")))
    with tempfile.TemporaryDirectory() as cache:
        table = datasets.Dataset.from_parquet(files, cache_dir=cache)
        shuffled = table.shuffle(seed=7).select(range(int(sys.argv[2]))).with_format("torch")

        def read():
            return sum(len(batch["id"]) for batch in shuffled.iter(batch_size=1024))

        serve(read)


if __name__ == "__main__":
    main()
