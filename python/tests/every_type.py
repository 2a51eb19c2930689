"""Tables with a column for every type that Forebay reads."""

import datetime
import decimal

import numpy as np
import pyarrow as pa

ROWS = 300


def _with_nulls(values, share, rng):
    return [None if rng.random() < share else value for value in values]


def _numbers(rng):
    columns = {}
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(),
                 pa.uint32(), pa.uint64()):
        limits = np.iinfo(str(kind))
        values = rng.integers(limits.min, limits.max, ROWS, dtype=str(kind), endpoint=True)
        columns[str(kind)] = (kind, values.tolist())
    for kind in (pa.float16(), pa.float32(), pa.float64()):
        values = rng.standard_normal(ROWS).astype(str(kind).replace("halffloat", "float16"))
        columns[str(kind)] = (kind, list(values))
    columns["bool"] = (pa.bool_(), (rng.random(ROWS) < 0.5).tolist())
    return columns


def _times(rng):
    whole = rng.integers(0, 86_400, ROWS).tolist()
    columns = {"date32": (pa.date32(), [datetime.date(2020, 1, 1) + datetime.timedelta(v % 900)
                                        for v in whole]),
               "date64": (pa.date64(), [datetime.date(1960, 1, 1) + datetime.timedelta(v % 900)
                                        for v in whole]),
               "time32s": (pa.time32("s"), whole), "time32ms": (pa.time32("ms"), whole),
               "time64us": (pa.time64("us"), whole), "time64ns": (pa.time64("ns"), whole)}
    for unit in ("s", "ms", "us", "ns"):
        columns[f"timestamp_{unit}"] = (pa.timestamp(unit), whole)
        columns[f"timestamp_{unit}_zone"] = (pa.timestamp(unit, "Europe/Paris"), whole)
        columns[f"duration_{unit}"] = (pa.duration(unit), whole)
    return columns


def _decimals(rng):
    digits = rng.integers(-10**9, 10**9, ROWS).tolist()
    return {
        "decimal128": (pa.decimal128(38, 4), [decimal.Decimal(v).scaleb(-4) for v in digits]),
        "decimal256": (pa.decimal256(60, 2), [decimal.Decimal(v).scaleb(-2) for v in digits])}


def _texts(rng):
    words = ["", "a", "Überraschung", "数据", "x" * 70]
    picked = [words[i] + str(i) * (i % 3) for i in rng.integers(0, len(words), ROWS)]
    raw = [word.encode() for word in picked]
    return {"string": (pa.string(), picked), "large_string": (pa.large_string(), picked),
            "binary": (pa.binary(), raw), "large_binary": (pa.large_binary(), raw),
            "fixed_binary": (pa.binary(5), [rng.bytes(5) for _ in range(ROWS)])}


def _nested(rng):
    ints = [rng.integers(0, 99, rng.integers(0, 5)).tolist() for _ in range(ROWS)]
    words = [[f"w{v}" for v in row] for row in ints]
    pairs = [[(f"k{i}", v) for i, v in enumerate(row)] for row in ints]
    structs = [{"a": i, "b": f"s{i}"} for i in range(ROWS)]
    deep = [[{"n": v, "words": [f"d{v}"] * (v % 3)} for v in row] for row in ints]
    inner = pa.struct([("n", pa.int32()), ("words", pa.list_(pa.string()))])
    return {
        "list_int": (pa.list_(pa.int32()), ints),
        "large_list_string": (pa.large_list(pa.string()), words),
        "fixed_list": (pa.list_(pa.float32(), 3), [[i, i + 0.5, -i] for i in range(ROWS)]),
        "struct": (pa.struct([("a", pa.int64()), ("b", pa.string())]), structs),
        "map": (pa.map_(pa.string(), pa.int16()), pairs),
        "deep": (pa.list_(inner), deep)}


def table(null_share=0.0, names=None, seed=3):
    """A table of all types (or those named), with that share of rows null."""
    rng = np.random.default_rng(seed)
    columns = {**_numbers(rng), **_times(rng), **_decimals(rng), **_texts(rng), **_nested(rng)}
    arrays, fields = [], []
    for name, (kind, values) in columns.items():
        if names is not None and name not in names:
            continue
        arrays.append(pa.array(_with_nulls(values, null_share, rng), kind))
        fields.append(pa.field(name, kind))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


# ORC has no unsigned numbers, half floats, times, durations, large or fixed-size types.
ORC = ("int8", "int16", "int32", "int64", "float", "double", "bool", "date32", "timestamp_ns",
       "timestamp_ns_zone", "decimal128", "string", "binary", "list_int", "struct", "map",
       "deep")
