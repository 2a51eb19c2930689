"""Real places for Iceberg tables that PyIceberg writes: an S3 server, and Iceberg's own REST
catalog. Each is None where its program is not there."""

import contextlib
import os
import shutil
import socket
import subprocess
import urllib.request
from pathlib import Path

import nodes
from ports import free_port

SERVERS = Path(__file__).resolve().parents[2] / "tests/servers"
KEY, SECRET, BUCKET = "FOREBAYTESTKEY", "FOREBAYTESTSECRET", "lake"


def answers(port):
    with socket.socket() as link:
        return link.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def server(command, port, folder, **environment):
    """A process that serves a port, until the end of the block."""
    with open(folder / "log", "w") as log:
        process = subprocess.Popen([str(part) for part in command], cwd=folder, stdout=log,
                                   stderr=log, env={**os.environ, **environment})
    try:
        nodes.wait_until(lambda: answers(port) or process.poll() is not None,
                         f"{command[0]} does not answer", seconds=60)
        assert process.poll() is None, (folder / "log").read_text()
        yield
    finally:
        process.terminate()
        process.wait(30)


def s3_program():
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    tools = os.environ.get("FOREBAY_TOOLS", cache / "forebay-dev/tools")
    return shutil.which("versitygw", path=str(tools))


@contextlib.contextmanager
def s3(folder):
    """The options of an S3 server with the bucket ``lake``."""
    port = free_port()
    (folder / "data" / BUCKET).mkdir(parents=True)
    with server([s3_program(), "--port", f"127.0.0.1:{port}", "posix", folder / "data"], port,
                folder, ROOT_ACCESS_KEY=KEY, ROOT_SECRET_KEY=SECRET):
        yield {"s3.endpoint": f"http://127.0.0.1:{port}", "s3.access-key-id": KEY,
               "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}


def rest_classes():
    """The class path of the REST catalog; None without Java or Maven's jars."""
    fetched = subprocess.run([SERVERS / "iceberg_rest/fetch"], capture_output=True, text=True)
    return fetched.stdout.strip() if fetched.returncode == 0 else None


@contextlib.contextmanager
def rest(folder, options, **settings):
    """``host:port`` of a REST catalog whose tables are in s3://lake, and its SQLite file."""
    port = free_port()
    settings = {"uri": f"jdbc:sqlite:{folder}/rest.db", "warehouse": f"s3://{BUCKET}/warehouse",
                "io-impl": "org.apache.iceberg.aws.s3.S3FileIO", **options,
                "client.region": options["s3.region"], "s3.path-style-access": "true", **settings}
    given = [f"{name}={value}" for name, value in settings.items()]
    command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
               "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", rest_classes(),
               "org.apache.iceberg.rest.CatalogServer", port, *given]
    with server(command, port, folder):
        yield f"127.0.0.1:{port}"


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read()
