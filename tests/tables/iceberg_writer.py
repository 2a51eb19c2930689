"""Writes small and large Iceberg tables of every shape, for tests and benches: with position
deletes, deletion vectors and equality deletes, partitioned or not, snapshot by snapshot.

    table = IcebergTable(folder, [("id", "long"), ("x", "double")], version=2)
    data = table.data_file(pa.table(...))
    table.commit(data=[data])
    table.commit(deletes=[table.position_deletes({data.path: [3, 5]})])
"""

import json
import os
import struct
import uuid
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import avro_writer
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ARROW = {"long": pa.int64(), "int": pa.int32(), "double": pa.float64(), "float": pa.float32(),
         "string": pa.string(), "binary": pa.binary(), "boolean": pa.bool_(),
         "date": pa.date32(), "timestamp": pa.timestamp("us")}
AVRO = {"long": "long", "int": "int", "string": "string", "date": "int", "day": "int"}
POSITION_SCHEMA = [("file_path", "string", 2147483546), ("pos", "long", 2147483545)]


@dataclass
class File:
    path: str
    rows: int
    size: int
    content: int = 0  # data, position deletes, equality deletes
    format: str = "PARQUET"
    partition: dict = field(default_factory=dict)
    lower: dict = field(default_factory=dict)  # field id → value
    upper: dict = field(default_factory=dict)
    equality_ids: list | None = None
    referenced: str | None = None
    offset: int | None = None
    length: int | None = None
    snapshot: int = 0
    sequence: int = 0


def single_value(value):
    return struct.pack("<q", value) if isinstance(value, int) else str(value).encode()


