"""Trees of files through a cluster: the same bytes, read from the source once."""

import os
import random
import signal
import subprocess
import time

import pytest
from cluster import BIN, Cluster

import forebay


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Small files in packs, files of their own, one in extents, and an empty one."""
    root = tmp_path_factory.mktemp("tree") / "images"
    rng = random.Random(7)
    sizes = {f"small/{i % 7}/{i:04}.jpg": rng.randrange(1, 30_000) for i in range(1500)}
    sizes |= {f"large/{i}.tar": 200_000 + i for i in range(12)}
    sizes |= {"huge.bin": (70 << 20) + 5, "empty": 0}
    for name, size in sizes.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(size))
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return root


def content(tree):
    return {str(path.relative_to(tree)): path.read_bytes()
            for path in tree.rglob("*") if path.is_file()}


def read_all(files):
    names = [f"{folder}/{name}".lstrip("/") for folder, _, names in files.walk()
             for name in names]
    return {name: files.read(name) for name in names}


@pytest.fixture
def cluster(tree):
    with Cluster(3, store="mem:512MiB") as cluster:
        cluster.create("images", tree, kind="files")
        yield cluster


def test_every_node_reads_the_same_files_and_the_source_is_read_once(cluster, tree):
    expected = content(tree)
    for node in cluster.nodes:
        files = forebay.files(cluster.uri("images"), node=str(node.socket))
        assert read_all(files) == expected
    total = sum(map(len, expected.values()))
    assert sum(cluster.counters("source_bytes").values()) <= 1.02 * total


def test_a_warm_up_loads_each_chunk_at_its_owner_and_readers_get_it_from_there(cluster, tree):
    expected = content(tree)
    run = subprocess.run([BIN / "forebay", "warmup", "images", "--wait", "--head",
                          cluster.head_address], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    read = cluster.counters("source_bytes")
    total = sum(map(len, expected.values()))
    assert total <= sum(read.values()) <= 1.02 * total
    assert max(read.values()) < total
    shown = cluster.call("GET", "/v1/datasets/images")
    assert shown["kind"] == "files" and shown["files"] == len(expected)
    for node in cluster.nodes:
        files = forebay.files(cluster.uri("images"), node=str(node.socket))
        assert read_all(files) == expected
    assert cluster.counters("source_bytes") == read


def test_files_go_on_when_their_owner_is_killed(cluster, tree):
    expected = content(tree)
    reader, *others = cluster.nodes
    files = forebay.files(cluster.uri("images"), node=str(reader.socket))
    names = sorted(expected)
    for i, name in enumerate(names):
        if i == len(names) // 2:
            others[0].kill()
        assert files.read(name) == expected[name]


@pytest.mark.alone
def test_files_go_on_when_their_owner_stands_still(cluster, tree):
    """Nobody waits until the head takes it for down."""
    expected = content(tree)
    reader, *others = cluster.nodes
    files = forebay.files(cluster.uri("images"), node=str(reader.socket))
    names = sorted(name for name in expected if name.startswith("large/"))
    names += sorted(name for name in expected if name.startswith("small/"))[::10]
    assert all(files.read(name) == expected[name] for name in names[::2])  # all are known
    before = cluster.counters("source_bytes")[reader.name]
    waits = []
    others[0].signal(signal.SIGSTOP)
    try:
        for name in names[1::2]:
            start = time.monotonic()
            assert files.read(name) == expected[name]
            waits.append(time.monotonic() - start)
    finally:
        others[0].signal(signal.SIGCONT)
    print(f"longest waits {sorted(waits)[-5:]}")
    assert max(waits) < 2
    assert cluster.counters("source_bytes")[reader.name] > before, "it owned nothing"


def test_a_tree_is_pulled_by_its_name(cluster, tree, tmp_path):
    subprocess.run([BIN / "forebay", "pull", cluster.uri("images"), tmp_path / "copy", "--node",
                    cluster.nodes[0].socket], check=True, timeout=120)
    copy = content(tmp_path / "copy")
    assert {name: copy[name] for name in copy if name != ".forebay-pull"} == content(tree)


@pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="no mounts here: /dev/fuse")
def test_a_tree_is_mounted_by_its_name(cluster, tree, tmp_path):
    place = tmp_path / "mount"
    place.mkdir()
    subprocess.run([BIN / "forebay", "mount", cluster.uri("images"), place, "--node",
                    cluster.nodes[0].socket], check=True, timeout=60)
    try:
        assert content(place) == content(tree)
    finally:
        subprocess.run([BIN / "forebay", "umount", place], check=True, timeout=60)


def test_a_table_is_no_tree_of_files_and_the_other_way_round(cluster):
    node = str(cluster.nodes[0].socket)
    with pytest.raises(ValueError, match="is a tree of files: open it with forebay.files"):
        forebay.open(cluster.uri("images"), node=node)


def test_a_changed_tree_is_another_version_after_a_refresh(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_bytes(b"one")
    os.utime(tree / "a", (1_700_000_000, 1_700_000_000))
    with Cluster(2) as cluster:
        cluster.create("images", tree, kind="files")
        node = str(cluster.nodes[0].socket)
        before = forebay.files(cluster.uri("images"), node=node)
        assert before.read("a") == b"one"
        (tree / "b").write_bytes(b"two")
        os.utime(tree / "b", (1_700_000_000, 1_700_000_000))
        assert "b" not in forebay.files(cluster.uri("images"), node=node)
        cluster.call("POST", "/v1/datasets/images/refresh")
        after = forebay.files(cluster.uri("images"), node=node)
        assert after.read("b") == b"two" and "b" not in before
