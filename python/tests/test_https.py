"""An S3 server that speaks TLS, as S3 does: libraries that each bring an OpenSSL of their own meet
in one node."""

import random
import subprocess

import lake
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

import forebay


def fill(options):
    """Objects in s3://lake; gives what they hold."""
    bucket = pa.fs.S3FileSystem(endpoint_override=options["s3.endpoint"], access_key=lake.KEY,
                                secret_key=lake.SECRET, region=options["s3.region"])
    rng = random.Random(3)
    contents = {f"{i:03}.bin": rng.randbytes(20_000) for i in range(200)}
    contents["large.bin"] = rng.randbytes(20 << 20)
    for name, data in contents.items():
        with bucket.open_output_stream(f"lake/files/{name}") as out:
            out.write(data)
    pq.write_table(pa.table({"x": range(1000)}), "lake/table/part.parquet", filesystem=bucket)
    return contents


@pytest.fixture(scope="module")
def https(tmp_path_factory):
    """(options without the certificate, the certificate, contents of s3://lake/files)."""
    if lake.s3_program() is None:
        pytest.skip("versitygw is not there: run tools/setup-test")
    folder, port = tmp_path_factory.mktemp("https"), lake.free_port()
    with lake.s3(folder) as options:
        contents = fill(options)
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3",
                    "-keyout", key, "-out", certificate, "-subj", "/CN=test",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    command = [lake.s3_program(), "--keep-alive", "--cert", certificate, "--key", key,
               "--port", f"127.0.0.1:{port}", "posix", folder / "data"]
    with lake.server(command, port, folder, ROOT_ACCESS_KEY=lake.KEY,
                     ROOT_SECRET_KEY=lake.SECRET):
        yield {**options, "s3.endpoint": f"https://127.0.0.1:{port}"}, certificate, contents


def test_trees_and_tables_come_over_tls_by_many_connections(https):
    options, certificate, contents = https
    options = {**options, "http.ca-file": str(certificate)}
    files = forebay.files("s3://lake/files", options=options)
    files.warmup()
    for name, data in contents.items():
        assert files.read(name) == data, name
    table = forebay.open("s3://lake/table", options=options)
    assert table.take([999])["x"][0] == 999


def test_a_server_that_nobody_vouches_for_is_not_asked(https):
    options, _, _ = https
    with pytest.raises(ValueError, match="certificate.*http.ca-file"):
        forebay.files("s3://lake/files", options=options)