class IcebergTable:
    def __init__(self, folder, columns, version=2, partition=None, properties=None):
        """partition: (column, transform) or None."""
        self.folder = Path(folder)
        self.version = version
        self.columns = [(i + 1, name, kind) for i, (name, kind) in enumerate(columns)]
        self.partition = partition
        self.properties = properties or {}
        self.uuid = str(uuid.uuid4())
        self.last_column_id = len(columns)
        self.schemas = [self._schema_json(0)]
        self.manifests = []  # dicts of the manifest list
        self.snapshots = []
        self.sequence = 0
        self.next_row_id = 0
        (self.folder / "metadata").mkdir(parents=True)
        (self.folder / "data").mkdir()

    def evolve(self, add=(), rename=(), drop=()):
        """The next commit has another schema: columns added, renamed (pairs), dropped."""
        names = dict(rename)
        self.columns = [(i, names.get(n, n), k) for i, n, k in self.columns if n not in drop]
        for name, kind in add:
            self.last_column_id += 1
            self.columns.append((self.last_column_id, name, kind))
        self.schemas.append(self._schema_json(len(self.schemas)))

    # ── files ─────────────────────────────────────────────────────────────────────────────

    def schema(self, names=None):
        return pa.schema([pa.field(name, ARROW[kind], metadata={"PARQUET:field_id": str(i)})
                          for i, name, kind in self.columns if names is None or name in names])

    def _new_path(self, suffix):
        return str(self.folder / "data" / f"{uuid.uuid4()}{suffix}")

    def _parquet(self, table, schema, **options):
        path = self._new_path(".parquet")
        pq.write_table(table.cast(schema), path, **options)
        return File(path, table.num_rows, os.path.getsize(path))

    def data_file(self, table, partition=None, **options):
        file = self._parquet(table, self.schema(table.column_names), **options)
        file.partition = partition or {}
        return file

    def position_deletes(self, rows_by_path, partition=None):
        paths = np.repeat(list(rows_by_path), [len(r) for r in rows_by_path.values()])
        rows = np.concatenate([np.asarray(r, "i8") for r in rows_by_path.values()])
        schema = pa.schema([pa.field(n, ARROW[k], metadata={"PARQUET:field_id": str(i)})
                            for n, k, i in POSITION_SCHEMA])
        file = self._parquet(pa.table({"file_path": pa.array(paths, pa.string()), "pos": rows}),
                             schema)
        file.content, file.partition = 1, partition or {}
        return file

    def equality_deletes(self, table, partition=None):
        file = self._parquet(table, self.schema(table.column_names))
        file.content, file.partition = 2, partition or {}
        file.equality_ids = [i for i, name, _ in self.columns if name in table.column_names]
        return file

    def deletion_vectors(self, rows_by_path):
        """One Puffin file with a vector for each data file."""
        path = self._new_path(".puffin")
        blobs, out = [], bytearray(b"PFA1")
        for data_path, rows in rows_by_path.items():
            blob = vector_blob(rows)
            blobs.append((data_path, len(out), len(blob), len(rows)))
            out += blob
        footer = json.dumps({"blobs": [
            {"type": "deletion-vector-v1", "fields": [2147483645], "snapshot-id": -1,
             "sequence-number": -1, "offset": offset, "length": length,
             "properties": {"referenced-data-file": data_path, "cardinality": str(count)}}
            for data_path, offset, length, count in blobs]}).encode()
        out += b"PFA1" + footer + struct.pack("<i", len(footer)) + b"\0\0\0\0PFA1"
        Path(path).write_bytes(out)
        return [File(path, count, len(out), 1, "PUFFIN", referenced=data_path, offset=offset,
                     length=length) for data_path, offset, length, count in blobs]

    # ── commits ───────────────────────────────────────────────────────────────────────────

    def commit(self, data=(), deletes=(), files_per_manifest=None):
        """A new snapshot with these files added; returns its id."""
        self.sequence += 1
        snapshot_id = 1000 + self.sequence
        for files, content in ((list(data), 0), (list(deletes), 1)):
            step = files_per_manifest or max(len(files), 1)
            for first in range(0, len(files), step):
                self.manifests.insert(0, self._manifest(files[first:first + step], content,
                                                        snapshot_id))
        path = self.folder / "metadata" / f"snap-{snapshot_id}.avro"
        self._assign_row_ids()
        avro_writer.write(path, MANIFEST_LIST, self.manifests,
                          {"format-version": str(self.version)})
        self.snapshots.append({
            "snapshot-id": snapshot_id, "sequence-number": self.sequence,
            "timestamp-ms": 1790000000000 + self.sequence * 1000,
            "manifest-list": str(path), "summary": {"operation": "append"},
            "schema-id": len(self.schemas) - 1,
            **({"first-row-id": 0, "added-rows": self.next_row_id} if self.version > 2 else {})})
        self._metadata(snapshot_id)
        return snapshot_id

    def _assign_row_ids(self):
        for manifest in reversed(self.manifests):
            if self.version > 2 and manifest["content"] == 0 and \
                    manifest.get("first_row_id") is None:
                manifest["first_row_id"] = self.next_row_id
                self.next_row_id += manifest["added_rows_count"]

    def _manifest(self, files, content, snapshot_id):
        path = self.folder / "metadata" / f"{uuid.uuid4()}-m0.avro"
        part, partition_fields = self._partition_schema()
        rows = [{"status": 1, "snapshot_id": snapshot_id, "data_file": entry(f)} for f in files]
        size = avro_writer.write(path, manifest_schema(part), rows, {
            "schema": json.dumps(self.schemas[-1]),
            "schema-id": str(len(self.schemas) - 1),
            "partition-spec": json.dumps(partition_fields), "partition-spec-id": "0",
            "format-version": str(self.version), "content": "deletes" if content else "data"})
        return {"manifest_path": str(path), "manifest_length": size, "partition_spec_id": 0,
                "content": content, "sequence_number": self.sequence,
                "min_sequence_number": self.sequence, "added_snapshot_id": snapshot_id,
                "added_files_count": len(files), "existing_files_count": 0,
                "deleted_files_count": 0, "added_rows_count": sum(f.rows for f in files),
                "existing_rows_count": 0, "deleted_rows_count": 0,
                "partitions": self._summary(files)}

    def _summary(self, files):
        if not self.partition:
            return None
        name = self._partition_name()
        values = [f.partition[name] for f in files]
        pack = struct.Struct("<i" if self._partition_avro() == "int" else "<q").pack
        return [{"contains_null": False, "contains_nan": False, "lower_bound": pack(min(values)),
                 "upper_bound": pack(max(values))}]

    def _partition_name(self):
        return f"{self.partition[0]}_{self.partition[1]}"

    def _partition_avro(self):
        column, transform = self.partition
        kind = next(k for _, name, k in self.columns if name == column)
        return AVRO.get(transform) or AVRO[kind]

    def _partition_schema(self):
        if not self.partition:
            return [], []
        source = next(i for i, name, _ in self.columns if name == self.partition[0])
        name = self._partition_name()
        return ([{"name": name, "type": ["null", self._partition_avro()], "field-id": 1000}],
                [{"name": name, "transform": self.partition[1], "source-id": source,
                  "field-id": 1000}])

    def _schema_json(self, schema_id):
        return {"type": "struct", "schema-id": schema_id, "fields": [
            {"id": i, "name": name, "required": False, "type": kind}
            for i, name, kind in self.columns]}

    def _metadata(self, snapshot_id):
        _, partition = self._partition_schema()
        number = len(self.snapshots)
        metadata = {
            "format-version": self.version, "table-uuid": self.uuid,
            "location": str(self.folder), "last-sequence-number": self.sequence,
            "last-updated-ms": self.snapshots[-1]["timestamp-ms"],
            "last-column-id": self.last_column_id,
            "current-schema-id": len(self.schemas) - 1,
            "schemas": self.schemas, "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": partition}],
            "last-partition-id": 1000, "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}], "properties": self.properties,
            "current-snapshot-id": snapshot_id, "snapshots": self.snapshots,
            "refs": {"main": {"snapshot-id": snapshot_id, "type": "branch"}},
            "snapshot-log": [{"snapshot-id": s["snapshot-id"],
                              "timestamp-ms": s["timestamp-ms"]} for s in self.snapshots],
            **({"next-row-id": self.next_row_id} if self.version > 2 else {})}
        path = self.folder / "metadata" / f"v{number}.metadata.json"
        path.write_text(json.dumps(metadata))
        (self.folder / "metadata" / "version-hint.text").write_text(str(number))


