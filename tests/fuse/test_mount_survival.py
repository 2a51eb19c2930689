"""Whoever serves a mount may die at any moment: nobody who reads notices more than a pause."""

import contextlib
import mmap
import os
import random
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mounts import BIN, is_alive, wait_until, write_files

STALL_S = 2.0


@pytest.fixture
def source(tmp_path):
    rng = random.Random(11)
    contents = {f"small/{i % 10}/{i:04}": rng.randbytes(rng.randrange(40_000)) for i in range(400)}
    contents |= {f"whole/{i}": rng.randbytes(700_000) for i in range(20)}
    contents["huge"] = rng.randbytes(1 << 20) * 70
    return write_files(tmp_path / "source", contents)


def supervisor_of(mounts, mount):
    stat = Path(f"/proc/{mounts.serving_pid(mount)}/stat").read_text()
    return int(stat.rsplit(")", 1)[1].split()[1])


def kill_under_32_readers(mounts, readers, mount, source, kills):
    """What the readers found while the serving process was killed so many times."""
    rng, killed = random.Random(kills), set()
    with readers(mount, source, threads=32, seed=kills, longest=65536) as reading:
        while len(killed) < kills:
            time.sleep(rng.uniform(0.02, 0.5))
            killed.add(mounts.kill_server(mount))
            killed.discard(None)
        time.sleep(0.5)
    assert reading.found["errors"] == {}
    assert mounts.serving_pid(mount) not in killed
    return reading.found


@pytest.mark.parametrize("profile", ["small", "large"])
def test_the_serving_process_is_killed_under_32_readers(mounts, publish, readers, source, profile):
    mount = mounts.mount(*publish(source), "--profile", profile)
    kill_under_32_readers(mounts, readers, mount, source, 4)


@pytest.mark.alone
@pytest.mark.parametrize("profile", [
    pytest.param("small", marks=pytest.mark.slow), "large"])
@pytest.mark.parametrize(
    "kills", [4, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_readers_wait_at_most_two_seconds_for_a_killed_serving_process(
        mounts, publish, readers, source, profile, kills):
    mount = mounts.mount(*publish(source), "--profile", profile)
    found = kill_under_32_readers(mounts, readers, mount, source, kills)
    assert found["longest_s"] <= STALL_S


@pytest.mark.parametrize("profile", ["small", "large"])
def test_open_files_and_mappings_outlive_the_serving_process(mounts, source, profile):
    mount = mounts.mount(source, "--profile", profile)
    names = ["small/3/0003", "whole/7", "huge"]
    opened = [open(mount / name, "rb") for name in names]
    mapped = [mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) for file in opened]
    for _ in range(3):
        dead = mounts.kill_server(mount)
        wait_until(lambda: mounts.serving_pid(mount) not in (None, dead), "nobody serves it again")
        for name, file, mapping in zip(names, opened, mapped):
            wanted = (source / name).read_bytes()
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            assert os.pread(file.fileno(), len(wanted), 0) == wanted
            assert mapping[:] == wanted
    for mapping in mapped:
        mapping.close()
    for file in opened:
        file.close()


def test_the_node_may_die_under_readers(mounts, publish, readers, source):
    mount = mounts.mount(*publish(source), "--profile", "small")
    with readers(mount, source, threads=8, longest=65536) as reading:
        for _ in range(3):
            time.sleep(0.5)
            for pid in mounts.node_pids():
                os.kill(pid, 9)
        time.sleep(1)
    assert reading.found["errors"] == {}


def test_more_readers_than_can_wait_outlast_a_restart_of_the_node(mounts, tmp_path):
    contents = {f"{i:03}": random.Random(i).randbytes(100_000) for i in range(120)}
    source = write_files(tmp_path / "many", contents)
    node_socket = mounts.runtime / "n.sock"

    def start_node():
        node = subprocess.Popen([BIN / "forebay-node", "--socket", node_socket, "--store",
                                 f"ssd:{tmp_path}/node"], env=mounts.env)
        wait_until(node_socket.exists, "the node does not start")
        return node
    node = start_node()
    mount = mounts.mount(source, "--profile", "small", "--node", node_socket)
    assert (mount / "000").read_bytes() == contents["000"]
    node.kill()
    node.wait()
    node_socket.unlink()
    with ThreadPoolExecutor(len(contents)) as pool:
        reads = {name: pool.submit((mount / name).read_bytes) for name in contents}
        time.sleep(2)
        node = start_node()
        assert {name: read.result() for name, read in reads.items()} == contents
    node.terminate()
    node.wait()


def test_what_a_crash_of_everything_left_is_cleaned_by_the_next_mount(mounts, source):
    mount = mounts.mount(source)
    serving = mounts.serving_pid(mount)
    os.kill(supervisor_of(mounts, mount), 9)
    os.kill(serving, 9)

    def is_dead():
        try:
            os.listdir(mount)
        except OSError:
            return True
        return False
    wait_until(is_dead, "the mount goes on without anybody")
    assert mounts.mount(source) == mount
    assert (mount / "small/3/0003").read_bytes() == (source / "small/3/0003").read_bytes()


def test_a_mount_goes_on_when_its_program_is_gone(mounts, source, tmp_path):
    program = shutil.copy(BIN / "forebay-mount", tmp_path / "forebay-mount")
    mounts.env |= {"FOREBAY_MOUNT_BINARY": program, "FOREBAY_NODE_BINARY": str(BIN / "forebay-node")}
    mount = mounts.mount(source)
    os.unlink(program)
    mounts.kill_server(mount)
    assert (mount / "small/3/0003").read_bytes() == (source / "small/3/0003").read_bytes()
    mounts.umount(mount)


def test_a_mount_goes_on_when_its_folder_of_state_is_gone(mounts, source):
    mount = mounts.mount(source)
    supervisor = supervisor_of(mounts, mount)
    serving = mounts.serving_pid(mount)
    shutil.rmtree(mounts.runtime / "forebay/mounts")
    os.kill(serving, 9)
    assert (mount / "small/3/0003").read_bytes() == (source / "small/3/0003").read_bytes()
    mounts.umount(mount)
    wait_until(lambda: not is_alive(supervisor), "the supervisor outlives its mount")


def test_only_what_is_ours_is_unmounted(mounts, source, tmp_path):
    (tmp_path / "mnt").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "below", tmp_path / "mnt"], check=True)
    try:
        mount = mounts.mount(source)
        supervisor = supervisor_of(mounts, mount)
        opened = os.open(mount / "small/3/0003", os.O_RDONLY)
        os.kill(supervisor, signal.SIGTERM)
        wait_until(lambda: not (mount / "small").exists(), "it stays where it was")
        assert os.path.ismount(mount) and is_alive(supervisor)  # a file is open
        os.kill(supervisor, signal.SIGTERM)
        wait_until(lambda: not is_alive(supervisor), "the supervisor does not end")
        with contextlib.suppress(OSError):
            os.close(opened)
        assert os.path.ismount(mount)
        mounts.places.remove(mount)
    finally:
        subprocess.run(["umount", "-l", tmp_path / "mnt"], check=True)
    assert not os.path.ismount(tmp_path / "mnt")


def test_a_hangup_unmounts(mounts, source):
    mount = mounts.mount(source)
    supervisor = supervisor_of(mounts, mount)
    os.kill(supervisor, signal.SIGHUP)
    wait_until(lambda: not is_alive(supervisor), "the supervisor does not end")
    assert not os.path.ismount(mount)
    mounts.places.remove(mount)
