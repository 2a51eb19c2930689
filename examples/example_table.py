"""The table that the examples train on: y is a linear function of x, and some noise."""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, FILES, FEATURES = 6000, 3, 8


def table():
    """Its folder: the program's first argument, filled if it is new; else a temporary one.
    With several processes give a folder that is there."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="forebay-"))
    if not list(folder.glob("*.parquet")):
        write(folder)
    return str(folder)


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    truth = rng.standard_normal(FEATURES)
    for i in range(FILES):
        count = ROWS // FILES
        x = rng.standard_normal((count, FEATURES)).astype("f4")
        y = (x @ truth + 0.1 * rng.standard_normal(count)).astype("f4")
        pq.write_table(pa.table({
            "id": np.arange(i * count, (i + 1) * count),
            "x": pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), FEATURES),
            "y": y}), folder / f"{i}.parquet", row_group_size=1000)


if __name__ == "__main__":
    print(table())
