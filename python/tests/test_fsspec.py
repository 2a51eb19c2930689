"""Trees of files through fsspec."""

import concurrent.futures
import errno
import importlib.metadata
import os
import pickle
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from test_files import SIZES, RefreshedAfter, write_tree

import forebay

fsspec = pytest.importorskip("fsspec")
ENTRY = "forebay.filesystem:ForebayFileSystem"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    return folder, write_tree(folder, SIZES)


@pytest.fixture
def fs(tree):
    return fsspec.filesystem("forebay", source=str(tree[0]), skip_instance_cache=True)


def test_the_package_names_its_entry_point():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points."fsspec.specs"]' in text and f'forebay = "{ENTRY}"' in text
    entries = importlib.metadata.entry_points(group="fsspec.specs", name="forebay")
    assert {entry.value for entry in entries} == {ENTRY}
    assert fsspec.get_filesystem_class("forebay").protocol == "forebay"


def test_files_are_listed_and_found(tree, fs):
    folder, contents = tree
    assert sorted(fs.ls("", detail=False)) == ["a", "e", "empty", "large.bin", "many"]
    assert fs.info("a/b.jpg") == {**fs.info("/a/b.jpg"), "size": 3000, "type": "file"}
    assert fs.info("forebay://a")["type"] == "directory"
    assert sorted(fs.find("")) == sorted(contents)
    assert sorted(fs.glob("many/01?")) == [f"many/01{i}" for i in range(10)]
    assert sorted(fs.glob("**/*.bin")) == ["a/c/d.bin", "large.bin"]
    assert fs.isfile("empty") and fs.isdir("many") and not fs.exists("many/xyz")
    assert fs.du("many") == sum(500 + i for i in range(200))
    with pytest.raises(FileNotFoundError):
        fs.info("nothing")


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "file://localhost{}"])
def test_a_local_source_may_be_written_as_hadoop_does(tree, form):
    fs = fsspec.filesystem("forebay", source=form.format(tree[0]), skip_instance_cache=True)
    assert fs.info("a/b.jpg")["size"] == 3000


@pytest.mark.fast
def test_bytes_come_by_every_door(tree, fs):
    _, contents = tree
    large = contents["large.bin"]
    assert fs.cat("a/b.jpg") == contents["a/b.jpg"]
    many = [f"many/{i:03}" for i in range(50)]
    assert fs.cat(many) == {path: contents[path] for path in many}
    assert fs.cat_file("large.bin", start=-5) == large[-5:]
    assert fs.cat_file("large.bin", 100, 200) == large[100:200]
    ranges = fs.cat_ranges(["large.bin", "a/b.jpg", "gone"], [5, 0, 0], [70_000, 10, 1])
    assert ranges[:2] == [large[5:70_000], contents["a/b.jpg"][:10]]
    assert isinstance(ranges[2], FileNotFoundError)
    with fs.open("large.bin") as file:
        file.seek(1_000_000)
        assert file.read(10) == large[1_000_000:1_000_010]
    with fs.open("many/000", "r", encoding="latin-1", newline="") as file:
        assert file.read().encode("latin-1") == contents["many/000"]
    with pytest.raises(OSError):
        fs.open("new", "wb")


def test_downloads_and_pickles(tree, fs, tmp_path):
    _, contents = tree
    fs.get("many", str(tmp_path / "got"), recursive=True)
    got = {path.name: path.read_bytes() for path in (tmp_path / "got").rglob("*") if path.is_file()}
    assert got == {Path(p).name: d for p, d in contents.items() if p.startswith("many/")}
    assert pickle.loads(pickle.dumps(fs)).cat("a/b.jpg") == contents["a/b.jpg"]


def test_all_threads_have_one_instance(tree):
    """Each one would list the source anew."""
    def make(_):
        return fsspec.filesystem("forebay", source=str(tree[0]))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(make, range(8)))
    assert all(fs is made[0] for fs in made)
    assert make(0) is made[0]
    assert fsspec.filesystem("forebay", source=str(tree[0]), skip_instance_cache=True) is not made[0]
    made[0].clear_instance_cache()
    assert make(0) is not made[0]


def test_another_process_sees_the_same_version_or_says_so(tmp_path, run_python):
    path = write_tree(tmp_path / "tree", {"f": 1000}) and tmp_path / "tree/f"
    fs = fsspec.filesystem("forebay", source=str(tmp_path / "tree"))
    sent = pickle.dumps(fs)
    code = "import pickle, sys\ntry:\n  print(pickle.loads(bytes.fromhex(sys.argv[1])).cat('f').hex())\n" \
           "except Exception as error:\n  print(type(error).__name__, error)"
    assert run_python(code, sent.hex()).strip() == path.read_bytes().hex()
    path.write_bytes(b"x" * 1000)
    os.utime(path, (1_600_000_001, 1_600_000_001))
    assert run_python(code, sent.hex()).startswith("SourceChanged")
    assert pickle.loads(sent) is fs
    fs.invalidate_cache()
    with pytest.raises(forebay.SourceChanged, match="open it again"):
        pickle.loads(sent)
    assert run_python(code, pickle.dumps(fs).hex()).strip() == (b"x" * 1000).hex()


def test_a_newer_version_that_is_sent_is_opened_once(tmp_path):
    write_tree(tmp_path / "tree", {"f": 1000})
    source = str(tmp_path / "tree")
    old = fsspec.filesystem("forebay", source=source)
    contents = write_tree(tmp_path / "tree", {"f": 1000, "g": 10})
    sent = pickle.dumps(fsspec.filesystem("forebay", source=source, skip_instance_cache=True))
    new = pickle.loads(sent)
    assert new is not old and new.cat("g") == contents["g"]
    assert pickle.loads(sent) is new
    assert not old.exists("g")


