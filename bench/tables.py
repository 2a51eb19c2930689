"""The tables that several benches read, made once in the bench's folder."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import NARROW_ROWS


def narrow_table(bench, rows=NARROW_ROWS):
    """24 bytes a row."""
    folder = bench.folder / ("narrow" if rows == NARROW_ROWS else f"narrow-{rows >> 20}")
    if not folder.exists():
        folder.mkdir()
        rng = np.random.default_rng(1)
        files, per_file = 5, rows // 5
        for i in range(files):
            columns = {
                "id": np.arange(i * per_file, (i + 1) * per_file, dtype=np.int64),
                "x": rng.random(per_file),
                "y": rng.random(per_file, dtype=np.float32),
                "label": rng.integers(0, 10, per_file, dtype=np.int32),
            }
            pq.write_table(pa.table(columns), folder / f"{i:03}.parquet")
    return folder


def wide_table(bench, row_bytes, table_bytes=512 << 20):
    folder = bench.folder / f"wide{row_bytes}-{table_bytes >> 20}"
    if not folder.exists():
        folder.mkdir()
        rng = np.random.default_rng(2)
        width, files = row_bytes // 4, 8
        per_file = table_bytes // row_bytes // files
        for i in range(files):
            values = rng.random(per_file * width, dtype=np.float32)
            column = pa.FixedSizeListArray.from_arrays(pa.array(values), width)
            pq.write_table(
                pa.table({"emb": column}), folder / f"{i}.parquet", use_dictionary=False, compression="none"
            )
    return folder
