"""An S3 server (versitygw, from tools/setup-test) of a test's own."""

import concurrent.futures
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pyarrow.fs
import pytest
from ports import free_port

KEY, SECRET, REGION = "FOREBAYTESTKEY", "FOREBAYTESTSECRET", "us-east-1"
# Where tools/setup-test puts it. Tests may have another cache home later.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
TOOLS = os.environ.get("FOREBAY_TOOLS") or CACHE / "forebay-dev/tools"


class S3Server:
    def __init__(self, folder):
        self.program = shutil.which("versitygw", path=str(TOOLS))
        if self.program is None:
            pytest.skip("versitygw is not installed: run tools/setup-test")
        self.folder = Path(folder)

    def __enter__(self):
        (self.folder / "data").mkdir(parents=True)
        self.port = free_port()
        self.process = subprocess.Popen(
            [self.program, "--port", f"127.0.0.1:{self.port}", "posix", self.folder / "data"],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET})
        end = time.monotonic() + 20
        while True:
            with socket.socket() as link:
                if link.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            assert time.monotonic() < end, "versitygw does not start"
            time.sleep(0.05)
        self.files = pyarrow.fs.S3FileSystem(
            endpoint_override=self.endpoint, access_key=KEY, secret_key=SECRET, region=REGION,
            allow_bucket_creation=True)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def options(self):
        """For the command line."""
        pairs = {"s3.endpoint": self.endpoint, "s3.access-key-id": KEY,
                 "s3.secret-access-key": SECRET, "s3.region": REGION}
        return [word for key, value in pairs.items() for word in ("-O", f"{key}={value}")]

    def make_bucket(self, name):
        self.files.create_dir(name)

    def put(self, bucket, key, data):
        with self.files.open_output_stream(f"{bucket}/{key}") as out:
            out.write(data)

    def publish(self, folder, bucket="tree"):
        """The files of a folder as objects; they get the times that the objects have. What to
        mount."""
        self.make_bucket(bucket)
        folder = Path(folder)

        def put(path):
            self.put(bucket, path.relative_to(folder).as_posix(), path.read_bytes())
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(put, (path for path in folder.rglob("*") if path.is_file())))
        for info in self.files.get_file_info(pyarrow.fs.FileSelector(bucket, recursive=True)):
            if info.is_file:
                local = folder / info.path.removeprefix(f"{bucket}/")
                os.utime(local, ns=(info.mtime_ns, info.mtime_ns))
        return [f"s3://{bucket}", *self.options()]

    def adopt(self, folder, bucket="tree"):
        """As publish, for more files, or larger ones, than one wants to upload: they become the
        server's own."""
        self.make_bucket(bucket)
        folder = Path(folder)
        for number, path in enumerate(path for path in folder.rglob("*") if path.is_file()):
            os.setxattr(path, "user.etag", b'"%032x"' % number)
            own = self.folder / "data" / bucket / path.relative_to(folder)
            own.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, own)
        return [f"s3://{bucket}", *self.options()]
