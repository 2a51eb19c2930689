"""Several hosts on one shared directory, in a mount namespace that ends with this process.

usage: unshare --mount scenario.py JSON    prints one JSON object: what happened, what is left

Besides what host.py reads: hosts; disk_mib (a disk of that size, else a folder); read_only
([from, to] in seconds, when the disk cannot be written).
"""

import hashlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent
HOUR = 3600


def write_objects(folder, count, size):
    """The source: digests by name."""
    folder.mkdir()
    rng, digests = random.Random(count), {}
    for i in range(count):
        data = rng.randbytes(rng.randrange(size // 2, size))
        path = folder / f"{i:03}.bin"
        path.write_bytes(data)
        os.utime(path, (1_600_000_000, 1_600_000_000))
        digests[path.name] = hashlib.sha256(data).hexdigest()
    return digests


def start_host(config, host):
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
               sys.executable, HERE / "host.py", json.dumps({**config, "host": host})]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def switch_disk(disk, read_only):
    began = time.monotonic()
    for at, how in zip(read_only, ("ro", "rw")):
        time.sleep(max(0, began + at - time.monotonic()))
        subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True)


def age(folder):
    """As if nobody had written there for two hours."""
    for top, _, files in os.walk(folder):
        for path in (top, *(os.path.join(top, name) for name in files)):
            os.utime(path, (time.time() - 2 * HOUR, time.time() - 2 * HOUR))


def debris(disk, forebay):
    """What a gc leaves, besides entries, once nobody writes any more."""
    for name in ("tmp", "trash", "locks", "files"):
        age(disk / name)
    done = subprocess.run([forebay, "store", "gc", disk], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    left = [str(p) for name in ("tmp", "trash", "locks") for p in (disk / name).rglob("*")]
    left += [str(p) for p in disk.iterdir()
             if p.name not in ("files", "tmp", "trash", "locks", "listings", "FOREBAY-SHARED")]
    # A listing has the name of what was asked for.
    left += [str(p) for p in (disk / "listings").iterdir() if len(p.name) != 32]
    # An entry is key, checksum and size.
    left += [str(p) for p in (disk / "files").glob("*/*") if p.name.count("-") != 2]
    return left


def wrong_entries(disk, digests):
    wanted = set(digests.values())
    files = [p for p in disk.glob("files/*/*/content/*") if p.is_file()]
    wrong = [str(p) for p in files if hashlib.sha256(p.read_bytes()).hexdigest() not in wanted]
    return len(files), wrong


def main():
    config = json.loads(sys.argv[1])
    folder = Path(config["folder"])
    disk = folder / "disk"
    disk.mkdir()
    if config.get("disk_mib"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={config['disk_mib']}m", "lying",
                        disk], check=True)
    digests = write_objects(folder / "source", config["count"], config["size"])
    config |= {"objects": digests, "source": str(folder / "source"), "disk": str(disk)}
    hosts = [start_host(config, i) for i in range(config["hosts"])]
    if config.get("read_only"):
        threading.Thread(target=switch_disk, args=(disk, config["read_only"])).start()
    done = [host.communicate() for host in hosts]
    crashed = [text for host, (_, text) in zip(hosts, done) if host.returncode != 0]
    assert not crashed, crashed[0]
    entries, wrong = wrong_entries(disk, digests)
    print(json.dumps({
        "hosts": [json.loads(out) for out, _ in done], "entries": entries,
        "wrong_entries": wrong, "debris": debris(disk, config["forebay"]),
        "object_bytes": sum(p.stat().st_size for p in Path(config["source"]).iterdir())}))


main()
