"""MosaicML Streaming: shards on a local disk, shuffled, 2 workers.

    streaming_rounds.py TABLE ROWS
"""

import sys
import tempfile

import pyarrow.dataset
from rounds import serve
from streaming import MDSWriter, StreamingDataset
from torch.utils.data import DataLoader

COLUMNS = {"id": "int64", "x": "float64", "y": "float32", "label": "int32"}


def write(table, folder):
    columns = [table[name].to_numpy() for name in COLUMNS]
    with MDSWriter(out=folder, columns=COLUMNS) as out:
        for row in zip(*columns):
            out.write(dict(zip(COLUMNS, row)))


def main():
    with tempfile.TemporaryDirectory() as folder:
        write(pyarrow.dataset.dataset(sys.argv[1]).head(int(sys.argv[2])), folder)
        dataset = StreamingDataset(local=folder, shuffle=True, batch_size=1024)

        def read():
            loader = DataLoader(dataset, batch_size=1024, num_workers=2)
            return sum(len(batch["id"]) for batch in loader)

        serve(read)


if __name__ == "__main__":
    main()
