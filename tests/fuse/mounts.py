"""Mounts for tests: starts them, watches who serves them, and takes them away again."""

import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
from pathlib import Path

from processes import is_alive, node_pids, wait_until

HERE = Path(__file__).parent
BIN = Path(os.environ.get("FOREBAY_BIN_DIR", HERE.parents[1] / "bin"))
OLD = 1_600_000_000  # a file of a local source must be 2 s old before it is read


def why_not():
    """Why there can be no mounts here, or None."""
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "needs root and /dev/fuse"
    return None if (BIN / "forebay-mount").exists() else "forebay-mount is not built"


def write_files(folder, contents):
    """Files by their path, all of them old."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (OLD, OLD))
    return folder


class Mounts:
    """The command line with a store, a node and mounts of its own."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.runtime = Path(tempfile.mkdtemp(prefix="fb-", dir="/tmp"))  # sockets want short paths
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith(("FOREBAY_", "AWS_")) and k != "PYTHONPATH"}
        self.env = {**kept, "XDG_RUNTIME_DIR": str(self.runtime),
                    "FOREBAY_STORE": f"ssd:{self.folder}/store"}
        self.places = []

    def run(self, *arguments, check=True):
        done = subprocess.run([BIN / "forebay", *map(str, arguments)], env=self.env, text=True,
                              capture_output=True, timeout=250)
        assert done.returncode == 0 or not check, done.stderr
        return done

    def mount(self, source, *options, name="mnt"):
        """The folder where the source is mounted; without a source, as the options say."""
        place = self.folder / name
        with contextlib.suppress(FileExistsError):  # also where a dead mount is
            place.mkdir()
        self.run("mount", *([source] if source else []), place, *options)
        self.places.append(place)
        return place

    def umount(self, place):
        self.run("umount", place)
        self.places.remove(place)

    def serving_pid(self, place):
        done = self.run("mount", "--serving-pid", place, check=False)
        return int(done.stdout) if done.returncode == 0 else None

    def kill_server(self, place):
        """Kill -9 of whoever serves the mount now; its process id."""
        pid = self.serving_pid(place)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):  # dead already, the next one is to come
                os.kill(pid, signal.SIGKILL)
        return pid

    def node_pids(self):
        return node_pids(self.runtime)

    def node_status(self):
        nodes = json.loads(self.run("status", "-o", "json").stdout)["nodes"]
        assert len(nodes) == 1
        return nodes[0]

    def end(self):
        for place in list(self.places):
            subprocess.run(["umount", "-l", place], stderr=subprocess.DEVNULL)
        for pid in self.node_pids():
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda pid=pid: not is_alive(pid), f"node {pid} does not end")
        subprocess.run(["rm", "-rf", self.runtime])


class ReaderModel:
    """reader_model.cc at work between enter and exit; `found` is what it saw."""

    def __init__(self, program, mount, model, **settings):
        words = [f"{key}={value}" for key, value in settings.items()]
        self.process = subprocess.Popen([program, mount, model, *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.found = None

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        out, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, f"the readers ended with {self.process.returncode}"
        self.found = json.loads(out)
        print(self.found)


def random_tree(seed, count=200, longest=300_000):
    """Contents of a tree with every kind of name and size."""
    rng = random.Random(seed)
    words = ["a", "b c", "é", "日本語", "x" * 200, ".hidden", "-dash", "tab\there", "ümläut.jpg",
             "new\nline", "quote'\"", "a=b", "%41", "🙂"]
    contents = {}
    for i in range(count):
        depth = rng.choice([0, 1, 1, 2, 3, 8])
        folders = [rng.choice(words) + str(rng.randrange(4)) for _ in range(depth)]
        name = "/".join([*folders, f"{rng.choice(words)}-{i}"])
        size = rng.choice([0, 1, rng.randrange(100), rng.randrange(5000), 4096, 65_535, 65_536,
                           rng.randrange(longest)])
        contents[name] = rng.randbytes(size)
    return contents
