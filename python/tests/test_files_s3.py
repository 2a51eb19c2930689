"""Trees of files on a real S3 server."""

import concurrent.futures
import random
import subprocess
import time

import pytest
from fault_proxies import FaultProxy
from nodes import PROGRAMS
from test_s3 import s3  # noqa: F401 - a fixture

import forebay


def put(files, bucket, contents):
    """Objects by key, several at once."""
    def one(item):
        with files.open_output_stream(f"{bucket}/{item[0]}") as out:
            out.write(item[1])
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(one, contents.items()))


@pytest.fixture(scope="module")
def bucket(s3):  # noqa: F811
    """(options, contents) of a bucket with more objects than a page lists."""
    options, files = s3
    rng = random.Random(5)
    contents = {f"train/{i % 7}/{i:05}.jpg": rng.randbytes(200 + i) for i in range(2300)}
    contents |= {f"deep/{i}/x/y.txt": b"y" * i for i in range(1, 150)}
    contents |= {"model.bin": rng.randbytes(5 * 2**20), "sp ace+%41&.txt": b"odd",
                 "top/é/ü.txt": b"unicode"}
    files.create_dir("images")
    put(files, "images", contents)
    return options, contents


def test_every_object_is_a_file(bucket, node_status):
    options, contents = bucket
    files = forebay.files("s3://images", options=options)
    walked = {f"{top}/{name}".lstrip("/") for top, _, names in files.walk() for name in names}
    assert walked == set(contents)
    assert files.total_bytes == sum(map(len, contents.values()))
    info = files.stat("model.bin")
    assert len(info.etag) >= 32 and info.mtime > 1.6e9
    state = files.warmup()
    assert state.rows_done == len(contents)
    assert state.bytes_fetched == files.total_bytes
    before = node_status()["source_bytes"]
    for path, data in contents.items():
        assert files.read(path) == data, path
    assert node_status()["source_bytes"] == before
    below = forebay.files("s3://images/train/3/", options=options)
    assert len(below) == sum(path.startswith("train/3/") for path in contents)
    one = forebay.files("s3://images/model.bin", options=options)
    assert one.read("model.bin") == contents["model.bin"]


def test_many_cold_files_come_at_once(bucket):
    options, contents = bucket
    files = forebay.files("s3://images/train", options=options)
    paths = [path.removeprefix("train/") for path in contents if path.startswith("train/")]
    assert files.read_many(paths[:300]) == [contents["train/" + p] for p in paths[:300]]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        got = list(pool.map(files.read, paths[300:600]))
    assert got == [contents["train/" + p] for p in paths[300:600]]


def test_a_refresh_fetches_only_what_changed(s3, node_status):  # noqa: F811
    options, files = s3
    files.create_dir("changing")
    contents = {f"{i:04}": bytes([i % 256]) * 70_000 for i in range(40)}
    put(files, "changing", contents)
    tree = forebay.files("s3://changing", options=options)
    tree.warmup()
    before = node_status()["source_bytes"]
    assert not tree.refresh()
    put(files, "changing", {"0007": b"new" * 30_000, "0041": b"more" * 20_000})
    assert tree.read("0007") == contents["0007"]  # cached: the bytes of its version
    assert tree.refresh()
    state = tree.warmup()
    assert state.bytes_fetched <= 230_000 + 2**16
    assert tree.read("0041") == b"more" * 20_000
    assert node_status()["source_bytes"] > before


def test_an_object_that_changes_is_never_mixed(s3):  # noqa: F811
    options, files = s3
    files.create_dir("mixed")
    put(files, "mixed", {"a": b"a" * 100, "b": b"b" * 100_000})
    tree = forebay.files("s3://mixed", options=options)
    put(files, "mixed", {"a": b"A" * 100, "b": b"B" * 100_000})
    for path in ("a", "b"):
        with pytest.raises(forebay.SourceChanged, match=f"s3://mixed/{path}"):
            tree.read(path)


def test_pull_brings_a_bucket_to_disk(bucket, tmp_path):
    options, contents = bucket
    given = [word for name, value in options.items() for word in ("-O", f"{name}={value}")]
    subprocess.run([PROGRAMS / "forebay", "pull", "s3://images", tmp_path / "got", *given],
                   check=True, timeout=120)
    got = {str(path.relative_to(tmp_path / "got")): path.read_bytes()
           for path in (tmp_path / "got").rglob("*") if path.is_file()}
    got.pop(".forebay-pull")
    assert got == contents


