"""Symbolic links and empty folders of local trees: files, fsspec, pull."""

import errno
import os
from pathlib import Path

import pytest
from test_files import write_tree
from test_pull import forebay as run
from test_pull import pull

import forebay


def link(folder, links):
    for name, target in links.items():
        os.symlink(target, Path(folder) / name)


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    write_tree(folder, {"a/b": 100, "a/c/d": 70_000, "e": 10})
    (folder / "empty/inner").mkdir(parents=True)
    link(folder, {"file": "a/b", "folder": "a", "a/c/up": "../../e", "nowhere": "no",
                  "loop": "loop", "out": "/etc/passwd", "above": "../secret",
                  "own": str(folder / "a/b")})
    (tmp_path / "secret").write_bytes(b"not in the tree")
    return folder


def test_links_are_followed_within_the_tree(source):
    tree = forebay.files(source)
    assert tree.read("file") == tree.read("a/b") == tree.read("own")
    assert tree.read("folder/c/up") == tree.read("e")
    with tree.open("folder/c/d") as file:
        assert file.read() == (source / "a/c/d").read_bytes()
    assert tree.read_many(["file", "e"]) == [tree.read("a/b"), tree.read("e")]
    assert [info.path for info in tree.list("folder")] == ["folder/c", "folder/b"]
    assert tree.stat("folder").is_dir and tree.stat("file").size == 100
    assert "file" in tree and "nowhere" not in tree and "out" not in tree and "loop" not in tree
    with pytest.raises(IsADirectoryError):
        tree.read("folder")


def test_no_link_leads_out_of_the_tree(source):
    tree = forebay.files(source)
    for name, error in {"out": errno.EXDEV, "above": errno.EXDEV, "loop": errno.ELOOP,
                        "nowhere": errno.ENOENT, "out/x": errno.EXDEV,
                        "folder/../a": errno.ENOENT}.items():
        for call in (tree.read, tree.open, tree.stat, tree.list):
            with pytest.raises(OSError) as caught:
                call(name)
            assert caught.value.errno == error, name
            assert caught.value.filename == name


def test_listings_show_links_as_they_are(source):
    tree = forebay.files(source)
    links = {info.path: info.target for info in tree.list() if info.is_link}
    assert links == {name: os.readlink(source / name)
                     for name in os.listdir(source) if (source / name).is_symlink()}
    info = tree.stat("file", follow_symlinks=False)
    assert (info.target, info.size, info.is_dir) == ("a/b", 3, False)
    assert info.mtime == pytest.approx(os.lstat(source / "file").st_mtime)
    assert tree.list("empty/inner") == []
    assert {folder for folder, _, _ in tree.walk()} == {"", "a", "a/c", "empty", "empty/inner"}


def test_fsspec_does_as_its_local_file_system(source):
    fsspec = pytest.importorskip("fsspec")
    fs = fsspec.filesystem("forebay", source=str(source), skip_instance_cache=True)
    local = fsspec.filesystem("file")
    for name in ("file", "folder", "e", "a"):
        ours, theirs = fs.info(name), local.info(str(source / name))
        assert ours["type"] == theirs["type"] and ours.get("islink", False) == theirs["islink"]
        assert ours.get("destination") == theirs.get("destination")
    for name in ("nowhere", "loop", "out"):
        assert fs.islink(name) and not fs.exists(name)
    listed = {entry["name"]: entry for entry in fs.ls("")}
    assert listed["file"]["type"] == "file" and listed["file"]["size"] == 100
    assert listed["folder"]["type"] == "other" and listed["out"]["type"] == "other"
    assert fs.isdir("folder") and fs.cat("file") == (source / "a/b").read_bytes()
    assert fs.ls("folder", detail=False) == ["folder/c", "folder/b"]
    assert "folder/b" not in fs.find("") and "a/b" in fs.find("")


def test_a_pull_makes_links_and_empty_folders(source, tmp_path):
    target = tmp_path / "target"
    names = {str(path.relative_to(source)) for path in source.rglob("*")}
    count = sum((source / name).is_symlink() or (source / name).is_file() for name in names)
    assert pull(source, target)["files"] == count
    assert {str(path.relative_to(target)) for path in target.rglob("*")} - {".forebay-pull"} == names
    for name in names:
        if (source / name).is_symlink():
            assert os.readlink(target / name) == os.readlink(source / name)
            assert os.lstat(target / name).st_mtime_ns == os.lstat(source / name).st_mtime_ns
    assert pull(source, target)["files"] == 0
    os.unlink(source / "file")
    os.symlink("e", source / "file")
    os.unlink(target / "nowhere")
    (target / "nowhere").write_bytes(b"scribbled")
    assert pull(source, target)["files"] == 2
    assert os.readlink(target / "file") == "e" and os.readlink(target / "nowhere") == "no"
    os.unlink(source / "file")
    write_tree(source, {"file": 5})
    assert pull(source, target)["files"] == 1
    assert not (target / "file").is_symlink()
    assert (target / "e").read_bytes() == (source / "e").read_bytes()


def test_a_pull_never_writes_through_a_link(tmp_path):
    source, target, outside = (tmp_path / name for name in ("source", "target", "outside"))
    outside.mkdir()
    write_tree(source, {"x": 5})
    link(source, {"a": str(outside)})
    pull(source, target)
    assert os.readlink(target / "a") == str(outside)
    os.unlink(source / "a")
    write_tree(source, {"a/file": 5, "a/below/file": 70_000})
    pull(source, target)
    assert list(outside.iterdir()) == []
    assert not (target / "a").is_symlink()
    assert (target / "a/below/file").read_bytes() == (source / "a/below/file").read_bytes()


def test_a_pull_leaves_links_and_folders_of_others_alone(tmp_path):
    source, target, outside = (tmp_path / name for name in ("source", "target", "outside"))
    outside.mkdir()
    target.mkdir()
    write_tree(source, {"a/file": 5})
    link(target, {"a": str(outside)})
    done = run("pull", source, target, check=False)
    assert done.returncode != 0 and "is not a folder" in done.stderr
    assert list(outside.iterdir()) == [] and (target / "a").is_symlink()
    os.unlink(target / "a")
    write_tree(target, {"b/mine": 5})
    link(source, {"b": "a"})
    done = run("pull", source, target, check=False)
    assert done.returncode != 0 and "is a folder here and a link at the source" in done.stderr
    assert (target / "b/mine").exists()
    assert not [name for name in os.listdir(target) if name.startswith(".forebay-pull-")]
