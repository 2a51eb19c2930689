"""Tables on a real S3 server, from the bucket to the batch."""

import os
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

import forebay

KEY, SECRET = "forebay-test-key", "forebay-test-secret"
TOOLS = os.environ.get("FOREBAY_TOOLS") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "forebay-dev", "tools")
SERVER = Path(TOOLS, "versitygw")
ROWS = 300_000


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    """The endpoint of a server with one table in bucket/events."""
    if not SERVER.exists() and not os.environ.get("CI"):
        pytest.skip(f"no S3 server at {SERVER}: run make test")
    folder, port = tmp_path_factory.mktemp("s3"), free_port()
    environment = {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    command = [SERVER, "--port", f"127.0.0.1:{port}", "posix", str(folder)]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_for(port)
        files = pa.fs.S3FileSystem(
            access_key=KEY, secret_key=SECRET, endpoint_override=f"http://127.0.0.1:{port}",
            region="us-east-1", allow_bucket_creation=True)
        files.create_dir("bucket")
        for i in range(3):
            x = np.arange(i * ROWS // 3, (i + 1) * ROWS // 3)
            table = pa.table({"x": x, "y": x / 2, "label": (x % 7).astype("i4")})
            pq.write_table(table, f"bucket/events/{i}.parquet", filesystem=files)
        yield f"http://127.0.0.1:{port}", files
    finally:
        server.terminate()
        server.wait(10)


def wait_for(port, seconds=20):
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < end, "the S3 server does not start"
            time.sleep(0.05)


def options_of(endpoint, **more):
    return {"s3.endpoint": endpoint, "s3.access-key-id": KEY, "s3.secret-access-key": SECRET,
            "s3.region": "us-east-1", **more}


def test_a_table_in_a_bucket_is_read_once(s3, node_status):
    endpoint, _ = s3
    dataset = forebay.open("s3://bucket/events", options=options_of(endpoint))
    assert dataset.num_rows == ROWS
    seen = np.concatenate([b["x"] for b in dataset.batches(1000, shuffle="global", seed=3)])
    assert (np.sort(seen) == np.arange(ROWS)).all()
    read = node_status()["source_bytes"]
    assert read > 0
    again = forebay.open("s3://bucket/events", options=options_of(endpoint))
    assert again.version == dataset.version
    assert (again.take([5, ROWS - 1, 3])["x"] == [5, ROWS - 1, 3]).all()
    assert node_status()["source_bytes"] - read < 20_000, "data was read twice"


def test_credentials_come_from_the_callers_environment(s3, monkeypatch):
    endpoint, _ = s3
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert forebay.open("s3://bucket/events/1.parquet").num_rows == ROWS // 3


def test_wrong_credentials_are_refused_and_never_shown(s3):
    endpoint, _ = s3
    wrong = options_of(endpoint) | {"s3.secret-access-key": "not-the-secret"}
    with pytest.raises(PermissionError) as caught:
        forebay.open("s3://bucket/events", options=wrong)
    assert "not-the-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_bucket_or_prefix_is_named(s3):
    endpoint, _ = s3
    for uri in ("s3://bucket/nothing-here", "s3://no-such-bucket/events"):
        with pytest.raises(FileNotFoundError) as caught:
            forebay.open(uri, options=options_of(endpoint))
        assert uri.split("/")[-1] in str(caught.value) or uri in str(caught.value)


def test_an_overwritten_object_is_a_named_error(s3):
    endpoint, files = s3
    files.copy_file("bucket/events/0.parquet", "bucket/moving/0.parquet")
    dataset = forebay.open("s3://bucket/moving", options=options_of(endpoint))
    x = np.arange(100_000) * 10
    table = pa.table({"x": x, "y": x / 2, "label": (x % 7).astype("i4")})
    pq.write_table(table, "bucket/moving/0.parquet", filesystem=files)
    with pytest.raises(forebay.SourceChanged):
        dataset.take([0])
    fresh = forebay.open("s3://bucket/moving", options=options_of(endpoint))
    assert fresh.version != dataset.version
    assert fresh.take([1])["x"][0] == 10