def test_a_relative_source_is_where_the_process_was(tmp_path, monkeypatch):
    made, contents = [], []
    for seed in (1, 2):
        place = tmp_path / str(seed)
        contents.append(write_tree(place / "tree", {"f": 1000}, seed))
        monkeypatch.chdir(place)
        made.append(fsspec.filesystem("forebay", source="tree"))
    assert made[0] is not made[1] and contents[0] != contents[1]
    for fs, files in zip(made, contents, strict=True):
        assert fs.cat("f") == files["f"]
        assert pickle.loads(pickle.dumps(fs)) is fs


def test_a_refresh_meanwhile_mixes_no_files(tmp_path):
    contents = write_tree(tmp_path, {"a": 1000, "b": 2000, "c": 100_000})
    fs = fsspec.filesystem("forebay", source=str(tmp_path), skip_instance_cache=True)
    RefreshedAfter(fs.files, tmp_path, "bring")
    assert fs.cat(list(contents)) == contents
    assert fs.exists("0")


FORKS = """
import fsspec, hashlib, os, random, signal, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads
fs = fsspec.filesystem("forebay", source=sys.argv[1])
names, over = fs.find(""), threading.Event()
def digest(data):
    return hashlib.sha256(data).digest()
digests = {}
for name in names:
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        digests[name] = digest(file.read())
def read(seed, times, done):
    rng = random.Random(seed)
    while len(done) < times and not over.is_set():
        name = rng.choice(names)
        with fs.open(name) as file:
            assert digest(file.read()) == digest(fs.cat(name)) == digests[name], name
        done.append(name)
reads, errors = [[] for _ in range(4)], []
def read_on(seed):
    try:
        read(seed, 10**9, reads[seed])
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=read_on, args=(i,), daemon=True) for i in range(4)]
for thread in threads:
    thread.start()
good, before = 0, sum(map(len, reads))
for i in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        read(100 + i, 10, [])
        again = fsspec.filesystem("forebay", source=sys.argv[1])
        os._exit(0 if again is not fs and again.cat(names[0]) == fs.cat(names[0]) else 1)
    good += os.waitpid(child, 0)[1] == 0
went_on = sum(map(len, reads)) > before
over.set()
for thread in threads:
    thread.join(30)
    assert not thread.is_alive()
print(good, went_on, errors)
"""


def test_forks_in_the_middle_of_reads_go_on_reading(tree, run_python):
    assert run_python(FORKS, tree[0]) == "20 True []\n"


def test_the_source_may_be_set_for_the_process(tree, run_python, monkeypatch):
    monkeypatch.setenv("FSSPEC_FOREBAY_SOURCE", str(tree[0]))
    code = "import fsspec; print(fsspec.open('forebay://a/b.jpg').open().read().hex())"
    assert bytes.fromhex(run_python(code)) == tree[1]["a/b.jpg"]


def test_pandas_reads_by_name(tmp_path):
    (tmp_path / "t").mkdir()
    table = pd.DataFrame({"x": range(1000), "y": [f"row {i}" for i in range(1000)]})
    table.to_csv(tmp_path / "t/a.csv", index=False)
    table.to_parquet(tmp_path / "t/a.parquet")
    how = {"storage_options": {"source": str(tmp_path / "t")}}
    assert pd.read_csv("forebay://a.csv", **how).equals(table)
    assert pd.read_parquet("forebay://a.parquet", **how).equals(table)


def test_archives_and_images_are_read_in_place(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("inner.txt", "x" * 100_000)
    fs = fsspec.filesystem("forebay", source=str(folder), skip_instance_cache=True)
    with fs.open("a.zip") as file, zipfile.ZipFile(file) as archive:
        assert archive.read("inner.txt") == b"x" * 100_000
    with fsspec.open("zip://inner.txt::forebay://a.zip",
                     forebay={"source": str(folder)}) as file:
        assert file.read(5) == b"xxxxx"
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (64, 48), "red").save(folder / "i.png")
    fs.invalidate_cache()
    with fs.open("i.png") as file:
        assert image.open(file).size == (64, 48)


def test_a_file_that_changed_has_another_checksum(tmp_path):
    path = write_tree(tmp_path / "tree", {"f": 1000}) and tmp_path / "tree/f"
    fs = fsspec.filesystem("forebay", source=str(tmp_path / "tree"), skip_instance_cache=True)
    before = fs.checksum("f")
    path.write_bytes(b"x" * path.stat().st_size)
    fs.invalidate_cache()
    assert fs.checksum("f") != before


def test_parts_are_read_as_other_file_systems_do(tree, fs):
    _, contents = tree
    for name in ("a/b.jpg", "large.bin"):
        with fs.open(name) as file:
            assert file.size == len(contents[name])
        assert fs.read_block(name, 10, 100) == contents[name][10:110]


@pytest.mark.parametrize("call", ["mkdir", "makedirs", "rmdir", "rm", "rm_file", "touch"])
def test_nothing_can_be_written(fs, call):
    with pytest.raises(OSError) as refused:
        getattr(fs, call)("a/new")
    assert refused.value.errno == errno.EROFS


def test_the_package_needs_no_fsspec(run_python, tree):
    code = "import sys; sys.modules['fsspec'] = None\nimport forebay\n" \
           "print(len(forebay.files(sys.argv[1])))"
    assert int(run_python(code, tree[0])) == len(tree[1])
    assert forebay.files(tree[0]).exists("a") and sys.modules["fsspec"]
