"""What a mount takes of memory has a bound, whatever is read and however many files there are."""

import os
import random
import subprocess
import threading
import time

import pytest
from mounts import write_files

MIB = 1 << 20
BASE = 48 * MIB  # of a process that has nothing open


def resident_bytes(pid):
    try:
        with open(f"/proc/{pid}/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))
    except (OSError, StopIteration):
        return 0


class Peak(threading.Thread):
    """The most that the processes behind a mount had."""

    def __init__(self, pids):
        super().__init__()
        self.pids, self.bytes, self.over = pids, 0, False

    def run(self):
        while not self.over:
            self.bytes = max(self.bytes, sum(map(resident_bytes, self.pids)))
            time.sleep(0.02)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()


def processes_of(mounts, mount):
    serving = mounts.serving_pid(mount)
    with open(f"/proc/{serving}/stat") as file:
        return [serving, int(file.read().rsplit(")", 1)[1].split()[1])]


@pytest.mark.parametrize("profile", ["small", "large"])
def test_500_files_read_at_once_stay_under_the_cap(mounts, readers, tmp_path, profile):
    rng = random.Random(8)
    source = write_files(tmp_path / "source", {f"{i:03}": rng.randbytes(MIB) for i in range(500)})
    cap = 128 * MIB
    mount = mounts.mount(source, "--profile", profile, "--memory", "128MiB")
    with Peak(processes_of(mounts, mount)) as peak:
        with readers(mount, source, threads=500, longest=65536, forget=1) as reading:
            time.sleep(3)
    print(f"peak {peak.bytes / MIB:.0f} MiB")
    assert reading.found["errors"] == {}
    assert peak.bytes <= cap + BASE


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_a_listing_of_two_million_files_stays_under_the_cap(mounts, tmp_path):
    count, per_folder = 2_000_000, 10_000
    for i in range(count // per_folder):
        folder = tmp_path / "source" / f"{i:03}"
        folder.mkdir(parents=True)
        for k in range(per_folder):
            os.close(os.open(folder / f"{k:06}.jpg", os.O_CREAT | os.O_WRONLY))
    time.sleep(2.1)
    mount = mounts.mount(tmp_path / "source", "--memory", "256MiB", "--timeout", "20m")
    with Peak(processes_of(mounts, mount)) as peak:
        done = subprocess.run(["find", mount, "-type", "f", "-printf", "x"], capture_output=True)
    assert done.returncode == 0 and len(done.stdout) == count
    print(f"peak {peak.bytes / MIB:.0f} MiB")
    assert peak.bytes <= 256 * MIB + BASE
