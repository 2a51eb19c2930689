"""A mount shows the tree of its source: every name, size and byte."""

import hashlib
import os
import random
import subprocess

import pytest
from mounts import OLD, random_tree, write_files


def assert_same_tree(source, mount):
    done = subprocess.run(["diff", "-r", "--no-dereference", source, mount], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout[:2000] + done.stderr[:2000]


def listing(folder):
    """(kind, size) by path, by way of readdir and stat."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = os.path.join(top, name)
            st = os.lstat(path)
            is_file = name in files
            found[os.path.relpath(path, folder)] = (is_file, st.st_size if is_file else 0)
    return found


@pytest.mark.parametrize("seed, profile", [(1, "small"), (2, "large")])
def test_a_random_tree_is_the_same_through_the_mount(mounts, publish, tmp_path, seed, profile):
    contents = random_tree(seed)
    source = write_files(tmp_path / "source", contents)
    mount = mounts.mount(*publish(source), "--profile", profile)
    assert_same_tree(source, mount)
    assert listing(mount) == listing(source)
    for name, data in contents.items():
        read = (mount / name).read_bytes()
        assert hashlib.sha256(read).digest() == hashlib.sha256(data).digest(), name
        assert os.stat(mount / name).st_mtime_ns == os.stat(source / name).st_mtime_ns


def test_a_source_without_files_is_not_mounted(mounts, tmp_path):
    source = write_files(tmp_path / "source", {})
    (tmp_path / "mnt").mkdir()
    done = mounts.run("mount", source, tmp_path / "mnt", check=False)
    assert done.returncode != 0 and "is empty" in done.stderr
    assert not os.path.ismount(tmp_path / "mnt")


@pytest.mark.fast
def test_a_deep_tree(mounts, publish, tmp_path):
    deep = "/".join(f"level{i}" for i in range(100))
    source = write_files(tmp_path / "source", {deep + "/bottom": b"down here", "top": b"up"})
    mount = mounts.mount(*publish(source))
    assert (mount / deep / "bottom").read_bytes() == b"down here"
    assert_same_tree(source, mount)


@pytest.mark.parametrize(
    "count", [20_000, pytest.param(200_000, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])])
def test_a_folder_with_very_many_files(mounts, adopt, tmp_path, count):
    folder = tmp_path / "source" / "wide"
    folder.mkdir(parents=True)
    names = [f"{i:06}.jpg" for i in range(count)]
    for name in names:
        with open(folder / name, "w") as file:
            file.write(name)
        os.utime(folder / name, (OLD, OLD))
    mount = mounts.mount(*adopt(tmp_path / "source"))
    assert sorted(os.listdir(mount / "wide")) == names
    with os.scandir(mount / "wide") as entries:
        assert sum(entry.is_file() for entry in entries) == count
    for name in random.Random(1).sample(names, 500):
        assert (mount / "wide" / name).read_text() == name
    assert not (mount / "wide" / "none.jpg").exists()


def test_a_listing_that_pauses_and_seeks_misses_nothing(mounts, adopt, tmp_path):
    source = write_files(tmp_path / "source", {f"{i:05}": b"" for i in range(3000)})
    mount = mounts.mount(*adopt(source))
    with os.scandir(mount) as entries:
        first = [next(entries).name for _ in range(1500)]
        assert mounts.kill_server(mount) is not None
        assert sorted([*first, *(entry.name for entry in entries)]) == sorted(os.listdir(source))


def test_a_sparse_file_of_several_gibibytes(mounts, adopt, tmp_path):
    (tmp_path / "source").mkdir()
    path, size = tmp_path / "source" / "sparse.bin", (5 << 30) + 12_345
    rng = random.Random(3)
    places = [0, (1 << 31) - 7, (1 << 32) - 3, size - 20]
    with open(path, "wb") as file:
        file.truncate(size)
        for place in places:
            file.seek(place)
            file.write(rng.randbytes(20))
    os.utime(path, (OLD, OLD))
    mount = mounts.mount(*adopt(tmp_path / "source"))
    assert (mount / "sparse.bin").stat().st_size == size
    with open(path, "rb") as model, open(mount / "sparse.bin", "rb") as file:
        for place in places:
            start = max(0, place - 4096)
            assert os.pread(file.fileno(), 8192, start) == os.pread(model.fileno(), 8192, start)
        assert os.pread(file.fileno(), 10, size) == b""
