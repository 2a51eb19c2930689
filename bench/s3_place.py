"""The S3 server of the tests of mounts, and how benches use it."""

import concurrent.futures
import random
import shutil
import sys
import tempfile

from harness import ROOT

sys.path.insert(0, str(ROOT / "tests" / "fuse"))
from s3_server import S3Server  # noqa: E402

RANGE = 16 << 20


class S3Place(S3Server):
    def __init__(self, folder):
        super().__init__(tempfile.mkdtemp(prefix="s3-", dir=folder))

    def __exit__(self, *failure):
        super().__exit__(*failure)
        shutil.rmtree(self.folder, ignore_errors=True)

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
