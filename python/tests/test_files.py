"""Trees of files, opened from Python."""

import hashlib
import io
import os
import pickle
import random

import nodes
import pytest

import forebay


def write_tree(folder, sizes, seed=1):
    """Files of random bytes by relative path; returns them."""
    rng = random.Random(seed)
    contents = {}
    for path, size in sizes.items():
        data = rng.randbytes(size)
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        old = 1_600_000_000 * 10**9
        os.utime(target, ns=(old, old))
        contents[path] = data
    return contents


SIZES = {"a/b.jpg": 3000, "a/c/d.bin": 70_000, "empty": 0, "e/ünï.txt": 17,
         "large.bin": 3 * 2**20 + 5, **{f"many/{i:03}": 500 + i for i in range(200)}}


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    return folder, write_tree(folder, SIZES)


@pytest.mark.fast
def test_every_file_has_the_bytes_of_the_source(tree):
    folder, contents = tree
    files = forebay.files(folder)
    assert len(files) == len(contents)
    assert files.total_bytes == sum(map(len, contents.values()))
    for path, data in contents.items():
        assert files.read(path) == data
        with files.open(path) as file:
            assert file.read() == data
        assert files.stat(path).size == len(data)
    assert files.read_many(list(contents)) == list(contents.values())


def test_an_open_file_is_a_file(tree):
    folder, contents = tree
    files = forebay.files(folder)
    for path in ("large.bin", "a/b.jpg"):
        data = contents[path]
        with files.open(path) as file, io.BytesIO(data) as model:
            rng = random.Random(3)
            for _ in range(200):
                offset, size = rng.randrange(len(data) + 100), rng.randrange(100_000)
                assert file.seek(offset) == model.seek(offset)
                assert file.read(size) == model.read(size)
                assert file.tell() == model.tell()
            file.seek(-10, io.SEEK_END)
            assert file.read() == data[-10:]
            assert file.readable() and file.seekable() and not file.writable()
            with pytest.raises(OSError):
                file.write(b"x")
        with pytest.raises(ValueError):
            file.read()
    assert hashlib.file_digest(files.open("large.bin"), "md5").digest() \
        == hashlib.md5(contents["large.bin"]).digest()


def test_folders_are_listed(tree):
    folder, contents = tree
    files = forebay.files(folder)
    assert [e.path for e in files.list()] == ["a", "e", "many", "empty", "large.bin"]
    assert [e.is_dir for e in files.list()] == [True, True, True, False, False]
    assert [e.path for e in files.list("a/")] == ["a/c", "a/b.jpg"]
    assert len(files.list("many")) == 200
    walked = [f"{top}/{name}".lstrip("/") for top, _, names in files.walk() for name in names]
    assert sorted(walked) == sorted(contents)
    assert files.stat("a/b.jpg").mtime == 1_600_000_000 and files.stat("a").is_dir
    assert "a/b.jpg" in files and "a" in files and "b" not in files
    for path in ("nothing", "a/../a/b.jpg", "../x", "a/b.jpg/x"):
        with pytest.raises(FileNotFoundError):
            files.read(path)
    with pytest.raises(IsADirectoryError):
        files.open("a")
    with pytest.raises(NotADirectoryError):
        files.list("empty")


def test_one_file_is_a_tree_of_one(tree):
    folder, contents = tree
    files = forebay.files(folder / "large.bin")
    assert [e.path for e in files.list()] == ["large.bin"]
    assert files.read("large.bin", 100, 50) == contents["large.bin"][100:150]


def test_the_source_is_read_once(tree, node_status):
    folder, contents = tree
    files = forebay.files(folder)
    files.warmup()
    coverage = files.coverage()
    assert coverage.chunks_stored == coverage.chunk_count and coverage.rows_stored == len(contents)
    before = node_status()["source_bytes"]
    assert before == files.total_bytes
    again = forebay.files(folder)
    assert again.version == files.version
    for path, data in contents.items():
        assert again.read(path) == data
    assert node_status()["source_bytes"] == before


