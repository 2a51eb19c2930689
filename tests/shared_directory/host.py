"""One "host" of the tests of shared directories: runs in PID and mount namespaces of its own,
mounts the file server through lying_fs, and uses the directory from several processes at once.

usage: host.py JSON    prints one JSON object: what happened
"""

import collections
import hashlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

RETRY = 3  # a reader that meets a stale handle or an evicted file asks again


class Host:
    def __init__(self, config):
        self.config = config
        self.folder = Path(config["folder"], f"host{config['host']}")
        self.runtime = Path(config["runtime"], str(config["host"]))
        for path in (self.folder, self.runtime, self.folder / "shared"):
            path.mkdir(parents=True, exist_ok=True)
        self.shared = self.folder / "shared"
        self.outcomes = collections.Counter()
        self.failures, self.wrong = [], []
        self.lock = threading.Lock()
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(self.runtime),
                    "XDG_CACHE_HOME": str(self.folder / "cache"),
                    "FOREBAY_STORE": f"ssd:{self.folder}/store"}

    def mount(self):
        command = [self.config["lying_fs"], self.config["disk"], self.shared,
                   *self.config["behaviour"], f"seed={self.config['host']}"]
        self.server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while not os.path.ismount(self.shared):
            assert time.monotonic() < end, "lying_fs does not mount"
            time.sleep(0.02)

    def forebay(self, *arguments, kill_after=None):
        """(outcome, text): ok and what it printed, killed, or failed and why."""
        command = [self.config["forebay"], *map(str, arguments)]
        process = subprocess.Popen(command, env=self.env, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        try:
            out, error = process.communicate(timeout=kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return "killed", ""
        return ("ok", out.strip()) if process.returncode == 0 else ("failed", error.strip())

    def note(self, outcome, text=""):
        with self.lock:
            self.outcomes[outcome] += 1
            if outcome == "failed":
                self.failures.append(text)
            if outcome == "wrong":
                self.wrong.append(text)

    def check(self, name, path):
        """Whether the file could be read; bytes that are not the object's are noted."""
        try:
            data = Path(path).read_bytes()
        except OSError:
            return False
        right = hashlib.sha256(data).hexdigest() == self.config["objects"][name]
        self.note("right" if right else "wrong", f"{name} at {path}: {len(data)} bytes")
        return True

    def use(self, rng, name, worker):
        source = f"{self.config['source']}/{name}"
        kill_after = rng.uniform(0, 0.3) if rng.random() < self.config["kill"] else None
        target = self.folder / f"copy{worker}"
        verb = (["pull", source, target] if rng.random() < 0.3 else ["path", source])
        for _ in range(RETRY):
            outcome, text = self.forebay(*verb, "--shared", self.shared, kill_after=kill_after)
            path = target if verb[0] == "pull" else text
            if outcome != "ok" or self.check(name, path):
                break
        self.note(outcome, text)

    def work(self, worker):
        rng = random.Random(self.config["host"] * 100 + worker)
        end = time.monotonic() + self.config["seconds"]
        names = sorted(self.config["objects"])
        rng.shuffle(names)
        for turn in range(self.config["turns"]):
            if time.monotonic() > end:
                break
            if rng.random() < self.config["gc"]:
                outcome, text = self.forebay("store", "gc", self.shared, "--grace", "1s",
                                             "--keep-free", self.config["keep_free"])
                self.note("gc" if outcome == "ok" else "gc " + outcome, text)
            self.use(rng, names[turn % len(names)], worker)

    def source_bytes(self):
        outcome, text = self.forebay("status", "-o", "json")
        return sum(n["source_bytes"] for n in json.loads(text)["nodes"]) if outcome == "ok" else 0

    def run(self):
        self.mount()
        workers = [threading.Thread(target=self.work, args=(i,))
                   for i in range(self.config["workers"])]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return {"outcomes": self.outcomes, "failures": self.failures, "wrong": self.wrong,
                "source_bytes": self.source_bytes()}


print(json.dumps(Host(json.loads(sys.argv[1])).run()))
