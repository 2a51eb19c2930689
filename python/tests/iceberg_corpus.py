"""The corpus of Iceberg tables that other engines wrote, with the rows those engines read:
where it is, and rows in its notation (one JSON text a row)."""

import datetime
import decimal
import io
import json
import math
import os
import struct
import subprocess
import tarfile
import uuid
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
OLD = "/tmp/forebay-corpus/"


def archive():
    folder = Path(os.environ.get("FOREBAY_CORPORA", ROOT.parent / "shared" / "corpora"))
    return folder / "iceberg.tar.zst"


def opened():
    done = subprocess.run(["zstd", "-dcq", archive()], capture_output=True, check=True)
    return tarfile.open(fileobj=io.BytesIO(done.stdout))


def unpack(into):
    with opened() as tar:
        tar.extractall(into, filter="data")
    return into / "forebay-corpus"


def remap(corpus):
    """Metadata names the place where the corpus was made, in several spellings."""
    here = corpus.as_uri() + "/"
    return {"file:" + OLD: here, "file://" + OLD: here, OLD: here}


def place(corpus, uri):
    """A path in expect.json as it is here."""
    return str(corpus) + "/" + uri[uri.index(OLD) + len(OLD):]


def expectations(corpus):
    for path in sorted(corpus.glob("*/expected/*/expect.json")):
        yield path.parent, json.loads(path.read_text())


# ── rows ──────────────────────────────────────────────────────────────────────────────────

def _float(value, width):
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return struct.unpack("f", struct.pack("f", value))[0] if width == 32 else value


def _time_text(value, digits, per_second):
    seconds, rest = divmod(value, per_second)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:0{digits}}"


def _timestamp(value, kind):
    nanos = kind.endswith("_ns")
    per_second = 10**9 if nanos else 10**6
    days, rest = divmod(value, 86400 * per_second)
    date = datetime.date(1970, 1, 1) + datetime.timedelta(days)
    zone = "Z" if kind.startswith("timestamptz") else ""
    return f"{date.isoformat()}T{_time_text(rest, 9 if nanos else 6, per_second)}{zone}"


def _primitive(value, kind):
    if kind == "float":
        return _float(value, 32)
    if kind == "double":
        return _float(value, 64)
    if kind.startswith("decimal"):
        scale = int(kind.split(",")[1].rstrip(") "))
        return str(value.quantize(decimal.Decimal(1).scaleb(-scale),
                                  context=decimal.Context(prec=60)))
    if kind == "date":
        return (datetime.date(1970, 1, 1) + datetime.timedelta(value)).isoformat()
    if kind == "time":
        return _time_text(value, 6, 10**6)
    if kind.startswith("timestamp"):
        return _timestamp(value, kind)
    if kind == "uuid":
        return str(value if isinstance(value, uuid.UUID) else uuid.UUID(bytes=value))
    if kind.startswith(("fixed", "binary", "geo")):
        return value.hex()
    return value


def encode(value, kind):
    """A Python value of an Iceberg type in the corpus's notation."""
    if value is None:
        return None
    if isinstance(kind, str):
        return _primitive(value, kind)
    if kind["type"] == "struct":
        return {f["name"]: encode(value[f["name"]], f["type"]) for f in kind["fields"]}
    if kind["type"] == "list":
        return [encode(v, kind["element"]) for v in value]
    pairs = [[encode(k, kind["key"]), encode(v, kind["value"])] for k, v in value]
    return sorted(pairs, key=lambda pair: json.dumps(pair))


def normal(value, kind):
    """An expected value as parsed from JSON, made comparable with `encode`'s."""
    if value is None:
        return None
    if isinstance(kind, str):
        if kind in ("float", "double") and not isinstance(value, str):
            return _float(float(value), 32 if kind == "float" else 64)
        return value
    if kind["type"] == "struct":
        return {f["name"]: normal(value[f["name"]], f["type"]) for f in kind["fields"]}
    if kind["type"] == "list":
        return [normal(v, kind["element"]) for v in value]
    pairs = [[normal(k, kind["key"]), normal(v, kind["value"])] for k, v in value]
    return sorted(pairs, key=lambda pair: json.dumps(pair))


def raw_integers(table):
    """Dates and times as whole numbers: Python's own types have no nanoseconds and no
    year 10000."""
    def plain(kind):
        if pa.types.is_date32(kind):
            return pa.int32()
        if pa.types.is_time64(kind) or pa.types.is_timestamp(kind):
            return pa.int64()
        if pa.types.is_struct(kind):
            return pa.struct([kind.field(i).with_type(plain(kind.field(i).type))
                              for i in range(kind.num_fields)])
        if pa.types.is_list(kind):
            return pa.list_(kind.value_field.with_type(plain(kind.value_type)))
        if pa.types.is_map(kind):
            return pa.map_(plain(kind.key_type),
                           kind.item_field.with_type(plain(kind.item_type)))
        if isinstance(kind, pa.BaseExtensionType):
            return kind.storage_type
        return kind

    columns = []
    for column in table.columns:
        kind = plain(column.type)
        chunks = []
        for chunk in column.chunks:
            if isinstance(chunk, pa.ExtensionArray):
                chunk = chunk.storage
            chunks.append(chunk.cast(kind) if chunk.type != kind else chunk)
        columns.append(pa.chunked_array(chunks, kind))
    return pa.table(columns, names=table.column_names)


def rows_of(table, schema):
    """The rows of a pyarrow table as sorted JSON texts."""
    fields = schema["fields"]
    values = [column.to_pylist() for column in raw_integers(table).columns]
    rows = [json.dumps([encode(v, f["type"]) for v, f in zip(row, fields)])
            for row in zip(*values)] if fields else []
    return sorted(rows)


def expected_rows(path, schema):
    fields = schema["fields"]
    rows = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        rows.append(json.dumps([normal(row[f["name"]], f["type"]) for f in fields]))
    return sorted(rows)
