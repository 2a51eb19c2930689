"""forebay pull, path, store usage and gc."""

import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from nodes import PROGRAMS, kill_node, node_pids, wait_until
from test_files import SIZES, write_tree


def forebay(*words, check=True, **environment):
    done = subprocess.run([PROGRAMS / "forebay", *map(str, words)], text=True, timeout=120,
                          capture_output=True, env={**os.environ, **environment})
    if check:
        assert done.returncode == 0, done.stderr
    return done


def can_run(program, **who):
    try:
        return subprocess.run([PROGRAMS / program, "--help"], cwd="/", capture_output=True,
                              **who).returncode == 0
    except OSError:
        return False


def pull(*words):
    return json.loads(forebay("pull", *words, "-o", "json").stdout)


def tree_of(folder):
    found = {str(path.relative_to(folder)): path.read_bytes()
             for path in Path(folder).rglob("*") if path.is_file()}
    found.pop(".forebay-pull", None)
    return found


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """What was verified is noted there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def source(tmp_path):
    return tmp_path / "source", write_tree(tmp_path / "source", SIZES)


def test_a_pull_copies_what_is_missing_or_changed(source, tmp_path):
    folder, contents = source
    target = tmp_path / "target"
    assert pull(folder, target)["files"] == len(contents)
    assert tree_of(target) == contents
    assert (target / "a/b.jpg").stat().st_mtime == 1_600_000_000
    again = pull(folder, target)
    assert (again["files"], again["files_kept"]) == (0, len(contents))
    (folder / "a/b.jpg").write_bytes(b"new")
    (folder / "fresh").write_bytes(b"fresh")
    (target / "a/c/d.bin").write_bytes(b"scribbled over")
    (target / "many/003").unlink()
    (target / "mine").write_bytes(b"kept")
    assert pull(folder, target)["files"] == 4
    contents |= {"a/b.jpg": b"new", "fresh": b"fresh", "mine": b"kept"}
    assert tree_of(target) == contents
    assert not [name for name in os.listdir(target) if name.startswith(".forebay-pull-")]


def test_a_pull_that_was_killed_leaves_nothing_for_long(source, tmp_path):
    folder, contents = source
    target = tmp_path / "target"
    (target / "many").mkdir(parents=True)
    mark = b"A pull is at work here, or was.\n"
    (target / ".forebay-pull-1-2").write_bytes(mark)  # nobody holds it
    (target / "many/.forebay-pull-1-2-77").write_bytes(b"half")
    pull(folder, target)
    assert tree_of(target) == contents


def test_editing_a_pulled_file_edits_no_cache(source, tmp_path):
    folder, contents = source
    pull(folder, tmp_path / "one")
    for path in contents:
        assert (tmp_path / "one" / path).stat().st_nlink == 1
        (tmp_path / "one" / path).write_bytes(b"edited")
    pull(folder, tmp_path / "two")
    assert tree_of(tmp_path / "two") == contents


def test_one_file_goes_to_a_file_or_into_a_folder(source, tmp_path):
    folder, contents = source
    pull(folder / "large.bin", tmp_path / "model.bin")
    assert (tmp_path / "model.bin").read_bytes() == contents["large.bin"]
    (tmp_path / "folder").mkdir()
    pull(folder / "large.bin", tmp_path / "folder")
    assert tree_of(tmp_path / "folder") == {"large.bin": contents["large.bin"]}


def test_nothing_is_written_through_a_link(source, tmp_path):
    folder, _ = source
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "outside").mkdir()
    (target / "many").symlink_to(tmp_path / "outside")
    done = forebay("pull", folder, target, check=False)
    assert done.returncode != 0 and "many" in done.stderr
    assert not list((tmp_path / "outside").iterdir())


def test_a_shared_directory_is_filled_once(source, tmp_path):
    folder, contents = source
    shared = tmp_path / "shared"
    first = forebay("path", folder / "large.bin", "--shared", shared).stdout.strip()
    assert Path(first).name == "large.bin" and Path(first).read_bytes() == contents["large.bin"]
    assert Path(first).stat().st_mode & 0o777 == 0o444
    assert forebay("path", folder / "large.bin", "--shared", shared).stdout.strip() == first
    pull(folder, tmp_path / "target", "--shared", shared)
    assert tree_of(tmp_path / "target") == contents
    usage = json.loads(forebay("store", "usage", shared, "-o", "json").stdout)["datasets"]
    assert [(u["dataset"], u["files"]) for u in usage] == [(f"file://{folder}", len(contents))]
    assert usage[0]["uses"] == len(contents) + 2
    assert f"file://{folder}" in forebay("store", "usage", shared).stdout


def test_a_file_that_rots_in_a_shared_directory_is_brought_again(source, tmp_path):
    folder, contents = source
    path = Path(forebay("path", folder / "large.bin", "--shared", tmp_path / "s").stdout.strip())
    path.chmod(0o644)
    path.write_bytes(b"rotten")
    again = forebay("path", folder / "large.bin", "--shared", tmp_path / "s").stdout.strip()
    assert Path(again).read_bytes() == contents["large.bin"]


def test_a_changed_source_is_a_new_entry(source, tmp_path):
    folder, contents = source
    old = forebay("path", folder / "large.bin", "--shared", tmp_path / "s").stdout.strip()
    (folder / "large.bin").write_bytes(b"new")
    new = forebay("path", folder / "large.bin", "--shared", tmp_path / "s").stdout.strip()
    assert Path(old).read_bytes() == contents["large.bin"] and Path(new).read_bytes() == b"new"


def test_gc_spares_what_is_pinned_or_was_used_lately(source, tmp_path):
    folder, _ = source
    shared = tmp_path / "s"
    kept = forebay("path", folder / "large.bin", "--shared", shared, "--pin").stdout.strip()
    gone = forebay("path", folder / "a/c/d.bin", "--shared", shared).stdout.strip()
    full = forebay("store", "gc", shared, "--keep-free", "100%", check=False)
    assert full.returncode == 7 and "used lately" in full.stderr
    assert Path(kept).exists() and Path(gone).exists()
    os.utime(Path(gone).parents[1] / "used", (1, 1))
    os.utime(Path(kept).parents[1] / "used", (1, 1))
    forebay("store", "gc", shared, "--keep-free", "100%", check=False)
    assert Path(kept).exists() and not Path(gone).exists()
    assert len(list((shared / "trash").iterdir())) == 1
    assert forebay("store", "gc", shared, "--keep-free", "0%").returncode == 0
    wrong = forebay("store", "gc", shared, "--quota", "1GiB", check=False)
    assert wrong.returncode == 2


def test_hosts_at_once_end_with_the_same_file(source, tmp_path):
    folder, contents = source
    paths = []

    def host(i):
        done = forebay("path", folder / "large.bin", "--shared", tmp_path / "s",
                       XDG_CACHE_HOME=str(tmp_path / f"cache{i}"))
        paths.append(done.stdout.strip())
    threads = [threading.Thread(target=host, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 6 and len(set(paths)) == 1
    assert Path(paths[0]).read_bytes() == contents["large.bin"]
    assert not list((tmp_path / "s/tmp").iterdir())


def test_a_folder_has_no_path(source, tmp_path):
    done = forebay("path", source[0], "--shared", tmp_path / "s", check=False)
    assert done.returncode == 2 and "folder" in done.stderr


def test_names_of_pulls_are_left_out_and_files_of_others_left_alone(source, tmp_path):
    folder, contents = source
    (folder / ".forebay-pull").mkdir()
    (folder / ".forebay-pull/notes").write_bytes(b"mine")
    (folder / ".forebay-pull-12-34").write_bytes(b"mine")
    target = tmp_path / "target"
    target.mkdir()
    (target / ".forebay-pull-notes").write_bytes(b"kept")
    (target / ".forebay-pull-1-2").write_bytes(b"kept")
    for _ in range(2):
        done = forebay("pull", folder, target, "-o", "json")
        assert "2 files have names" in done.stderr
    assert json.loads(done.stdout)["files"] == 0
    kept = {".forebay-pull-notes": b"kept", ".forebay-pull-1-2": b"kept"}
    assert tree_of(target) == contents | kept
    other = tmp_path / "other"
    other.mkdir()
    (other / ".forebay-pull").write_bytes(b"somebody's")
    refused = forebay("pull", folder, other, check=False)
    assert refused.returncode == 2 and "was not written by a pull" in refused.stderr
    assert os.listdir(other) == [".forebay-pull"]


def test_a_source_is_not_pulled_into_itself(source):
    folder, _ = source
    for target in (folder, folder / "a", folder / "new/deep"):
        refused = forebay("pull", folder, target, check=False)
        assert refused.returncode == 2 and "source itself" in refused.stderr, target
    assert forebay("pull", folder / "empty", folder / "empty", check=False).returncode == 2
    assert not (folder / ".forebay-pull").exists()
    assert forebay("pull", folder, "", check=False).returncode == 2


def test_files_that_cannot_be_had_are_named_and_the_others_come():
    """As a user who may not read them; root would."""
    if os.geteuid() == 0 and not can_run("forebay-node", user=65534):
        pytest.skip("other users cannot run the programs of this checkout")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o777)
        contents = write_tree(place / "source", SIZES)
        gone = ["many/003", "a/c/d.bin"]
        for file in gone:
            (place / "source" / file).chmod(0)
        as_user = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        done = subprocess.run(
            [*as_user, PROGRAMS / "forebay", "pull", place / "source", place / "target",
             "-o", "json"], text=True, capture_output=True, timeout=120,
            env={**os.environ, "FOREBAY_STORE": f"ssd:{place}/store",
                 "XDG_RUNTIME_DIR": f"{place}"})
        for pid in node_pids(place):
            kill_node(pid)
        assert done.returncode == 11, done.stderr
        assert json.loads(done.stdout)["failed"] == 2
        assert all(f"could not pull {file}" in done.stderr for file in gone), done.stderr
        there = {file: data for file, data in contents.items() if file not in gone}
        assert tree_of(place / "target") == there


def test_a_pull_that_was_ended_goes_on_where_it_was(tmp_path):
    contents = write_tree(tmp_path / "source", {f"{i:04}": 100_000 for i in range(400)})
    target = tmp_path / "target"
    process = subprocess.Popen([PROGRAMS / "forebay", "pull", tmp_path / "source", target],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(list(target.glob("0*"))) > 20, "nothing comes")
    process.kill()
    process.wait()
    done = len(list(target.glob("0*")))
    again = pull(tmp_path / "source", target)
    assert (again["files_kept"], again["files"]) == (done, len(contents) - done)
    assert tree_of(target) == contents


def test_one_file_is_copied_only_when_it_changed(source, tmp_path):
    folder, contents = source
    target = tmp_path / "one.jpg"
    assert pull(folder / "a/b.jpg", target)["files"] == 1
    before = target.stat()
    assert before.st_mtime == 1_600_000_000
    assert pull(folder / "a/b.jpg", target)["files_kept"] == 1
    assert target.stat().st_ino == before.st_ino
    target.write_bytes(b"scribbled over")
    assert pull(folder / "a/b.jpg", target)["files"] == 1
    (folder / "a/b.jpg").write_bytes(b"x" * len(contents["a/b.jpg"]))
    assert pull(folder / "a/b.jpg", target)["files"] == 1
    assert target.read_bytes() == b"x" * len(contents["a/b.jpg"])


def test_a_folder_is_none_of_its_files(tmp_path):
    write_tree(tmp_path, {"ab/b": 100, "b/b": 100})
    for name in ("ab", "b"):
        refused = forebay("path", tmp_path / name, "--shared", tmp_path / "shared", check=False)
        assert refused.returncode == 2 and "is a folder" in refused.stderr
        assert pull(tmp_path / name, tmp_path / f"copy-{name}")["files"] == 1
        assert (tmp_path / f"copy-{name}/b").is_file()
