"""Mounts beside the native file system that holds the same files, and beside JuiceFS.

`bench/run mounts` runs them. They need root and /dev/fuse; FOREBAY_BENCH_FILES and
FOREBAY_BENCH_ENTRIES say how many small files and how many entries there are.
"""

import contextlib
import os
import random
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import tempfile
from pathlib import Path

from harness import BUILD, ROOT, ROUNDS, timed
from s3_place import S3Place

TOOL = BUILD / "bench" / "mount_bench"
FILES = int(os.environ.get("FOREBAY_BENCH_FILES", "100000"))
ENTRIES = int(os.environ.get("FOREBAY_BENCH_ENTRIES", "1000000"))
MIB = 1 << 20
OLD = 1_600_000_000


class Place:
    """A folder with a store, a node and a mount of its own, while it lasts."""

    def __init__(self, bench, name, store=None):
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=bench.folder))
        self.runtime = Path(tempfile.mkdtemp(prefix="fb-", dir="/tmp"))
        self.mount_point = self.folder / "mnt"
        self.mount_point.mkdir()
        store = store or f"ssd:{self.folder}/store"
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(self.runtime), "FOREBAY_STORE": store}

    def forebay(self, *words):
        done = subprocess.run([ROOT / "bin" / "forebay", *map(str, words)], env=self.env,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout

    def mount(self, source, *options):
        self.forebay("mount", source, self.mount_point, *options)
        return self.mount_point

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.mount_point], stderr=subprocess.DEVNULL)
        for path in self.runtime.glob("forebay/*.sock"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
                with contextlib.suppress(OSError):
                    link.connect(str(path))
                    who = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                    os.kill(struct.unpack("3i", who)[0], signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.runtime, ignore_errors=True)


def measured(how, path, *words, names=()):
    """Seconds, as the tool counted them."""
    done = subprocess.run([TOOL, how, path, *map(str, words)], input="\n".join(names), text=True,
                          capture_output=True, check=True)
    return float(done.stdout)


def medians(ours, theirs, rounds=ROUNDS):
    """Of theirs ÷ ours, interleaved; both give seconds."""
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return (statistics.median(b / a for a, b in pairs), statistics.median(a for a, _ in pairs),
            statistics.median(b for _, b in pairs))


def write_file(path, size, seed=1):
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    with open(path, "wb") as file:
        for _ in range(size // MIB):
            file.write(rng.randbytes(MIB))
        file.write(rng.randbytes(size % MIB))
    os.utime(path, (OLD, OLD))


def is_possible():
    if os.geteuid() == 0 and os.access("/dev/fuse", os.R_OK | os.W_OK):
        return True
    print("skipped: mounts need root and /dev/fuse")
    return False


def bench_passthrough(bench):
    if not is_possible():
        return
    with Place(bench, "whole") as place:
        source, names = place.folder / "source", [f"{i}.bin" for i in range(8)]
        for i, name in enumerate(names):
            write_file(source / name, 60 * MIB, i)
        mount = place.mount(source, "--profile", "large")
        measured("sequential", mount, names=names)
        value, a, b = medians(lambda: measured("sequential", mount, names=names),
                              lambda: measured("sequential", source, names=names))
        size = len(names) * 60 / 1024
        bench.report("mount: warm sequential read, passthrough", value,
                     f"× native ({size / b:.1f} GiB/s; ours {size / a:.1f})", 0.95)
        count = 200_000
        value, a, b = medians(lambda: measured("random", mount / "3.bin", count),
                              lambda: measured("random", source / "3.bin", count))
        bench.report("mount: warm random 4 KiB, passthrough", value,
                     f"× native ({count / b / 1e3:.0f} k/s; ours {count / a / 1e3:.0f})", 0.90)


def small_files(folder, count=FILES, size=32 * 1024):
    """Names of small files, in an order of their own."""
    names = [f"{i % 100:02}/{i:06}.jpg" for i in range(count)]
    block = random.Random(1).randbytes(size + count)
    for i in range(100):
        (folder / f"{i:02}").mkdir(parents=True, exist_ok=True)
    for i, name in enumerate(names):
        with open(folder / name, "wb") as file:
            file.write(block[i:i + size])
        os.utime(folder / name, (OLD, OLD))
    random.Random(2).shuffle(names)
    return names


def bench_small_files(bench):
    if not is_possible():
        return
    with Place(bench, "small") as place:
        source = place.folder / "source"
        names = small_files(source)
        mount = place.mount(source, "--profile", "small")
        measured("files", source, names=names), measured("files", mount, names=names)
        value, a, b = medians(lambda: measured("files", mount, names=names),
                              lambda: measured("files", source, names=names))
        speed = f"({len(names) / b / 1e3:.0f} k files/s; ours {len(names) / a / 1e3:.0f})"
        bench.report(f"mount: {len(names)} files of 32 KiB, warm", value, f"× native {speed}", 0.60)
        bench_juicefs(bench, place, source, names, len(names) / a)


def bench_juicefs(bench, place, source, names, ours):
    program = ROOT / "build" / "rivals" / "juicefs" / "juicefs"
    if not program.exists():
        print("skipped: juicefs is not there (tools/setup-bench)")
        return
    names = names[:20_000]
    meta, folder = f"sqlite3://{place.folder}/juicefs.db", place.folder / "juicefs"
    folder.mkdir()
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([program, "format", "--storage", "file", "--bucket", f"{place.folder}/objects/",
                    meta, "bench"], **quiet)
    server = subprocess.Popen([program, "mount", "--no-usage-report", "--cache-dir",
                               place.folder / "jcache", meta, folder],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not os.path.ismount(folder):
            if server.poll() is not None:
                raise RuntimeError("juicefs does not mount")
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(source / name, folder / name)
        times = [measured("files", folder, names=names) for _ in range(3)]
        theirs = len(names) / times[2]
        bench.report("  the same", ours / theirs, f"× JuiceFS, third pass ({theirs:.0f} files/s)", 30)
    finally:
        subprocess.run(["umount", "-l", folder], stderr=subprocess.DEVNULL)
        server.terminate()
        server.wait(30)


def bench_extents(bench):
    """Both sides are memory: the store's memory tier, and a file on tmpfs."""
    if not is_possible():
        return
    with Place(bench, "extents", store="mem:2GiB") as place:
        native = Path(tempfile.mkdtemp(dir="/dev/shm"))
        try:
            write_file(native / "large.bin", 512 * MIB)
            mount = place.mount(native)
            names = ["large.bin"]
            measured("sequential", mount, names=names)
            value, a, b = medians(lambda: measured("sequential", mount, "direct", names=names),
                                  lambda: measured("sequential", native, names=names))
            bench.report("mount: extents in memory, 1 MiB direct reads", value,
                         f"× tmpfs ({0.5 / b:.1f} GiB/s; ours {0.5 / a:.1f})", 0.6)
        finally:
            shutil.rmtree(native)


def bench_find(bench):
    if not is_possible():
        return
    with Place(bench, "find") as place:
        source = place.folder / "source"
        for i in range(ENTRIES // 1000):
            folder = source / f"{i // 100:02}" / f"{i % 100:02}"
            folder.mkdir(parents=True)
            for k in range(1000):
                os.close(os.open(folder / f"{k:04}.jpg", os.O_CREAT | os.O_WRONLY))
        mount = place.mount(source, "--timeout", "20m")

        def find(folder):
            return timed(lambda: subprocess.run(["find", folder], check=True,
                                                stdout=subprocess.DEVNULL))
        find(mount), find(source)
        value, a, b = medians(lambda: find(mount), lambda: find(source), rounds=3)
        bench.report(f"mount: find over {ENTRIES} entries, warm", value,
                     f"× native ({b:.2f} s; ours {a:.2f} s)", 0.5)


def bench_cold(bench):
    """A fresh store each round; theirs reads ranges of 16 MiB by as many threads as do best."""
    if not is_possible():
        return
    size = 512 * MIB
    with S3Place(bench.folder) as server:
        server.put_random("large", "large.bin", size)

        def ours(*how):
            with Place(bench, "cold") as place:
                mount = place.mount("s3://large", *server.options())
                return measured("sequential", mount, *how, names=["large.bin"])

        def theirs():
            return min(timed(lambda: server.download("large/large.bin", size, threads))
                       for threads in (4, 8))
        for name, how in (("1 MiB direct reads", ["direct"]), ("through the page cache", [])):
            value, a, b = medians(lambda: ours(*how), theirs)
            speeds = f"({size / MIB / b:.0f} MiB/s; ours {size / MIB / a:.0f})"
            bench.report(f"mount: cold object, {name}", value, f"× parallel ranges {speeds}", 0.9)


BENCHES = {
    "mounts-passthrough": bench_passthrough,
    "mounts-small-files": bench_small_files,
    "mounts-extents": bench_extents,
    "mounts-find": bench_find,
    "mounts-cold": bench_cold,
}
