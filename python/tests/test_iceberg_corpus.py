"""Iceberg tables that Spark, Flink and PyIceberg wrote give the rows those engines give."""

import json

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
    import io
    import subprocess
    import tarfile
    done = subprocess.run(["zstd", "-dcq", iceberg_corpus.archive()], capture_output=True,
                          check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
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
    import gzip
    data = open(path, "rb").read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


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
    if table == "part_java_fixed_malformed":
        # Its manifest is not valid Avro: a clear error will do.
        with pytest.raises(forebay.CorruptData, match="avro|manifest"):
            forebay.open(location, remap=remap, store=store)
        return
    for case in expect["cases"]:
        schema = readable(case.get("schema") or expect["schema"])
        if case.get("lineage"):
            schema = {**schema, "fields": schema["fields"] + LINEAGE}
        columns = [f["name"] for f in schema["fields"]]
        ds = forebay.open(location, remap=remap, store=store, columns=columns,
                          **state(case, metadata_of(location)))
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
