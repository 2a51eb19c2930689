"""Re-enacts "What is promised" of docs/mounts.md."""

import contextlib
import errno
import json
import mmap
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import pytest
from mounts import BIN, OLD, is_alive, random_tree, wait_until, write_files
from s3_server import S3Server

MIB = 1 << 20
PROFILES = pytest.mark.parametrize("profile", ["small", "large"])


@contextlib.contextmanager
def stopped(pid):
    """A process that does nothing meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def refresh(mounts, place):
    return json.loads(mounts.run("refresh", place, "-o", "json").stdout)


def read_within(path, seconds):
    """The bytes, read by a process of its own that is given so long."""
    done = subprocess.run(["cat", path], capture_output=True, timeout=seconds, check=True)
    return done.stdout


def test_a_bucket_is_mounted_with_its_etags(mounts, tmp_path):
    with S3Server(tmp_path / "s3") as server:
        contents = {"a/b.jpg": b"1" * 1000, "a/c/d.bin": os.urandom(3 * MIB), "top": b""}
        server.make_bucket("images")
        for key, data in contents.items():
            server.put("images", key, data)
        place = mounts.mount("s3://images", *server.options())
        for key, data in contents.items():
            assert (place / key).read_bytes() == data
        etag = os.getxattr(place / "a/b.jpg", "user.forebay.etag")
        assert len(etag) >= 32
        assert "user.forebay.etag" in os.listxattr(place / "a/b.jpg")
        with pytest.raises(OSError) as none:
            os.getxattr(place / "a/b.jpg", "user.other")
        assert none.value.errno == errno.ENODATA
        mounts.umount(place)


@PROFILES
def test_everything_is_read_only(mounts, tmp_path, profile):
    source = write_files(tmp_path / "source", {"d/f": b"x"})
    place = mounts.mount(source, "--profile", profile)
    attempts = [
        lambda: (place / "new").write_bytes(b""), lambda: (place / "d/f").write_bytes(b"y"),
        lambda: (place / "d/f").unlink(), lambda: (place / "d").rmdir(),
        lambda: (place / "e").mkdir(), lambda: (place / "d/f").rename(place / "g"),
        lambda: os.utime(place / "d/f"), lambda: (place / "d/f").chmod(0o777),
        lambda: os.truncate(place / "d/f", 0), lambda: os.link(place / "d/f", place / "g"),
        lambda: os.symlink("x", place / "g"), lambda: os.open(place / "d/f", os.O_RDWR),
        lambda: os.setxattr(place / "d/f", "user.x", b"1")]
    for attempt in attempts:
        with pytest.raises(OSError) as refused:
            attempt()
        assert refused.value.errno == errno.EROFS
    assert (place / "d/f").read_bytes() == b"x"


def test_no_file_may_be_executed(mounts, tmp_path):
    source = write_files(tmp_path / "source", {"tool": b"#!/bin/true\n"})
    (source / "tool").chmod(0o755)
    place = mounts.mount(source)
    assert os.access(place / "tool", os.R_OK) and not os.access(place / "tool", os.X_OK)
    assert os.access(place, os.X_OK)


def test_stat_and_statfs_are_right(mounts, tmp_path):
    source = write_files(tmp_path / "source", {"d/a": b"x" * 5000, "d/e/b": b"", "c": b"1"})
    place = mounts.mount(source)
    info = (place / "d/a").stat()
    assert info.st_size == 5000 and info.st_blocks == 10 and info.st_nlink == 1
    assert info.st_mtime == OLD and stat.S_IMODE(info.st_mode) == 0o444
    folder = (place / "d").stat()
    assert stat.S_ISDIR(folder.st_mode) and folder.st_nlink == 3
    assert stat.S_IMODE(folder.st_mode) == 0o555 and folder.st_mtime == OLD
    room = os.statvfs(place)
    assert room.f_bavail == 0 and room.f_blocks * room.f_frsize >= 5001
    assert room.f_files == 6 and room.f_flag & os.ST_RDONLY
    inodes = [path.stat().st_ino for path in [place, *place.rglob("*")]]
    assert len(set(inodes)) == 6
    listed = {entry.name: entry.inode() for entry in os.scandir(place / "d")}
    assert listed == {name: (place / "d" / name).stat().st_ino for name in ("a", "e")}


@PROFILES
def test_a_refresh_moves_paths_and_leaves_open_files_alone(mounts, tmp_path, profile):
    old, new = os.urandom(300_000), os.urandom(200_000)
    source = write_files(tmp_path / "source", {
        "d/changes": old, "d/stays": b"same", "d/goes": b"gone", "d/sub/x": b"x"})
    place = mounts.mount(source, "--profile", profile)
    before = {name: (place / "d" / name).stat().st_ino for name in os.listdir(place / "d")}
    assert not (place / "d/comes").exists()  # which the kernel remembers
    with (place / "d/changes").open("rb") as changes, (place / "d/goes").open("rb") as goes:
        mapped = mmap.mmap(changes.fileno(), 0, prot=mmap.PROT_READ)
        assert changes.read(1000) == old[:1000] and goes.read() == b"gone"
        (source / "d/goes").unlink()
        (source / "d/sub/x").unlink()
        (source / "d/sub").rmdir()
        (source / "d/changes").unlink()
        write_files(source, {"d/changes": new, "d/comes": b"came", "d/new/y": b"y"})
        assert sorted(os.listdir(place / "d")) == sorted(before)
        assert not (place / "d/comes").exists(), "a version stays until it is refreshed"
        assert refresh(mounts, place) == {"added": 2, "changed": 1, "removed": 2}
        assert sorted(os.listdir(place / "d")) == ["changes", "comes", "new", "stays"]
        assert (place / "d/changes").read_bytes() == new
        assert (place / "d/comes").read_bytes() == b"came"
        assert (place / "d/new/y").read_bytes() == b"y"
        with pytest.raises(FileNotFoundError):
            (place / "d/goes").stat()
        after = {name: (place / "d" / name).stat().st_ino for name in os.listdir(place / "d")}
        assert after["stays"] == before["stays"] and after["changes"] != before["changes"]
        # What was cached of the old version is there; nothing of the new one is.
        assert mapped[:] == old and changes.read() == old[1000:]
        goes.seek(0)
        assert goes.read() == b"gone"
    assert refresh(mounts, place) == {"added": 0, "changed": 0, "removed": 0}


def test_inodes_and_versions_outlive_the_serving_process(mounts, tmp_path):
    source = write_files(tmp_path / "source", random_tree(5, count=40))
    place = mounts.mount(source)
    write_files(source, {"later": b"1"})
    refresh(mounts, place)
    before = {path: path.stat().st_ino for path in place.rglob("*")}
    write_files(source, {"much later": b"2"})
    pid = mounts.kill_server(place)
    wait_until(lambda: mounts.serving_pid(place) not in (None, pid), "nobody serves")
    with contextlib.suppress(OSError):  # where a container forbids it
        Path("/proc/sys/vm/drop_caches").write_text("2")  # names and inodes
    assert {path: path.stat().st_ino for path in place.rglob("*")} == before
    assert (place / "later").read_bytes() == b"1"


def test_opening_a_cached_small_file_asks_nobody(mounts, tmp_path):
    source = write_files(tmp_path / "source", {f"{i}": bytes([i]) * 20_000 for i in range(9)})
    place = mounts.mount(source, "--profile", "small")
    for i in range(9):
        assert (place / f"{i}").read_bytes() == bytes([i]) * 20_000
    with stopped(mounts.serving_pid(place)):
        for i in range(9):
            assert read_within(place / f"{i}", 10) == bytes([i]) * 20_000


def test_the_kernel_reads_whole_files_without_us(mounts, tmp_path):
    data = os.urandom(8 * MIB)
    source = write_files(tmp_path / "source", {"whole": data})
    place = mounts.mount(source, "--profile", "large")
    fd = os.open(place / "whole", os.O_RDONLY)
    try:
        with stopped(mounts.serving_pid(place)):
            done = subprocess.run(["cat"], stdin=fd, capture_output=True, timeout=10)
            assert done.stdout == data
    finally:
        os.close(fd)


@PROFILES
def test_direct_reads_mappings_and_sendfile(mounts, tmp_path, profile):
    data = os.urandom(3 * MIB + 77)
    source = write_files(tmp_path / "source", {"f": data})
    place = mounts.mount(source, "--profile", profile)
    fd = os.open(place / "f", os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, 4 * MIB)
    assert os.readv(fd, [buffer]) == len(data) and buffer[:len(data)] == data
    os.close(fd)
    with (place / "f").open("rb") as file:
        for kind in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
            with mmap.mmap(file.fileno(), 0, kind, mmap.PROT_READ) as mapped:
                assert mapped[:] == data
        here, there = socket.socketpair()
        with here, there:
            sent = os.sendfile(here.fileno(), file.fileno(), MIB, 50_000)
            assert there.recv(sent, socket.MSG_WAITALL) == data[MIB:MIB + sent]


@PROFILES
def test_who_waits_for_a_file_can_be_killed(mounts, tmp_path, profile):
    source = write_files(tmp_path / "source", {"f": b"x" * MIB, "g": b"y" * MIB})
    place = mounts.mount(source, "--profile", profile)
    with stopped(mounts.node_pids()[0]):
        reader = subprocess.Popen(["cat", place / "f"], stdout=subprocess.PIPE)
        # Until it waits for its first byte, when open or read was asked for.
        state = Path(f"/proc/{reader.pid}/wchan")
        wait_until(lambda: any(w in state.read_text() for w in ("request_wait", "folio")),
                   "it does not wait")
        time.sleep(0.1)  # until the serving process has taken the request
        assert reader.poll() is None
        reader.kill()
        assert reader.wait(10) == -signal.SIGKILL
    assert (place / "g").read_bytes() == b"y" * MIB
    assert (place / "f").read_bytes() == b"x" * MIB


def test_a_mount_in_use_stays_and_a_lazy_one_goes_with_its_last_file(mounts, tmp_path):
    source = write_files(tmp_path / "source", {"f": b"x" * 300_000})
    place = mounts.mount(source)
    file = (place / "f").open("rb")
    busy = mounts.run("umount", place, check=False)
    assert busy.returncode == 8 and "in use" in busy.stderr
    assert file.read(5) == b"xxxxx"
    server = mounts.serving_pid(place)
    mounts.run("umount", "--lazy", place)
    assert os.listdir(place) == [] and file.read(5) == b"xxxxx"
    mounts.mount(source)  # at the same place, while the other one lives
    os.kill(server, signal.SIGKILL)
    assert mounts.serving_pid(place) != server and (place / "f").stat().st_size == 300_000
    assert file.read() == b"x" * 299_990
    assert refresh(mounts, place) == {"added": 0, "changed": 0, "removed": 0}
    file.close()
    states = mounts.runtime / "forebay/mounts"
    wait_until(lambda: len(os.listdir(states)) == 1, "the state of the first one stays")
    mounts.umount(place)
    assert os.listdir(states) == []


def test_what_cannot_be_mounted_is_said_in_a_sentence(mounts, tmp_path):
    source = write_files(tmp_path / "source", {"f": b"x"})
    place = mounts.mount(source)
    nowhere = tmp_path / "nowhere"
    cases = [((source, place), 2, "mounted already"), ((source, nowhere), 3, "nowhere"),
             ((source,), 2, "SOURCE DIR"), (("--source", source, place), 2, "URI=NAME"),
             (("--source", f"{source}=a/b", place), 2, "plain name"),
             (("--serving-pid", tmp_path), 3, "no mount"),
             ((source, source), 2, "lie in each other"),
             ((tmp_path, place), 2, "lie in each other"),
             ((source, place, "--memory", "lots"), 2, "lots"),
             ((source, place, "--memory", "1KiB"), 2, "64MiB"),
             ((source, place, "--memory", "20"), 2, "20 what? write 20GiB"),
             ((source, ""), 2, "directory")]
    for words, code, text in cases:
        done = mounts.run("mount", *words, check=False)
        assert done.returncode == code and text in done.stderr, (words, done)
        assert done.stderr.count("\n") == 1, done.stderr
    (tmp_path / "other").mkdir()
    missing = mounts.run("mount", tmp_path / "missing", tmp_path / "other", check=False)
    assert missing.returncode == 3 and "missing" in missing.stderr
    assert mounts.run("umount", tmp_path / "other", check=False).returncode == 3
    assert mounts.run("refresh", tmp_path / "other", check=False).returncode == 3


def test_a_mount_in_the_foreground_ends_with_its_process(mounts, tmp_path):
    source = write_files(tmp_path / "source", {"f": b"x"})
    place = tmp_path / "mnt"
    place.mkdir()
    command = [BIN / "forebay", "mount", "--foreground", source, place]
    process = subprocess.Popen(command, env=mounts.env, stderr=subprocess.PIPE, text=True)
    mounts.places.append(place)
    wait_until(lambda: (place / "f").exists(), "it does not answer")
    server = mounts.serving_pid(place)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0, process.stderr.read()
    assert not is_alive(server) and os.listdir(place) == []


# In mounts of its own, where everybody may open the device.
AS_USER = """set -e
mknod {home}/device c 10 229
chmod 666 {home}/device
mount --bind {home}/device /dev/fuse
exec setpriv --reuid {uid} --regid {gid} --clear-groups sh -ec '
    forebay mount --profile large {home}/source {home}/mnt
    diff -r {home}/source {home}/mnt
    kill -9 $(forebay mount --serving-pid {home}/mnt)
    cat {home}/mnt/a/b > {home}/copy
    echo later > {home}/source/later
    touch -d "1 minute ago" {home}/source/later
    forebay refresh {home}/mnt
    cat {home}/mnt/later
    forebay umount {home}/mnt'