def vector_blob(rows):
    """A deletion-vector-v1 blob: length, magic, 64-bit Roaring bitmap, CRC."""
    rows = np.unique(np.asarray(rows, "u8"))
    highs = np.unique(rows >> 32)
    body = bytearray(struct.pack("<Q", len(highs)))
    for high in highs:
        low = (rows[rows >> 32 == high] & 0xFFFFFFFF).astype("u4")
        body += struct.pack("<I", int(high)) + roaring(low)
    content = b"\xd1\xd3\x39\x64" + bytes(body)
    return struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))


def roaring(values):
    """The portable format without runs."""
    keys, starts = np.unique(values >> 16, return_index=True)
    parts = np.split((values & 0xFFFF).astype("u2"), starts[1:])
    header = struct.pack("<II", 12346, len(keys))
    for key, part in zip(keys, parts):
        header += struct.pack("<HH", int(key), len(part) - 1)
    bodies = []
    for part in parts:
        if len(part) <= 4096:
            bodies.append(part.astype("<u2").tobytes())
        else:
            bits = np.zeros(65536, bool)
            bits[part] = True
            bodies.append(np.packbits(bits, bitorder="little").tobytes())
    at = len(header) + 4 * len(keys)
    offsets = b""
    for body in bodies:
        offsets += struct.pack("<I", at)
        at += len(body)
    return header + offsets + b"".join(bodies)


# ── Avro schemas ──────────────────────────────────────────────────────────────────────────

def entry(file):
    def bounds(values):
        return [{"key": k, "value": single_value(v)} for k, v in values.items()] or None
    return {"content": file.content, "file_path": file.path, "file_format": file.format,
            "partition": file.partition, "record_count": file.rows,
            "file_size_in_bytes": file.size, "lower_bounds": bounds(file.lower),
            "upper_bounds": bounds(file.upper), "equality_ids": file.equality_ids,
            "referenced_data_file": file.referenced, "content_offset": file.offset,
            "content_size_in_bytes": file.length}


def _f(name, kind, field_id, optional=True):
    return {"name": name, "type": ["null", kind] if optional else kind, "field-id": field_id,
            **({"default": None} if optional else {})}


def _map(name, key_id, value, value_id):
    return {"type": "array", "logicalType": "map", "items": {
        "type": "record", "name": name, "fields": [
            _f("key", "int", key_id, False), _f("value", value, value_id, False)]}}


def manifest_schema(partition_fields):
    data_file = {"type": "record", "name": "r2", "fields": [
        _f("content", "int", 134, False), _f("file_path", "string", 100, False),
        _f("file_format", "string", 101, False),
        {"name": "partition", "field-id": 102,
         "type": {"type": "record", "name": "r102", "fields": partition_fields}},
        _f("record_count", "long", 103, False), _f("file_size_in_bytes", "long", 104, False),
        _f("lower_bounds", _map("k126_v127", 126, "bytes", 127), 125),
        _f("upper_bounds", _map("k129_v130", 129, "bytes", 130), 128),
        _f("equality_ids", {"type": "array", "items": "int", "element-id": 136}, 135),
        _f("referenced_data_file", "string", 143), _f("content_offset", "long", 144),
        _f("content_size_in_bytes", "long", 145)]}
    return {"type": "record", "name": "manifest_entry", "fields": [
        _f("status", "int", 0, False), _f("snapshot_id", "long", 1),
        _f("sequence_number", "long", 3), _f("file_sequence_number", "long", 4),
        {"name": "data_file", "type": data_file, "field-id": 2}]}


MANIFEST_LIST = {"type": "record", "name": "manifest_file", "fields": [
    _f("manifest_path", "string", 500, False), _f("manifest_length", "long", 501, False),
    _f("partition_spec_id", "int", 502, False), _f("content", "int", 517, False),
    _f("sequence_number", "long", 515, False), _f("min_sequence_number", "long", 516, False),
    _f("added_snapshot_id", "long", 503, False), _f("added_files_count", "int", 504, False),
    _f("existing_files_count", "int", 505, False), _f("deleted_files_count", "int", 506, False),
    _f("added_rows_count", "long", 512, False), _f("existing_rows_count", "long", 513, False),
    _f("deleted_rows_count", "long", 514, False),
    _f("partitions", {"type": "array", "element-id": 508, "items": {
        "type": "record", "name": "r508", "fields": [
            _f("contains_null", "boolean", 509, False), _f("contains_nan", "boolean", 518),
            _f("lower_bound", "bytes", 510), _f("upper_bound", "bytes", 511)]}}, 507),
    _f("first_row_id", "long", 520)]}