def test_a_small_file_does_not_wait_for_its_pack(tree, node_status):
    folder, contents = tree
    files = forebay.files(folder)
    assert files.read("many/001") == contents["many/001"]
    assert node_status()["source_bytes"] == len(contents["many/001"])


def test_a_changed_file_is_an_error_and_refresh_shows_it(tmp_path):
    contents = write_tree(tmp_path / "t", {"x": 80_000, "y": 1000, "z": 100_000})
    files = forebay.files(tmp_path / "t")
    assert files.read("x") == contents["x"]
    (tmp_path / "t/y").write_bytes(b"new")
    (tmp_path / "t/z").write_bytes(b"newer")
    for path in ("y", "z"):
        with pytest.raises(forebay.SourceChanged, match=f"/t/{path} "):
            files.read(path)
    assert files.read("x") == contents["x"]
    assert files.refresh() and not files.refresh()
    assert (files.read("y"), files.read("z")) == (b"new", b"newer")


class RefreshedAfter:
    """The native tree of some files, which are refreshed right after its method `when` was
    called for the first time; a file was added in front before that."""

    def __init__(self, files, folder, when):
        self.files, self.folder, self.when = files, folder, when
        self.tree, files._tree = files._tree, self

    def __getattr__(self, name):
        found = getattr(self.tree, name)
        if name != self.when or self.files._tree is not self:
            return found

        def call(*arguments):
            out = found(*arguments)
            write_tree(self.folder, {"0": 7}, seed=2)
            assert self.files.refresh()
            return out
        return call


@pytest.mark.parametrize("when", ["find_file", "bring"])
def test_a_refresh_meanwhile_mixes_no_files(tmp_path, when):
    contents = write_tree(tmp_path, {"a": 1000, "b": 2000, "c": 100_000})
    files = forebay.files(tmp_path)
    RefreshedAfter(files, tmp_path, when)
    assert files.read_many(contents) == list(contents.values())
    assert files.exists("0") and files.read_many(contents) == list(contents.values())


@pytest.mark.parametrize("path", ["a", "c"])
def test_a_refresh_meanwhile_opens_no_other_file(tmp_path, path):
    contents = write_tree(tmp_path, {"a": 1000, "b": 2000, "c": 100_000})
    for read in (lambda files: files.open(path).read(), lambda files: files.read(path)):
        files = forebay.files(tmp_path)
        RefreshedAfter(files, tmp_path, "find_file")
        assert read(files) == contents[path] and files.exists("0")
        (tmp_path / "0").unlink()


def test_reading_goes_on_when_the_node_dies(tree):
    folder, contents = tree
    files = forebay.files(folder)
    file = files.open("large.bin")
    assert file.read(10) == contents["large.bin"][:10]
    nodes.kill_node(files._tree.node_pid())
    assert file.read() == contents["large.bin"][10:]
    assert files.read("a/c/d.bin") == contents["a/c/d.bin"]
    assert files.read("many/007") == contents["many/007"]


def test_a_forked_child_reads_too(tree):
    folder, contents = tree
    files = forebay.files(folder)
    assert files.read("a/b.jpg") == contents["a/b.jpg"]
    pid = os.fork()
    if pid == 0:
        good = all(files.read(path) == data for path, data in contents.items())
        os._exit(0 if good else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert files.read("many/100") == contents["many/100"]


def test_pickles_open_the_same_version(tree):
    folder, contents = tree
    files = pickle.loads(pickle.dumps(forebay.files(folder)))
    assert files.read("e/ünï.txt") == contents["e/ünï.txt"]


def test_names_that_are_not_unicode(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    name = b"caf\xe9"
    (folder / os.fsdecode(name)).write_bytes(b"x")
    files = forebay.files(folder)
    assert [os.fsencode(e.path) for e in files.list()] == [name]
    assert files.read(os.fsdecode(name)) == b"x"


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        forebay.files(tmp_path / "nothing")
