"""Each test has mounts, a node and a store of its own, which end with it."""

import subprocess

import pytest
from mounts import HERE, Mounts, ReaderModel, why_not
from s3_server import S3Server


@pytest.fixture
def mounts(tmp_path):
    if why_not():
        pytest.skip(why_not())
    mounts = Mounts(tmp_path)
    yield mounts
    mounts.end()


@pytest.fixture(params=["local", "s3"])
def s3_server(request, tmp_path):
    """A server, or none: the same test for files and for objects."""
    if request.param == "local":
        yield None
        return
    with S3Server(tmp_path / "s3") as server:
        yield server


@pytest.fixture
def publish(s3_server):
    """publish(folder): what to mount to see it, the folder itself or a bucket with its files."""
    return s3_server.publish if s3_server else lambda folder: [folder]


@pytest.fixture
def adopt(s3_server):
    """As publish, for very many or very large files."""
    return s3_server.adopt if s3_server else lambda folder: [folder]


@pytest.fixture(scope="session")
def reader_program(tmp_path_factory):
    program = tmp_path_factory.mktemp("reader") / "reader_model"
    subprocess.run(["c++", "-std=c++20", "-O2", "-pthread", "-o", program,
                    HERE / "reader_model.cc"], check=True)
    return program


@pytest.fixture
def readers(reader_program):
    """readers(mount, model, threads=…): reads until the block ends."""
    def start(mount, model, **settings):
        return ReaderModel(reader_program, mount, model, **settings)
    return start
