"""Trees of files: warm-up, pull and fsspec beside the tools people use, each ratio measured in
one run against a real S3 server and the native file system.

    bench/files.py [--count 4000] [--parts warmup,opens,pull] [--s3fs PYTHON]

Needs versitygw (tools/setup-test); compares with `aws s3 sync` where aws is installed, with
rclone where tools/setup-bench installed it, and with s3fs where PYTHON has it. Prints one JSON
object.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.fs

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import fsspec  # noqa: E402

import forebay  # noqa: E402

KEY, SECRET, REGION = "FOREBAYTESTKEY", "FOREBAYTESTSECRET", "us-east-1"
RCLONE = ROOT / "build" / "rivals" / "rclone" / "bin" / "rclone"
SMALL, MEDIUM = 20 * 1024, 32 * 1024

S3FS = """
import fsspec, json, sys, time
fs = fsspec.filesystem("s3", key=%r, secret=%r, client_kwargs={"endpoint_url": sys.argv[1]},
                       config_kwargs={"region_name": %r})
paths = json.load(sys.stdin)
start = time.perf_counter()
for path in paths:
    with fs.open("files/" + path) as file:
        file.read()
print((time.perf_counter() - start) / len(paths))
""" % (KEY, SECRET, REGION)


def serve(folder):
    """(process, endpoint) of an S3 server."""
    tools = os.environ.get("FOREBAY_TOOLS", Path.home() / ".cache/forebay-dev/tools")
    server = shutil.which("versitygw", path=str(tools))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "data").mkdir()
    process = subprocess.Popen(
        [server, "--quiet", "--keep-alive", "--port", f"127.0.0.1:{port}", "posix",
         folder / "data"], cwd=folder,
        env={**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        with socket.socket() as link:
            if link.connect_ex(("127.0.0.1", port)) == 0:
                return process, f"http://127.0.0.1:{port}"
        time.sleep(0.05)


def write_tree(folder, count, size):
    rng = random.Random(1)
    for i in range(count):
        path = folder / f"{i % 50:02}" / f"{i:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(size))
        os.utime(path, (1_600_000_000, 1_600_000_000))


def publish(tree, base, endpoint, bucket):
    """The files of a tree as objects: linked into the server's own folder with the etag it would
    have given them, since 100,000 uploads take longer than all that is measured."""
    files = pyarrow.fs.S3FileSystem(endpoint_override=endpoint, access_key=KEY,
                                    secret_key=SECRET, region=REGION,
                                    allow_bucket_creation=True)
    files.create_dir(bucket)
    for path in tree.rglob("*.jpg"):
        os.setxattr(path, "user.etag", f'"{hashlib.md5(path.read_bytes()).hexdigest()}"'.encode())
        os.setxattr(path, "user.content-type", b"image/jpeg")
        linked = base / "data" / bucket / path.relative_to(tree)
        linked.parent.mkdir(exist_ok=True)
        os.link(path, linked)


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def warmup_against_sync(endpoint, base, store):
    options = {"s3.endpoint": endpoint, "s3.access-key-id": KEY, "s3.secret-access-key": SECRET,
               "s3.region": REGION}
    ours = seconds(lambda: forebay.files("s3://files", options=options, store=store).warmup())
    out = {"warmup_s": ours}
    print(f"warm-up {ours:.1f} s", file=sys.stderr, flush=True)
    if shutil.which("aws"):
        environment = {**os.environ, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
                       "AWS_DEFAULT_REGION": REGION, "AWS_CONFIG_FILE": "/dev/null"}
        command = ["aws", "--endpoint-url", endpoint, "s3", "sync", "--only-show-errors",
                   "s3://files", str(base / "synced")]
        out["aws_s3_sync_s"] = seconds(
            lambda: subprocess.run(command, env=environment, check=True))
        out["warmup_to_aws_s3_sync"] = out["aws_s3_sync_s"] / ours
        print(f"aws s3 sync {out['aws_s3_sync_s']:.1f} s", file=sys.stderr, flush=True)
        shutil.rmtree(base / "synced")
    if RCLONE.exists():
        command = [RCLONE, "sync", ":s3:files", base / "rcloned", "--config", "/dev/null",
                   "--transfers", "64", "--checkers", "32", "--fast-list",
                   "--s3-provider", "Other", "--s3-endpoint", endpoint, "--s3-region", REGION,
                   "--s3-access-key-id", KEY, "--s3-secret-access-key", SECRET]
        out["rclone_sync_s"] = seconds(lambda: subprocess.run(command, check=True))
        out["warmup_to_rclone"] = out["rclone_sync_s"] / ours
        print(f"rclone sync {out['rclone_sync_s']:.1f} s", file=sys.stderr, flush=True)
        shutil.rmtree(base / "rcloned")
    return options, out


def pull_against_cp(tree, base, store):
    program = ROOT / "python/forebay/bin/forebay"
    forebay.files(tree, store=store).warmup()
    rounds = []
    for i in range(3):
        ours = seconds(lambda: subprocess.run(
            [program, "pull", tree, base / f"pull{i}", "--store", store], check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        copied = seconds(lambda: subprocess.run(
            ["cp", "--reflink=auto", "-r", tree, base / f"cp{i}"], check=True))
        rounds.append((copied / ours, ours, copied))
    best = sorted(rounds)[len(rounds) // 2]
    return {"pull_s": best[1], "cp_s": best[2], "pull_to_cp": best[0]}


def opens(open_file, paths):
    """Seconds an open and read takes; the second pass counts."""
    def all_of_them():
        for path in paths:
            with open_file(path) as file:
                file.read()
    all_of_them()
    return min(seconds(all_of_them) for _ in range(3)) / len(paths)


def opens_against_plain(base, options, endpoint, store, python):
    """32 KiB files: plain, through our file system, and through s3fs."""
    tree = base / "medium"
    write_tree(tree, 1000, MEDIUM)
    paths = [str(p.relative_to(tree)) for p in tree.rglob("*.jpg")]
    random.Random(2).shuffle(paths)
    fs = fsspec.filesystem("forebay", source=str(tree), store=store, skip_instance_cache=True)
    fs.files.warmup()
    whole = {path: str(tree / path) for path in paths}
    plain = opens(lambda path: open(whole[path], "rb"), paths)
    ours = opens(lambda path: fs.open(path), paths)
    out = {"plain_open_us": plain * 1e6, "fsspec_open_us": ours * 1e6,
           "fsspec_to_plain": plain / ours}
    if python:
        listed = [f"{i % 50:02}/{i:06}.jpg" for i in range(300)]
        done = subprocess.run([python, "-c", S3FS, endpoint], input=json.dumps(listed), text=True,
                              capture_output=True, check=True)
        ours_s3 = fsspec.filesystem("forebay", source="s3://files", options=options, store=store,
                                    skip_instance_cache=True)
        us = opens(lambda path: ours_s3.open(path), listed)
        out |= {"s3fs_open_us": float(done.stdout) * 1e6, "fsspec_s3_open_us": us * 1e6,
                "fsspec_to_s3fs": float(done.stdout) / us}
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--parts", default="warmup,opens,pull",
                        help="what is measured; opens needs warmup")
    parser.add_argument("--s3fs", metavar="PYTHON")
    arguments = parser.parse_args()
    fsspec.register_implementation("forebay", "forebay.filesystem.ForebayFileSystem",
                                   clobber=True)
    base = Path(tempfile.mkdtemp(prefix="forebay-bench-"))
    runtime = tempfile.mkdtemp(prefix="fb-", dir="/tmp")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    store = f"ssd:{base}/store"
    process, endpoint = serve(base)
    try:
        parts, result = arguments.parts.split(","), {}
        write_tree(base / "tree", arguments.count, SMALL)
        publish(base / "tree", base, endpoint, "files")
        if "warmup" in parts:
            options, result = warmup_against_sync(endpoint, base, store)
        if "opens" in parts:
            result |= opens_against_plain(base, options, endpoint, store, arguments.s3fs)
        if "pull" in parts:
            result |= pull_against_cp(base / "tree", base, store)
        print(json.dumps({"count": arguments.count,
                          **{k: round(v, 3) for k, v in result.items()}}))
    finally:
        for name in Path(runtime, "forebay").glob("*.sock"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
                link.connect(str(name))
                who = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                os.kill(struct.unpack("3i", who)[0], signal.SIGTERM)
        process.terminate()
        process.wait(30)
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
