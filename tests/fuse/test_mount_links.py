"""Symbolic links and empty folders of a source in its mount."""

import os
import stat
import subprocess

import pytest
from mounts import write_files

LINKS = {"to_file": "a/b.txt", "a/up": "../c.txt", "to_folder": "a", "nowhere": "no/such",
         "self": "self", "far": "/etc/hostname", "chain": "to_file", "long": "x" * 4095}


@pytest.fixture
def source(tmp_path):
    folder = write_files(tmp_path / "source", {"a/b.txt": b"bytes of b", "c.txt": b"bytes of c"})
    (folder / "empty/inner").mkdir(parents=True)
    for name, target in LINKS.items():
        os.symlink(target, folder / name)
    return folder


@pytest.mark.parametrize("profile", ["small", "large"])
def test_links_are_links_and_the_kernel_follows_them(mounts, source, profile):
    mount = mounts.mount(source, "--profile", profile)
    for name, target in LINKS.items():
        for _ in range(2):
            assert os.readlink(mount / name) == target
        info = os.lstat(mount / name)
        assert stat.S_ISLNK(info.st_mode) and info.st_size == len(target) and info.st_nlink == 1
        assert info.st_mtime_ns == os.lstat(source / name).st_mtime_ns
    assert (mount / "to_file").read_bytes() == b"bytes of b"
    assert (mount / "chain").read_bytes() == b"bytes of b"
    assert (mount / "to_folder/up").read_bytes() == b"bytes of c"
    assert sorted(os.listdir(mount / "to_folder")) == ["b.txt", "up"]
    types = {entry.name: entry.is_symlink() for entry in os.scandir(mount)}
    assert types == {entry.name: entry.is_symlink() for entry in os.scandir(source)}
    for name, error in {"nowhere": FileNotFoundError, "self": OSError}.items():
        with pytest.raises(error):
            (mount / name).read_bytes()
    with pytest.raises(OSError):
        os.symlink("x", mount / "new")
    with pytest.raises(OSError):
        os.unlink(mount / "to_file")


def test_a_symlinked_root_is_followed(mounts, source, tmp_path):
    os.symlink(source, tmp_path / "link")
    mount = mounts.mount(tmp_path / "link")
    assert (mount / "to_file").read_bytes() == b"bytes of b"


def test_links_can_be_followed_at_the_source_instead(mounts, tmp_path):
    folder = write_files(tmp_path / "source", {"a": b"1"})
    write_files(tmp_path / "elsewhere", {"b": b"22"})
    os.symlink("../elsewhere", folder / "link")
    mount = mounts.mount(folder, "-O", "file.links=follow")
    assert not (mount / "link").is_symlink()
    assert (mount / "link/b").read_bytes() == b"22"


def test_empty_folders_are_there(mounts, source):
    mount = mounts.mount(source)
    assert (mount / "empty/inner").is_dir() and os.listdir(mount / "empty/inner") == []
    assert os.lstat(mount / "empty/inner").st_nlink == 2
    assert os.lstat(mount / "empty").st_nlink == 3


def test_tools_copy_links_as_links(mounts, source, tmp_path):
    mount = mounts.mount(source)
    subprocess.run(["cp", "-a", f"{mount}/.", tmp_path / "copy"], check=True)
    for name, target in LINKS.items():
        assert os.readlink(tmp_path / "copy" / name) == target
    done = subprocess.run(["find", mount, "-type", "l"], text=True, capture_output=True, check=True)
    assert len(done.stdout.split()) == len(LINKS)


def test_a_refresh_moves_links(mounts, source):
    mount = mounts.mount(source)
    assert (mount / "to_file").read_bytes() == b"bytes of b"
    assert (mount / "to_folder/b.txt").read_bytes() == b"bytes of b"
    before = {name: os.lstat(mount / name).st_ino for name in LINKS}
    for name in ("to_file", "to_folder", "nowhere"):
        os.unlink(source / name)
    os.symlink("c.txt", source / "to_file")
    write_files(source, {"to_folder/own": b"own", "nowhere": b"a file now"})
    os.rmdir(source / "empty/inner")
    mounts.run("refresh", mount)
    assert os.readlink(mount / "to_file") == "c.txt"
    assert (mount / "to_file").read_bytes() == b"bytes of c"
    assert os.listdir(mount / "to_folder") == ["own"] and not (mount / "to_folder").is_symlink()
    assert (mount / "nowhere").read_bytes() == b"a file now"
    assert os.listdir(mount / "empty") == []
    after = {name: os.lstat(mount / name).st_ino for name in LINKS}
    moved = {name for name in LINKS if before[name] != after[name]}
    assert moved == {"to_file", "to_folder", "nowhere"}
    mounts.kill_server(mount)
    assert os.readlink(mount / "to_file") == "c.txt" and os.readlink(mount / "self") == "self"
