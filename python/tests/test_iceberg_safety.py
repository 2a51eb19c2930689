"""Credentials that end in the middle, and nodes that may read only some places."""

import subprocess
import sys
import urllib.request
from pathlib import Path

import forebay
import lake
import nodes
import numpy as np
import pyarrow as pa
import pyarrow.fs
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "tables"))
from iceberg_writer import IcebergTable  # noqa: E402

ROWS = 5000


def make_table(folder):
    table = IcebergTable(folder, [("id", "long")])
    table.commit(data=[table.data_file(pa.table({"id": np.arange(i * ROWS, (i + 1) * ROWS)}))
                       for i in range(4)])
    return table


@pytest.fixture
def table(tmp_path):
    return make_table(tmp_path / "table")


# ── credentials ───────────────────────────────────────────────────────────────────────────

class Proxy:
    """S3 through a proxy that can begin to refuse."""

    def __init__(self, options, port):
        self.port = port
        self.server = options["s3.endpoint"]  # without faults
        self.options = {**options, "s3.endpoint": f"http://127.0.0.1:{port}"}

    def ask(self, path):
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30).read()

    def refuse(self, after):
        """All reads but the next few are forbidden."""
        self.ask(f"/__plan?stage=read&kind=status403&at=first&skip={after}&times=100000")

    def allow(self):
        self.ask("/__clear")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    if lake.s3_program() is None:
        pytest.skip("versitygw is not there: run tools/setup-test")
    folder = tmp_path_factory.mktemp("s3")
    with lake.s3(folder) as options:
        upstream, port = options["s3.endpoint"].rsplit(":", 1)[1], lake.free_port()
        (folder / "proxy").mkdir()
        command = [sys.executable, lake.SERVERS / "fault_proxy.py", port, upstream]
        with lake.server(command, port, folder / "proxy"):
            yield Proxy(options, port)


@pytest.fixture
def remote(table, proxy):
    """Opens the table's copy in S3."""
    s3 = pa.fs.S3FileSystem(
        endpoint_override=proxy.server, region="us-east-1",
        access_key=lake.KEY, secret_key=lake.SECRET, allow_bucket_creation=True)
    place = f"{lake.BUCKET}/{table.uuid}"
    proxy.allow()
    pa.fs.copy_files(str(table.folder), place, source_filesystem=pa.fs.LocalFileSystem(),
                     destination_filesystem=s3)

    def opened(store):
        return forebay.open(f"s3://{place}", store=store, options=proxy.options,
                            remap={str(table.folder) + "/": f"s3://{place}/"})
    return opened


def test_credentials_that_end_while_planning_leave_nothing_behind(remote, proxy, store):
    for reads in range(5):
        proxy.refuse(after=reads)
        with pytest.raises(PermissionError, match="s3://"):
            remote(store)
        proxy.allow()
    assert remote(store).num_rows == 4 * ROWS


def test_credentials_that_end_while_loading_are_named(remote, proxy, store):
    dataset = remote(store)
    proxy.refuse(after=0)
    with pytest.raises((PermissionError, forebay.WarmupFailed), match="parquet"):
        dataset.warmup()
    assert dataset.coverage().rows_stored == 0
    proxy.allow()
    dataset.warmup()
    assert np.array_equal(np.sort(dataset.take(np.arange(4 * ROWS))["id"]),
                          np.arange(4 * ROWS))


# ── nodes with an allow-list ──────────────────────────────────────────────────────────────

@pytest.fixture
def strict_node(tmp_path):
    """The socket of a node that may read below `open/` only."""
    socket = tmp_path / "node.sock"
    process = subprocess.Popen(
        [nodes.PROGRAMS / "forebay-node", "--store", f"ssd:{tmp_path}/strict", "--socket",
         socket, "--allow", f"file://{tmp_path}/open/"], stderr=subprocess.DEVNULL)
    try:
        nodes.wait_until(socket.exists, "the node does not listen")
        yield str(socket)
    finally:
        process.terminate()
        process.wait(30)


def test_a_node_reads_what_it_may(tmp_path, strict_node):
    make_table(tmp_path / "open" / "events")
    dataset = forebay.open(tmp_path / "open" / "events", node=strict_node)
    assert len(dataset.take(np.arange(dataset.num_rows))["id"]) == 4 * ROWS


def test_a_node_refuses_other_places(tmp_path, strict_node, table):
    for uri in (table.folder, table.folder / "data", "s3://somewhere/else",
                f"{tmp_path}/open/../table"):
        with pytest.raises(PermissionError, match="--allow"):
            forebay.open(uri, node=strict_node)


def test_a_table_cannot_lead_a_node_to_other_places(tmp_path, strict_node):
    """The table may be read, but its data lies outside of what the node may read."""
    hidden = make_table(tmp_path / "hidden")
    (tmp_path / "open").mkdir()
    (hidden.folder / "metadata").rename(tmp_path / "open" / "metadata")
    remap = {f"{hidden.folder}/metadata/": f"{tmp_path}/open/metadata/"}
    with pytest.raises(PermissionError, match="--allow"):
        forebay.open(tmp_path / "open", node=strict_node, remap=remap)