"""


def test_without_privilege_fusermount3_mounts(mounts):
    for program in ("fusermount3", "unshare", "setpriv"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    user = pwd.getpwnam("nobody")
    contents = {"a/b": os.urandom(70_000), "c": b"2"}
    home = mounts.runtime
    write_files(home / "source", contents)
    (home / "mnt").mkdir()
    for path in [home, *home.rglob("*")]:
        os.chown(path, user.pw_uid, user.pw_gid)
    env = {**mounts.env, "HOME": str(home), "FOREBAY_STORE": f"ssd:{home}/store",
           "PATH": f"{BIN}:{os.environ['PATH']}"}
    try:
        subprocess.run([BIN / "forebay", "version"], user=user.pw_uid, cwd="/",
                       capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("other users cannot run the programs of this checkout")
    script = AS_USER.format(home=home, uid=user.pw_uid, gid=user.pw_gid)
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], env=env, cwd="/", text=True,
                          capture_output=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1 files added, 0 changed, 0 removed", "later"]
    assert (home / "copy").read_bytes() == contents["a/b"]


def test_more_sources_than_a_mount_can_number_are_refused(mounts, tmp_path):
    words = [word for i in range(256) for word in ("--source", f"/nowhere/{i}=n{i}")]
    done = mounts.run("mount", *words, tmp_path, check=False)
    assert done.returncode != 0
    assert "255 sources" in done.stderr


def test_a_store_is_relative_to_where_the_mount_was_asked_for(mounts, tmp_path, monkeypatch):
    source = write_files(tmp_path / "source", {"f": b"x" * 100_000})
    monkeypatch.chdir(tmp_path)
    mounts.env["FOREBAY_STORE"] = "ssd:./near"
    place = mounts.mount(source)
    assert (place / "f").read_bytes() == b"x" * 100_000
    assert any((tmp_path / "near").iterdir())


@pytest.mark.parametrize("signal_sent", [signal.SIGINT, signal.SIGTERM])
def test_a_mount_that_is_interrupted_while_it_begins_is_none(mounts, tmp_path, signal_sent):
    """The source does not answer until it is too late."""
    with S3Server(tmp_path / "s3") as server:
        server.make_bucket("slow")
        server.put("slow", "file", b"1")
        place = tmp_path / "mnt"
        place.mkdir()
        with stopped(server.process.pid):
            begun = subprocess.Popen([BIN / "forebay", "mount", "s3://slow", place,
                                      *server.options()], env=mounts.env,
                                     preexec_fn=lambda: signal.signal(signal_sent, signal.SIG_DFL))
            folders = mounts.runtime / "forebay/mounts"
            wait_until(lambda: list(folders.glob("*/serving")), "nobody serves")
            serving = int(next(folders.glob("*/serving")).read_text())
            begun.send_signal(signal_sent)
            assert begun.wait(timeout=10) != 0
        wait_until(lambda: not is_alive(serving), "who was to serve lives on")
        wait_until(lambda: not list(folders.glob("*/serving")), "the mount lives on")
        assert not os.path.ismount(place)
