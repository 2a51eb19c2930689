"""Writes Avro container files from plain values: enough for Iceberg manifests."""

import json
import os
import struct
import zlib


def encode_long(value):
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value & ~0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(value):
    return encode_long(len(value)) + value


def encoder(schema):
    """A function that encodes a value of the schema."""
    if isinstance(schema, list):
        assert schema[0] == "null" and len(schema) == 2
        inner = encoder(schema[1])
        return lambda v: b"\0" if v is None else b"\2" + inner(v)
    if isinstance(schema, str):
        return _PRIMITIVES[schema]
    kind = schema["type"]
    if kind == "record":
        fields = [(f["name"], encoder(f["type"])) for f in schema["fields"]]
        return lambda v: b"".join([encode(v.get(name)) for name, encode in fields])
    if kind == "array":
        inner = encoder(schema["items"])
        return lambda v: (encode_long(len(v)) + b"".join(map(inner, v)) if v else b"") + b"\0"
    if kind == "fixed":
        return bytes
    return encoder(kind)


_PRIMITIVES = {
    "int": encode_long, "long": encode_long, "boolean": lambda v: b"\1" if v else b"\0",
    "bytes": _bytes, "string": lambda v: _bytes(v.encode()),
    "float": struct.Struct("<f").pack, "double": struct.Struct("<d").pack}


def write(path, schema, rows, metadata, rows_per_block=1000):
    encode = encoder(schema)
    sync = os.urandom(16)
    header = {"avro.schema": json.dumps(schema), "avro.codec": "deflate", **metadata}
    with open(path, "wb") as out:
        out.write(b"Obj\1" + encode_long(len(header)))
        for key, value in header.items():
            out.write(_bytes(key.encode()) + _bytes(value.encode()))
        out.write(b"\0" + sync)
        for first in range(0, len(rows), rows_per_block):
            block = rows[first:first + rows_per_block]
            deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
            data = deflate.compress(b"".join(map(encode, block))) + deflate.flush()
            out.write(encode_long(len(block)) + _bytes(data) + sync)
    return os.path.getsize(path)
