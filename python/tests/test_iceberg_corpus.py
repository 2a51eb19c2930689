"""Iceberg tables that Spark, Flink and PyIceberg wrote give the rows those engines give."""

import gzip
import json
from pathlib import Path

import forebay
import iceberg_corpus
import pyarrow as pa
import pytest

pytestmark = pytest.mark.skipif(not iceberg_corpus.archive().exists(),
                                reason="the Iceberg corpus is not here")
LINEAGE = [{"name": "_row_id", "type": "long"},
           {"name": "_last_updated_sequence_number", "type": "long"}]
UNREAD = ("variant", "geometry", "geography")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    return iceberg_corpus.unpack(tmp_path_factory.mktemp("corpus"))


def names_of_tables():
    """Known before anything is unpacked, so that each table is a test."""
    if not iceberg_corpus.archive().exists():
        return []
    with iceberg_corpus.opened() as tar:
        index = tar.extractfile("forebay-corpus/index.json").read()
    return [f"{t['root']}/{t['table']}" for t in json.loads(index)]


def state(case, metadata):
    """The arguments of forebay.open() for a case."""
    if "ref" in case:
        refs = metadata.get("refs", {})
        kind = refs.get(case["ref"], {}).get("type", "branch")
        return {kind: case["ref"]}
    if "as_of" in case:
        return {"as_of": case["as_of"] / 1000}
    return {"snapshot": case["snapshot_id"]} if "snapshot_id" in case else {}


def metadata_of(path):
    data = Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def schema_of(case, expect, metadata):
    """The case's own, or its snapshot's, or the table's."""
    if "schema" in case or "snapshot_id" not in case:
        return case.get("schema") or expect["schema"]
    snapshot = next(s for s in metadata["snapshots"]
                    if s["snapshot-id"] == case["snapshot_id"])
    return next((s for s in metadata.get("schemas", [])
                 if s["schema-id"] == snapshot.get("schema-id")), expect["schema"])


def readable(schema):
    fields = [f for f in schema["fields"] if not str(f["type"]).startswith(UNREAD)]
    return {**schema, "fields": fields}


@pytest.mark.parametrize("name", names_of_tables())
def test_rows_are_those_of_the_engine_that_wrote_them(corpus, name, store):
    root, table = name.split("/")
    folder = corpus / root / "expected" / table
    expect = json.loads((folder / "expect.json").read_text())
    location = iceberg_corpus.place(corpus, expect["metadata_location"])
    remap = iceberg_corpus.remap(corpus)
    metadata = metadata_of(location)
    for case in expect["cases"]:
        schema = readable(schema_of(case, expect, metadata))
        if case.get("lineage") and "_row_id" not in [f["name"] for f in schema["fields"]]:
            schema = {**schema, "fields": schema["fields"] + LINEAGE}
        columns = [f["name"] for f in schema["fields"]]
        ds = forebay.open(location, remap=remap, store=store, columns=columns,
                          **state(case, metadata))
        found = iceberg_corpus.rows_of(pa.table(ds), schema)
        expected = iceberg_corpus.expected_rows(folder / case["jsonl"], schema)
        assert len(found) == case["rows"] == ds.num_rows, case["name"]
        assert found == expected, case["name"]


@pytest.mark.parametrize("table", ["types_v3_geo", "types_v3_variant_parquet"])
def test_unread_types_are_errors_that_name_the_column(corpus, table, store):
    folder = corpus / "iceberg-spark" / "expected" / table
    expect = json.loads((folder / "expect.json").read_text())
    ds = forebay.open(iceberg_corpus.place(corpus, expect["metadata_location"]),
                      remap=iceberg_corpus.remap(corpus), store=store)
    unread = [f["name"] for f in expect["schema"]["fields"]
              if str(f["type"]).startswith(UNREAD)]
    with pytest.raises(NotImplementedError, match=unread[0]):
        pa.table(ds)
