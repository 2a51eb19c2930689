"""An S3 server (versitygw, from tools/setup-test) for benches, and ways to use it."""

import concurrent.futures
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pyarrow.fs

KEY, SECRET, REGION = "FOREBAYTESTKEY", "FOREBAYTESTSECRET", "us-east-1"
RANGE = 16 << 20


class S3Place:
    def __init__(self, folder):
        tools = os.environ.get("FOREBAY_TOOLS", Path.home() / ".cache/forebay-dev/tools")
        self.program = shutil.which("versitygw", path=str(tools))
        if self.program is None:
            raise RuntimeError("versitygw is not installed: run tools/setup-test")
        self.folder = Path(tempfile.mkdtemp(prefix="s3-", dir=folder))

    def __enter__(self):
        (self.folder / "data").mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [self.program, "--port", f"127.0.0.1:{self.port}", "posix", self.folder / "data"],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET})
        while True:
            with socket.socket() as link:
                if link.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            time.sleep(0.05)
        self.files = pyarrow.fs.S3FileSystem(
            endpoint_override=self.endpoint, access_key=KEY, secret_key=SECRET, region=REGION,
            allow_bucket_creation=True)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def words(self):
        """Options for the command line."""
        pairs = {"s3.endpoint": self.endpoint, "s3.access-key-id": KEY,
                 "s3.secret-access-key": SECRET, "s3.region": REGION}
        return [word for key, value in pairs.items() for word in ("-O", f"{key}={value}")]

    def put_random(self, bucket, key, size):
        self.files.create_dir(bucket)
        rng = random.Random(size)
        with self.files.open_output_stream(f"{bucket}/{key}") as out:
            for _ in range(size >> 20):
                out.write(rng.randbytes(1 << 20))

    def download(self, path, size, threads):
        """All of an object, by ranges, several at once; nothing is kept."""
        def one(start):
            with self.files.open_input_file(path) as file:
                file.read_at(RANGE, start)
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(one, range(0, size, RANGE)))
