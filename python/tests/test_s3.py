"""Tables on a real S3 server."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import nodes
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from ports import free_port

import forebay

KEY, SECRET = "FOREBAYTESTKEY", "FOREBAYTESTSECRET"


def find_server():
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    tools = os.environ.get("FOREBAY_TOOLS", cache / "forebay-dev/tools")
    return shutil.which("versitygw", path=str(tools))


def answers(port):
    with socket.socket() as link:
        return link.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def s3(tmp_path_factory, numbers):
    """(options, filesystem) of a server with the table `numbers` at s3://events/numbers."""
    server = find_server()
    if server is None and not os.environ.get("CI"):
        pytest.skip("versitygw is not there: run tools/setup-test")
    port = free_port()
    folder = tmp_path_factory.mktemp("s3")
    (folder / "data").mkdir()
    environment = {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    process = subprocess.Popen([server, "--port", f"127.0.0.1:{port}", "posix", folder / "data"],
                               env=environment, cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        nodes.wait_until(lambda: answers(port), "versitygw does not answer")
        files = pa.fs.S3FileSystem(endpoint_override=f"http://127.0.0.1:{port}", access_key=KEY,
                                   secret_key=SECRET, region="us-east-1",
                                   allow_bucket_creation=True)
        files.create_dir("events")
        pa.fs.copy_files(str(numbers), "events/numbers", destination_filesystem=files)
        yield {"s3.endpoint": f"http://127.0.0.1:{port}", "s3.access-key-id": KEY,
               "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}, files
    finally:
        process.terminate()
        process.wait(30)


def test_the_same_rows_as_from_disk(s3, numbers, node_status):
    options, _ = s3
    ds = forebay.open("s3://events/numbers", options=options)
    assert ds.num_rows == 5000 and ds.take([4321])["name"][0] == "row 4321"
    local = forebay.open(numbers)
    how = {"batch_size": 100, "shuffle": "global", "seed": 2, "columns": ["x"]}
    assert [b["x"].tolist() for b in ds.batches(**how)] \
        == [b["x"].tolist() for b in local.batches(**how)]
    assert pa.table(forebay.open("s3://events/numbers/*.parquet", options=options)).num_rows == 5000
    before = node_status()["source_bytes"]
    assert len(list(forebay.open("s3://events/numbers", options=options).batches(50))) == 100
    read = node_status()["source_bytes"] - before
    assert len(list(ds.batches(50))) == 100 and node_status()["source_bytes"] == before + read


def test_credentials_come_from_the_environment_of_the_caller(s3, numbers, monkeypatch):
    options, _ = s3
    forebay.open(numbers)  # the node is there before the credentials are
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL", options["s3.endpoint"])
    assert forebay.open("s3://events/numbers").num_rows == 5000


def test_wrong_credentials_are_a_permission_error_without_secrets(s3):
    options, _ = s3
    wrong = {**options, "s3.secret-access-key": "NOTTHESECRET"}
    with pytest.raises(PermissionError) as raised:
        forebay.open("s3://events/numbers", options=wrong)
    assert "NOTTHESECRET" not in str(raised.value) and "events" in str(raised.value)


def test_what_is_not_there_is_named(s3):
    options, _ = s3
    with pytest.raises(FileNotFoundError, match="nothing-here"):
        forebay.open("s3://events/nothing-here", options=options)
    with pytest.raises(FileNotFoundError, match="no-such-bucket"):
        forebay.open("s3://no-such-bucket/x", options=options)
    with pytest.raises(ValueError, match="s3.endpont"):
        forebay.open("s3://events/numbers", options={"s3.endpont": "x"})


def test_a_server_that_is_not_there_is_named_in_time(s3):
    options, _ = s3
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises((ConnectionError, TimeoutError), match=nobody):
            forebay.open("s3://events/x", timeout=2, options={**options, "s3.endpoint": nobody})


def test_an_object_that_was_overwritten_is_never_mixed(s3):
    options, files = s3
    pq.write_table(pa.table({"x": list(range(100))}), "events/changing/t.parquet",
                   filesystem=files)
    ds = forebay.open("s3://events/changing", options=options)
    pq.write_table(pa.table({"x": list(range(100, 200))}), "events/changing/t.parquet",
                   filesystem=files)
    with pytest.raises(forebay.SourceChanged, match="t.parquet"):
        ds.take([1])
    again = forebay.open("s3://events/changing", options=options)
    assert again.take([1])["x"].tolist() == [101] and again.version != ds.version
