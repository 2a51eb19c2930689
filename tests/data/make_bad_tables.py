#!/usr/bin/env python3
"""Writes bad_tables/: small broken table files, the same bytes on every run.

Every file must give an error that names it; src/table/corpora_test.cc reads them all.
Needs pyarrow. The output is committed, so that tests do not depend on its version.
"""
import io
import pathlib
import struct

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.orc as orc
import pyarrow.parquet as pq

OUT = pathlib.Path(__file__).parent / "bad_tables"

TABLE = pa.table({
    "id": pa.array(range(60), pa.int64()),
    "name": pa.array([f"name-{i}" for i in range(60)]),
    "tags": pa.array([[i, None] if i % 3 else None for i in range(60)],
                     pa.list_(pa.int32())),
})


def parquet(**options):
    sink = io.BytesIO()
    pq.write_table(TABLE, sink, row_group_size=30, write_page_checksum=True, **options)
    return sink.getvalue()


def arrow(stream=False):
    sink = io.BytesIO()
    writer = (ipc.new_stream if stream else ipc.new_file)(sink, TABLE.schema)
    writer.write_table(TABLE, max_chunksize=30)
    writer.close()
    return sink.getvalue()


def orc_file():
    sink = io.BytesIO()
    orc.write_table(TABLE, sink)
    return sink.getvalue()


def put(data, offset, patch):
    return data[:offset] + patch + data[offset + len(patch):]


def replace(data, old, new):
    assert data.count(old) >= 1 and len(old) == len(new), old
    return data.replace(old, new, 1)


def parquet_files():
    good = parquet(compression="none", use_dictionary=False)
    snappy = parquet(compression="snappy")
    footer = struct.unpack("<I", good[-8:-4])[0]
    footer_at = len(good) - 8 - footer
    yield "empty.parquet", b""
    yield "one-byte.parquet", b"P"
    yield "only-magic.parquet", b"PAR1"
    yield "twice-magic.parquet", b"PAR1PAR1"
    yield "half.parquet", good[: len(good) // 2]
    yield "no-tail.parquet", good[:-1]
    yield "footer-too-long.parquet", put(good, len(good) - 8, struct.pack("<I", 1 << 31))
    yield "footer-size-zero.parquet", put(good, len(good) - 8, struct.pack("<I", 0))
    yield "footer-zeroed.parquet", put(good, footer_at, bytes(footer))
    yield "footer-ones.parquet", put(good, footer_at, b"\xff" * footer)
    yield "footer-cut.parquet", good[:footer_at] + good[footer_at + 40:]
    yield "data-cut-out.parquet", good[:4] + good[200:]
    yield "page-byte-flipped.parquet", replace(good, b"name-7", b"name-8")
    yield "page-zeroed.parquet", put(snappy, 60, bytes(60))
    yield "page-header-ones.parquet", put(snappy, 4, b"\xff" * 12)


def arrow_files():
    good = arrow()
    stream = arrow(stream=True)
    footer = struct.unpack("<i", good[-10:-6])[0]
    footer_at = len(good) - 10 - footer
    yield "empty.arrow", b""
    yield "only-magic.arrow", b"ARROW1\0\0"
    yield "half.arrow", good[: len(good) // 2]
    yield "footer-negative.arrow", put(good, len(good) - 10, struct.pack("<i", -5))
    yield "footer-too-long.arrow", put(good, len(good) - 10, struct.pack("<i", 1 << 30))
    yield "footer-zeroed.arrow", put(good, footer_at, bytes(footer))
    yield "footer-ones.arrow", put(good, footer_at, b"\xff" * footer)
    yield "not-utf8.arrow", replace(good, b"name-7", b"\xff\xfe\xfd-7\xff")
    offsets = struct.pack("<4i", 0, 6, 12, 18)
    yield "offsets-backwards.arrow", replace(good, offsets, struct.pack("<4i", 0, 6, -9, 18))
    yield "offsets-too-large.arrow", replace(good, offsets,
                                             struct.pack("<4i", 0, 6, 1 << 30, 18))
    yield "cut-in-body.arrows", stream[: len(stream) * 2 // 3]
    yield "cut-in-schema.arrows", stream[:100]
    yield "message-too-long.arrows", put(stream, 4, struct.pack("<i", 1 << 30))
    yield "message-negative.arrows", put(stream, 4, struct.pack("<i", -8))
    yield "schema-ones.arrows", put(stream, 8, b"\xff" * 40)
    yield "feather-1.feather", b"FEA1" + bytes(64) + b"FEA1"


def orc_files():
    good = orc_file()
    yield "empty.orc", b""
    yield "only-magic.orc", b"ORC"
    yield "half.orc", good[: len(good) // 2]
    yield "tail-ones.orc", good[:-30] + b"\xff" * 30
    yield "postscript-too-long.orc", good[:-1] + b"\xff"


def main():
    OUT.mkdir(exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    for files in (parquet_files(), arrow_files(), orc_files()):
        for name, data in files:
            (OUT / name).write_bytes(data)


if __name__ == "__main__":
    main()
