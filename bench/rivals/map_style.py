"""torch's DataLoader over a map-style dataset: one item per row, 2 workers.

    map_style.py TABLE ROWS
"""

import sys

import pyarrow.dataset
import torch
from rounds import serve
from torch.utils.data import DataLoader


class MapStyle(torch.utils.data.Dataset):
    def __init__(self, table):
        self.columns = {name: torch.from_numpy(table[name].to_numpy().copy())
                        for name in table.column_names}

    def __len__(self):
        return len(self.columns["id"])

    def __getitem__(self, row):
        return {name: values[row] for name, values in self.columns.items()}


def main():
    rows = int(sys.argv[2])
    dataset = MapStyle(pyarrow.dataset.dataset(sys.argv[1]).head(rows))

    def read():
        loader = DataLoader(dataset, batch_size=1024, shuffle=True, num_workers=2)
        return sum(len(batch["id"]) for batch in loader)

    serve(read)


if __name__ == "__main__":
    main()