# A listing that was given up is gone on with for 2 s after it began.
LISTED_FOR = 3.0
TIMED_OUT = 9  # exit code


@pytest.fixture(scope="module")
def pages(s3):  # noqa: F811
    """What is in a bucket of more objects than a page lists."""
    _, files = s3
    contents = {f"{i:04}": b"old %d" % i for i in range(1010)}
    files.create_dir("pages")
    put(files, "pages", contents)
    return contents


@pytest.fixture
def half_listed(s3, pages):  # noqa: F811
    """(options, proxy, change): `change` is for after a listing has failed in its middle. It
    returns the paths that the bucket has then, and what it wrote."""
    options, files = s3

    def change():
        assert proxy.fired() > 0, "no listing failed after its first page"
        proxy.clear()
        changed, removed, *_ = (path for path, data in pages.items() if data.startswith(b"old"))
        written = {changed: b"changed", f"{changed}-new": b"new"}
        put(files, "pages", written)
        files.delete_file(f"pages/{removed}")
        pages.update(written)
        del pages[removed]
        return set(pages), written
    with FaultProxy(options["s3.endpoint"].rsplit(":", 1)[1]) as proxy:
        yield options | {"s3.endpoint": proxy.endpoint}, proxy, change


def fail_second_page(proxy):
    proxy.plan("list", "stall", path="continuation-token", times=1000)


def assert_holds(tree, paths, written):
    assert {name for _, _, names in tree.walk() for name in names} == paths
    assert {path: tree.read(path) for path in written} == written


def test_an_open_after_one_that_failed_shows_the_tree_as_it_is_now(half_listed):
    options, proxy, change = half_listed
    fail_second_page(proxy)
    with pytest.raises(TimeoutError):
        forebay.files("s3://pages", options=options, timeout=LISTED_FOR)
    paths, written = change()
    assert_holds(forebay.files("s3://pages", options=options), paths, written)


def test_a_refresh_after_one_that_failed_shows_the_tree_as_it_is_now(half_listed, pages):
    options, proxy, change = half_listed
    tree = forebay.files("s3://pages", options=options, timeout=LISTED_FOR)
    assert_holds(tree, set(pages), {"1000": b"old 1000"})
    fail_second_page(proxy)
    with pytest.raises(TimeoutError):
        tree.refresh()
    paths, written = change()
    tree.refresh()
    assert_holds(tree, paths, written)


def test_a_pull_after_one_that_failed_brings_the_tree_as_it_is_now(half_listed, pages, tmp_path):
    options, proxy, change = half_listed
    given = [word for name, value in options.items() for word in ("-O", f"{name}={value}")]

    def pull(*words):
        return subprocess.run([PROGRAMS / "forebay", "pull", "s3://pages", tmp_path / "got",
                               *given, *words], capture_output=True, text=True, timeout=120)
    fail_second_page(proxy)
    assert pull("--timeout", f"{LISTED_FOR}s").returncode == TIMED_OUT
    change()
    assert pull().returncode == 0
    got = {path.name: path.read_bytes() for path in (tmp_path / "got").iterdir()}
    got.pop(".forebay-pull")
    assert got == pages


@pytest.mark.alone
def test_cached_files_are_read_while_the_source_hangs(bucket):
    options, contents = bucket
    with FaultProxy(options["s3.endpoint"].rsplit(":", 1)[1]) as proxy:
        options = options | {"s3.endpoint": proxy.endpoint}
        cached = [path for path in contents if path.startswith("train/3/")][:20]
        forebay.files("s3://images", options=options).read_many(cached)
        files = forebay.files("s3://images", options=options, timeout=6)  # nothing is mapped
        proxy.plan("read", "stall", times=1_000_000)
        cold = [path for path in contents if path.startswith("deep/")][:80]
        with concurrent.futures.ThreadPoolExecutor(len(cold)) as pool:
            waiting = [pool.submit(files.read, path) for path in cold]
            while proxy.fired() < 20:
                time.sleep(0.05)
            for path in cached:
                start = time.monotonic()
                assert files.read(path) == contents[path]
                assert time.monotonic() - start < 1, path
            assert not any(each.done() for each in waiting)
            for each in waiting:
                assert isinstance(each.exception(), (TimeoutError, OSError))
