"""Where something is mounted, or cannot be."""

import contextlib
import os

from mounts import write_files
from processes import is_alive, wait_until


def test_a_dead_mount_that_was_looked_at_is_cleaned_by_the_next_one(mounts, tmp_path):
    source = write_files(tmp_path / "source", {"a": b"a"})
    mount = mounts.mount(source)
    os.stat(mount)  # what the kernel remembers from now on says nothing about who lives
    serving = mounts.serving_pid(mount)
    status = open(f"/proc/{serving}/status").read()
    supervisor = int(status.split("PPid:")[1].split()[0])
    for pid in (supervisor, serving):
        with contextlib.suppress(ProcessLookupError):  # the second may go with the first
            os.kill(pid, 9)
        wait_until(lambda pid=pid: not is_alive(pid), f"{pid} does not die")
    os.stat(mount)
    assert mounts.mount(source) == mount
    assert (mount / "a").read_bytes() == b"a"


def test_a_file_is_no_place_to_mount_at(mounts, tmp_path):
    source = write_files(tmp_path / "source", {"a": b"a"})
    (tmp_path / "file").write_bytes(b"")
    refused = mounts.run("mount", source, tmp_path / "file", check=False)
    assert refused.returncode == 2
    assert refused.stderr == f"forebay: {tmp_path}/file is not a folder: give one to mount at\n"
