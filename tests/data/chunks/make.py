"""Writes types.arrow and types.txt: a chunk with a column of every type, as pyarrow writes
it, and what each column holds in the notation of src/reader/column_text.h.

Run from anywhere: python tests/data/chunks/make.py
"""
import datetime
import decimal
import pathlib
import struct

import pyarrow as pa

HERE = pathlib.Path(__file__).parent


def packed(code):
    return lambda v: struct.pack("<" + code, v).hex()


def text(v):
    return "'" + (v.encode() if isinstance(v, str) else v).hex() + "'"


def listed(item):
    return lambda vs: "[" + ",".join(render(item, v) for v in vs) + "]"


def structed(*items):
    return lambda v: "{" + ",".join(render(i, x) for i, x in zip(items, v.values())) + "}"


def render(renderer, value):
    return "null" if value is None else renderer(value)


def micros(v):
    return struct.pack("<q", (v - datetime.datetime(1970, 1, 1)) //
                       datetime.timedelta(microseconds=1)).hex()


def entries(vs):
    return "[" + ",".join("{%s,%s}" % (text(k), render(packed("i"), v)) for k, v in vs) + "]"


COLUMNS = [
    ("n", pa.null(), [None] * 5, None),
    ("b", pa.bool_(), [True, None, False, True, True], lambda v: str(int(v))),
    ("c", pa.int8(), [1, -2, None, 4, 5], packed("b")),
    ("S", pa.uint16(), [1, 2, 3, 4, 65535], packed("H")),
    ("e", pa.float16(), [1.5, None, 0, 2, -1], packed("e")),
    ("f", pa.float32(), [1.5, 2.5, None, 4, 5], packed("f")),
    ("l", pa.int64(), [1, 2, 3, 4, -(2**62)], packed("q")),
    ("g", pa.float64(), [None, None, None, None, 1.25], packed("d")),
    ("u", pa.string(), ["a", "", None, "daß", "x" * 40], text),
    ("Z", pa.large_binary(), [b"\0\1", None, b"", b"q", b"z"], text),
    ("w", pa.binary(3), [b"abc", b"def", None, b"ghi", b"jkl"], lambda v: v.hex()),
    ("d", pa.decimal128(20, 2), [decimal.Decimal("1.25"), None] + [decimal.Decimal(-3)] * 3,
     lambda v: int(v.scaleb(2)).to_bytes(16, "little", signed=True).hex()),
    ("tsu", pa.timestamp("us"), [datetime.datetime(2020, 1, 2, 3, 4, 5, 6)] * 4 + [None],
     micros),
    ("tdD", pa.date32(), [datetime.date(1970, 1, 2), None] * 2 + [datetime.date(2000, 1, 1)],
     lambda v: struct.pack("<i", (v - datetime.date(1970, 1, 1)).days).hex()),
    ("+l", pa.list_(pa.int32()), [[1, 2], [], None, [None, 5], [6]], listed(packed("i"))),
    ("+L", pa.large_list(pa.string()), [["a"], None, ["b", None, "cc"], [], ["d"]],
     listed(text)),
    ("+w", pa.list_(pa.float32(), 2), [[1, 2], [3, None], None, [5, 6], [7, 8]],
     listed(packed("f"))),
    ("+s", pa.struct([("x", pa.int64()), ("y", pa.string())]),
     [{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}, {"x": 4, "y": None}, {"x": 5, "y": ""}],
     structed(packed("q"), text)),
    ("+m", pa.map_(pa.string(), pa.int32()), [[("k", 1)], [], None, [("a", None), ("b", 2)], []],
     entries),
    ("+ll", pa.list_(pa.list_(pa.bool_())), [[[True], []], None, [], [[False, None]], [None]],
     listed(listed(lambda v: str(int(v))))),
]


def main():
    arrays = [pa.array(values, type) for _, type, values, _ in COLUMNS]
    batch = pa.record_batch(arrays, names=[name for name, *_ in COLUMNS])
    with pa.OSFile(str(HERE / "types.arrow"), "wb") as out:
        with pa.ipc.new_file(out, batch.schema) as writer:
            writer.write_batch(batch)
    with pa.OSFile(str(HERE / "empty.arrow"), "wb") as out:
        with pa.ipc.new_file(out, batch.schema) as writer:
            writer.write_batch(batch.slice(0, 0))
    lines = [" ".join(render(r, v) for v in values) for _, _, values, r in COLUMNS]
    (HERE / "types.txt").write_text("\n".join(lines) + "\n")


main()
