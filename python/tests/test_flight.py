"""A plain pyarrow.flight client sees what forebay's own Python API gives."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight
import pyarrow.parquet as pq
import pytest
from flight_server import descriptor, flight_node, read, ticket

import forebay


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with flight_node(tmp_path_factory.mktemp("flight")) as running:
        yield running


@pytest.fixture(scope="module")
def client(node):
    with node.connect() as connected:
        yield connected


def expected(node, uri, columns=None, **options):
    """The batches of the Python API, on the same node."""
    dataset = forebay.open(uri, node=node.socket)
    return list(dataset.batches(columns=columns, format="arrow", **options))


def check_same(batches, wanted):
    assert len(batches) == len(wanted)
    for batch, other in zip(batches, wanted):
        assert batch.equals(pa.record_batch(other))


ORDERS = [{}, {"order": "window", "window": 2, "seed": 3},
          {"order": "global", "seed": 3, "epoch": 5}]
SHARES = [
    {"batch_size": 64},
    {"batch_size": 64, "remainder": "keep"},
    {"batch_size": 64, "remainder": "pad"},
    {"batch_size": 64, "remainder": "wrap", "rank": 1, "world_size": 3},
    {"global_batch_size": 100, "rank": 2, "world_size": 3, "start_position": 1234},
    {"batch_size": 7, "worker": 1, "worker_count": 2, "start_step": 11},
    {"batch_size": 4000, "remainder": "keep", "start_position": 4999},
]


@pytest.mark.parametrize("share", SHARES, ids=str)
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_batches_are_those_of_the_python_api(node, client, numbers, order, share):
    options = {**order, **share}
    batches = read(client, uri=str(numbers), columns=["name", "x", "vector"], **options)
    options["shuffle"] = options.pop("order", "sequential")
    check_same(batches, expected(node, str(numbers), ["name", "x", "vector"], **options))


@pytest.mark.fast
def test_without_a_batch_size_every_row_comes_once_in_order(client, numbers):
    batches = read(client, uri=str(numbers))
    table = pa.Table.from_batches(batches)
    assert table.equals(pq.read_table(numbers).select(table.column_names))


@pytest.mark.parametrize("total", [1, 2, 3, 7, 64, 5005])
def test_shares_cover_every_row_once_and_differ_by_one_row(client, numbers, total):
    indices = range(total) if total < 100 else (0, 1, 17, 4000, 5003, 5004)
    sizes, rows = [], []
    for index in indices:
        batches = read(client, uri=str(numbers), columns=["x"], rank=index, world_size=total)
        sizes.append(sum(len(batch) for batch in batches))
        rows += [x for batch in batches for x in batch["x"].to_pylist()]
    assert max(sizes) - min(sizes) <= 1
    if total < 100:
        assert rows == list(range(5000))
    assert len(set(rows)) == len(rows)


def test_shuffled_without_a_batch_size_every_row_comes_once(client, numbers):
    rows = []
    for rank in range(3):
        for batch in read(client, uri=str(numbers), columns=["x"], order="global", seed=1,
                          rank=rank, world_size=3):
            rows += batch["x"].to_pylist()
    assert sorted(rows) == list(range(5000)) and rows != sorted(rows)


def test_an_empty_share_is_a_stream_with_a_schema(client, numbers):
    stream = client.do_get(ticket(uri=str(numbers), columns=["x"], rank=0, world_size=9999))
    assert stream.read_all().equals(pa.table({"x": pa.array([], pa.int64())}))


def test_flight_info_counts_rows_and_bytes(client, numbers):
    info = client.get_flight_info(descriptor(uri=str(numbers), columns=["x", "y", "flag", "vector"]))
    assert info.total_records == 5000
    assert info.total_bytes == 5000 * (8 + 4 + 16) + 625
    assert info.ordered
    whole = client.get_flight_info(descriptor(uri=str(numbers), columns=["name"]))
    client.do_get(whole.endpoints[0].ticket).read_all()
    info = client.get_flight_info(descriptor(uri=str(numbers), columns=["name"]))
    text = sum(len(f"row {i}") for i in range(5000))
    assert text <= info.total_bytes - 5000 * 4 <= text * 1.02 + 64


def test_the_schema_is_exact(node, client, numbers):
    result = client.get_schema(descriptor(uri=str(numbers), columns=["vector", "flag"]))
    assert result.schema == pa.schema(forebay.open(numbers, node=node.socket,
                                                   columns=["vector", "flag"]).schema)


def test_a_ticket_pins_its_version(client, tmp_path):
    def write(name):
        pq.write_table(pa.table({"x": np.arange(1000)}), tmp_path / "table" / name)
    (tmp_path / "table").mkdir()
    write("a.parquet")
    command = {"uri": str(tmp_path / "table")}
    before = client.get_flight_info(descriptor(**command))
    write("b.parquet")
    assert len(client.do_get(before.endpoints[0].ticket).read_all()) == 1000
    after = client.get_flight_info(descriptor(**command))
    assert after.total_records == 2000
    assert len(client.do_get(after.endpoints[0].ticket).read_all()) == 2000
    old = json.loads(before.endpoints[0].ticket.ticket)
    old["version"] = "00" * 16
    with pytest.raises(flight.FlightError, match="has changed"):
        client.do_get(flight.Ticket(json.dumps(old))).read_all()


def test_rows_are_exchanged_in_the_order_they_are_asked_for(node, client, numbers):
    dataset = forebay.open(numbers, node=node.socket)
    asked = [np.array(rows, np.uint64) for rows in
             ([3, 1, 4999], np.arange(2000, 3000)[::-1], [], [7, 7, 7])]
    writer, reader = client.do_exchange(descriptor(rows={"uri": str(numbers),
                                                         "columns": ["name", "x"]}))
    with writer:
        writer.begin(pa.schema([("row", pa.uint64())]))
        for rows in asked:  # all of them before the first answer is read
            writer.write_batch(pa.record_batch({"row": rows}))
        writer.done_writing()
        answers = [chunk.data for chunk in reader]
    assert len(answers) == len(asked)
    for rows, answer in zip(asked, answers):
        wanted = dataset.take(rows, columns=["name", "x"], format="arrow")
        assert answer.equals(pa.record_batch(wanted))


def test_actions_are_listed_and_act(client, small_tables):
    table = small_tables[97]
    assert {action.type for action in client.list_actions()} >= {"status", "warmup"}
    body = json.dumps({"uri": str(table)}).encode()
    (done,) = client.do_action(flight.Action("warmup", body))
    state = json.loads(done.body.to_pybytes())
    assert state["done"] and state["rows_done"] == 97 and not state["failures"]
    (status,) = client.do_action(flight.Action("status", b""))
    assert json.loads(status.body.to_pybytes())["chunks_filled"] > 0


def test_flights_lists_what_was_read(client, numbers):
    read(client, uri=str(numbers), columns=["x"])
    infos = [info for info in client.list_flights()
             if json.loads(info.descriptor.command)["uri"] == str(numbers)]
    assert len(infos) == 1 and infos[0].total_records == 5000


def test_flights_lists_nothing_that_was_opened_with_credentials(node, client, small_tables):
    table = str(small_tables[97])
    plain, secret = {"forebay.filter": "true"}, {"s3.secret-access-key": "hidden-words"}
    for options in (plain, secret):
        read(client, uri=table, options=options)
    with node.connect() as other:
        infos = list(other.list_flights())
        (status,) = other.do_action(flight.Action("status", b""))
    listed = [json.loads(info.descriptor.command) for info in infos]
    opened = [command for command in listed if command["uri"] == table and "options" in command]
    assert [command["options"] for command in opened] == [plain]
    told = [info.descriptor.command + info.endpoints[0].ticket.ticket for info in infos]
    assert not any(b"hidden-words" in text for text in [*told, status.body.to_pybytes()])
