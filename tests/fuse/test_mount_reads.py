"""Every way to read, at random places and by many at once, gives the source's bytes."""

import json
import os
import random
import subprocess
import time
from pathlib import Path

import pytest
from mounts import OLD, random_tree, write_files


@pytest.fixture
def mixed(tmp_path):
    """Files in packs, whole ones, and one in extents."""
    rng = random.Random(9)
    contents = random_tree(9, count=60)
    contents |= {f"large/{i}.bin": rng.randbytes(3 << 20) for i in range(4)}
    contents["huge.bin"] = rng.randbytes(1 << 20) * 80
    return write_files(tmp_path / "source", contents)


@pytest.mark.parametrize("profile", ["small", "large"])
@pytest.mark.parametrize(
    "seconds", [3, pytest.param(120, marks=[pytest.mark.slow, pytest.mark.timeout(400)])])
def test_random_reads_of_all_kinds_agree_with_a_model(mounts, publish, readers, mixed, profile,
                                                      seconds):
    mount = mounts.mount(*publish(mixed), "--profile", profile)
    with readers(mount, mixed, threads=8, seed=seconds) as reading:
        time.sleep(seconds)
    assert reading.found["errors"] == {}
    assert reading.found["operations"] > 100


def test_a_store_on_another_machine_is_read_and_not_mapped(mounts, readers, mixed, tmp_path):
    mounts.env["FOREBAY_STORE"] = f"nfs:{tmp_path}/nfs"
    mount = mounts.mount(mixed, "--profile", "large")
    with readers(mount, mixed, threads=4) as reading:
        time.sleep(1.5)
        pids = [mounts.serving_pid(mount), *mounts.node_pids()]
        maps = "".join(Path(f"/proc/{pid}/maps").read_text() for pid in pids)
    assert reading.found["errors"] == {}
    assert "memfd:forebay-chunk" in maps and str(tmp_path / "nfs") not in maps


def test_several_sources_are_folders_beside_each_other(mounts, readers, tmp_path):
    write_files(tmp_path / "all" / "train", random_tree(1, count=30))
    write_files(tmp_path / "all" / "val", random_tree(2, count=30))
    mount = mounts.mount(None, "--source", f"{tmp_path}/all/train=train",
                         "--source", f"{tmp_path}/all/val=val")
    with readers(mount, tmp_path / "all", threads=4) as reading:
        time.sleep(1.5)
    assert reading.found["errors"] == {}


@pytest.mark.parametrize("profile", ["small", "large"])
def test_fio_verifies_what_it_wrote_to_the_source(mounts, publish, tmp_path, profile):
    if subprocess.run(["which", "fio"], capture_output=True).returncode != 0:
        pytest.skip("fio is not installed")
    (tmp_path / "source").mkdir()
    what = ["--name=check", "--size=24m", "--bs=16k", "--verify=crc32c", "--output-format=json"]
    subprocess.run(["fio", *what, "--rw=write", "--do_verify=0", f"--filename={tmp_path}/source/x"],
                   check=True, capture_output=True, cwd=tmp_path)
    os.utime(tmp_path / "source/x", (OLD, OLD))
    mount = mounts.mount(*publish(tmp_path / "source"), "--profile", profile)
    for how in (["--rw=read"], ["--rw=randread"], ["--rw=randread", "--direct=1"],
                ["--rw=randread", "--ioengine=mmap"]):
        done = subprocess.run(["fio", *what, *how, "--readonly", f"--filename={mount}/x"],
                              capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]
        assert job["error"] == 0 and job["read"]["io_bytes"] == 24 << 20
