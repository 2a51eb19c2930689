"""Tables that PyIceberg wrote through real catalogs, opened by name."""

import os
import subprocess
import sys

import forebay
import lake
import nodes
import pyarrow as pa
import pytest

ROWS = pa.table({"id": pa.array(range(1000), pa.int64()),
                 "name": [None if i % 7 == 0 else f"name {i}" for i in range(1000)]})
TOKEN, CREDENTIAL = "TOKENTOKEN", "me:SECRETSECRET"


def sql_catalog(folder, name="local"):
    from pyiceberg.catalog.sql import SqlCatalog
    folder.mkdir(exist_ok=True)
    catalog = SqlCatalog(name, uri=f"sqlite:///{folder}/catalog.db",
                         warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace_if_not_exists("db")
    return catalog


def write(catalog, name, rows=ROWS):
    table = catalog.create_table(name, rows.schema)
    table.append(rows)
    return table


def read(uri, **how):
    return pa.table(forebay.open(uri, **how)).sort_by("id")


def same_rows(found, expected=ROWS):
    assert found.to_pylist() == expected.to_pylist()
    assert found.column_names == expected.column_names
    return True


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    if lake.s3_program() is None and not os.environ.get("CI"):
        pytest.skip("versitygw is not there: run tools/setup-test")
    with lake.s3(tmp_path_factory.mktemp("s3")) as options:
        yield options


@pytest.fixture(scope="module")
def rest(tmp_path_factory, s3):
    """(host, folder) of a REST catalog that asks for a token and vends credentials."""
    if lake.rest_classes() is None:
        pytest.skip("Iceberg's REST catalog is not there: it needs Java and Maven")
    folder = tmp_path_factory.mktemp("rest")
    vending = {"require-token": TOKEN, "credential": CREDENTIAL, "vend-prefix": "s3://lake/"}
    with lake.rest(folder, s3, **vending) as host:
        from pyiceberg.catalog import load_catalog
        catalog = load_catalog("rest", type="rest", uri=f"http://{host}", token=TOKEN)
        catalog.create_namespace("db")
        catalog.create_namespace(("db", "sub"))
        write(catalog, "db.events")
        write(catalog, ("db", "sub", "events"), ROWS.slice(10, 5))
        yield host, folder


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, for configuration."""
    for name in os.environ:
        if name.upper().startswith(("PYICEBERG_", "AWS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_rest_catalog_vends_what_its_tables_need(rest, home):
    host, _ = rest
    uri = f"iceberg+rest://{host}/db.events"
    assert same_rows(read(uri, token=TOKEN))
    assert same_rows(read(uri, credential=CREDENTIAL))
    assert same_rows(read(f"iceberg+rest://{host}/db.sub.events", token=TOKEN),
                     ROWS.slice(10, 5))
    ds = forebay.open(uri, token=TOKEN, columns=["name"])
    assert ds.uri == uri and ds.num_rows == 1000 and ds.columns == ["name"]


def test_a_table_of_a_catalog_travels_in_time(rest, home):
    from pyiceberg.catalog import load_catalog
    host, _ = rest
    catalog = load_catalog("rest", type="rest", uri=f"http://{host}", token=TOKEN)
    table = write(catalog, "db.travel", ROWS.slice(0, 10))
    first = table.current_snapshot()
    table.manage_snapshots().create_tag(first.snapshot_id, "gold").commit()
    table.append(ROWS.slice(10, 10))
    uri = f"iceberg+rest://{host}/db.travel"
    assert same_rows(read(uri, token=TOKEN), ROWS.slice(0, 20))
    for state in ({"snapshot": first.snapshot_id}, {"tag": "gold"},
                  {"as_of": first.timestamp_ms}):
        assert same_rows(read(uri, token=TOKEN, **state), ROWS.slice(0, 10))
    with pytest.raises(Exception, match="gold"):  # what there is
        forebay.open(uri, token=TOKEN, tag="silver")


def test_pyicebergs_configuration_is_taken(rest, home, monkeypatch):
    host, _ = rest
    (home / ".pyiceberg.yaml").write_text(
        f"catalog:\n  prod:\n    uri: http://{host}\n    token: {TOKEN}\n")
    assert same_rows(read("iceberg://prod/db.events"))
    assert same_rows(read(f"iceberg+rest://{host}/db.events"))
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__TOKEN", "WRONGTOKEN")
    with pytest.raises(PermissionError):
        forebay.open("iceberg://prod/db.events")
    assert same_rows(read("iceberg://prod/db.events", token=TOKEN))
    with pytest.raises(FileNotFoundError, match="'other'.*prod"):
        forebay.open("iceberg://other/db.events")


def test_what_a_rest_catalog_refuses_is_said_without_secrets(rest, home):
    host, _ = rest
    for how in ({}, {"token": "WRONGWRONG"}, {"credential": "me:WRONGWRONG"}):
        with pytest.raises(PermissionError) as raised:
            forebay.open(f"iceberg+rest://{host}/db.events", **how)
        assert "WRONGWRONG" not in str(raised.value) and host in str(raised.value)
    with pytest.raises(FileNotFoundError, match="db.nothing.*db.events"):
        forebay.open(f"iceberg+rest://{host}/db.nothing", token=TOKEN)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        forebay.open(f"iceberg+rest://{host}/nowhere.events", token=TOKEN)
    with pytest.raises(ValueError, match="db.events"):
        forebay.open(f"iceberg+rest://{host}/events", token=TOKEN)


def test_the_sql_catalog_of_java_is_read_too(rest, s3, home):
    """The REST server keeps its tables in Iceberg's JDBC catalog."""
    _, folder = rest
    assert same_rows(read(f"iceberg+sqlite://{folder}/rest.db/db.events", options=s3))


def test_a_table_in_s3_without_a_catalog(rest, s3, home, monkeypatch):
    from pyiceberg.catalog import load_catalog
    host, _ = rest
    catalog = load_catalog("rest", type="rest", uri=f"http://{host}", token=TOKEN)
    place = catalog.load_table("db.events").metadata_location
    assert same_rows(read(place, options=s3))
    assert same_rows(read("s3://lake/warehouse/db/events", options=s3))
    for name, value in s3.items():
        key = name.upper().replace(".", "__").replace("-", "_")
        monkeypatch.setenv(f"PYICEBERG_CATALOG__DEFAULT__{key}", value)
    assert same_rows(read(place))


def test_a_sql_catalog_of_pyiceberg(tmp_path, home):
    catalog = sql_catalog(tmp_path / "one")
    table = write(catalog, "db.events")
    uri = f"iceberg+sqlite://{tmp_path}/one/catalog.db/db.events"
    assert same_rows(read(uri))
    with pytest.raises(FileNotFoundError, match="db.event .*there are db.events"):
        forebay.open(uri[:-1])
    with pytest.raises(FileNotFoundError, match="no/such.db"):
        forebay.open("iceberg+sqlite:///no/such.db/db.events")
    (home / ".pyiceberg.yaml").write_text(
        f"catalog:\n  local:\n    type: sql\n    uri: sqlite:///{tmp_path}/one/catalog.db\n")
    assert same_rows(read("iceberg://local/db.events"))
    table.delete("id < 500")
    assert same_rows(read(uri), ROWS.slice(500))


def test_hidden_columns_come_when_they_are_named(tmp_path, home):
    table = write(sql_catalog(tmp_path / "one"), "db.events")
    table.append(ROWS.slice(0, 3))
    uri = f"iceberg+sqlite://{tmp_path}/one/catalog.db/db.events"
    ds = forebay.open(uri)
    assert ds.columns == ["id", "name"]
    found = ds.take(range(ds.num_rows), columns=["_pos", "id", "_file", "_spec_id"])
    assert set(found["_file"]) == {task.file.file_path for task in table.scan().plan_files()}
    assert sorted(found["_pos"]) == sorted([*range(1000), *range(3)])
    assert (found["_pos"] == found["id"]).all() and set(found["_spec_id"]) == {0}
    named = forebay.open(uri, columns=["_pos", "id"])
    assert named.columns == ["_pos", "id"] and pa.table(named).num_rows == 1003
    with pytest.raises(ValueError, match="_nothing"):
        forebay.open(uri, columns=["_nothing"])


def test_a_table_of_a_catalog_is_pickled_and_trained_on(tmp_path, home, run_python):
    import pickle
    table = write(sql_catalog(tmp_path / "one"), "db.events")
    uri = f"iceberg+sqlite://{tmp_path}/one/catalog.db/db.events"
    ds = forebay.open(uri, filter="id >= 900", snapshot=table.current_snapshot().snapshot_id)
    table.append(ROWS)
    (tmp_path / "pickle").write_bytes(pickle.dumps(ds))
    program = ("import pathlib, pickle, sys;"
               "ds = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes());"
               "batches = ds.batches(10, shuffle='global', columns=['id']);"
               "print(sum(len(b['id']) for b in batches))")
    assert run_python(program, tmp_path / "pickle") == "100\n"
    torch = pytest.importorskip("forebay.torch")
    batches = list(torch.Dataset(uri, 50, columns=["id", "_pos"], filter="id < 75"))
    assert [sorted(batch) for batch in batches] == [["_pos", "id"]] * 3
    assert sorted(v for b in batches for v in b["id"].tolist()) == sorted([*range(75)] * 2)


def test_of_several_sql_catalogs_in_a_file_one_is_chosen(tmp_path, home):
    for name, rows in (("one", ROWS.slice(0, 3)), ("two", ROWS.slice(3, 3))):
        write(sql_catalog(tmp_path / "both", name), "db.events", rows)
    uri = f"iceberg+sqlite://{tmp_path}/both/catalog.db/db.events"
    with pytest.raises(ValueError, match="one, two"):
        forebay.open(uri)
    assert same_rows(read(uri, catalog="two"), ROWS.slice(3, 3))


def test_a_table_that_was_copied_is_remapped(tmp_path, home):
    sql = sql_catalog(tmp_path / "old")
    write(sql, "db.events")
    (tmp_path / "old/warehouse").rename(tmp_path / "moved")
    metadata = sorted((tmp_path / "moved/db/events/metadata").glob("*.metadata.json"))[-1]
    with pytest.raises(Exception, match="old/warehouse"):
        read(metadata)
    assert same_rows(read(metadata, remap={f"file://{tmp_path}/old/warehouse":
                                           f"file://{tmp_path}/moved"}))


@pytest.mark.parametrize("status, raised", [(401, PermissionError), (403, PermissionError),
                                            (404, FileNotFoundError), (500, ConnectionError),
                                            (503, ConnectionError)])
def test_a_catalog_that_answers_with_an_error(tmp_path, home, status, raised):
    import json
    port = lake.free_port()
    error = {"error": {"message": "it is like that", "type": "X", "code": status}}
    (tmp_path / "script.json").write_text(json.dumps(
        [{"request": "GET /v1/config", "status": status, "answer": error}]))
    command = [sys.executable, lake.SERVERS / "scripted_server.py", port, tmp_path]
    with lake.server(command, port, tmp_path):
        with pytest.raises(raised, match=f"127.0.0.1:{port}.*{status} it is like that"):
            forebay.open(f"iceberg+rest://127.0.0.1:{port}/db.events",
                         options={"http.backoff-ms": 1})


def test_the_command_line_opens_catalogs(tmp_path, home):
    table = write(sql_catalog(tmp_path / "one"), "db.events")
    uri = f"iceberg+sqlite://{tmp_path}/one/catalog.db/db.events"
    first = table.current_snapshot().snapshot_id
    table.append(ROWS)

    def rows(*arguments):
        command = [nodes.PROGRAMS / "forebay", "inspect", uri, *arguments]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return next(line.split()[1] for line in text.splitlines() if line.startswith("rows"))

    assert rows() == "2000"
    assert rows("--snapshot", str(first)) == "1000"
    assert rows("--filter", "id < 10") == "20"
