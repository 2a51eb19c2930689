"""Kubeflow's data cache as a TrainJob starts it, of our programs on this machine."""

import json
import os
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as flight
from cluster import BIN, free_port, wait_until


class Container:
    """One process, started by the name that the container has for it."""

    def __init__(self, cache, role, port, environment):
        self.port, self.health_port = port, free_port()
        self.environment = {**os.environ, "FOREBAY_HEAD_PORT": str(cache.control_port),
                            "HEALTH_PORT": str(self.health_port), "TMPDIR": str(cache.folder),
                            **environment}
        self.command = [*cache.commands[role], "127.0.0.1", str(port)]
        self.log = cache.folder / f"{role}-{port}.log"
        self.user = cache.user
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.running = subprocess.Popen(self.command, stdout=log, stderr=log,
                                            env=self.environment, user=self.user)

    def said(self):
        return self.log.read_text()

    def ready(self):
        """Status and body of /ready."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health_port}/ready",
                                        timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def children(self):
        listed = Path(f"/proc/{self.running.pid}/task/{self.running.pid}/children")
        return [int(pid) for pid in listed.read_text().split()]

    def kill(self):
        self.running.kill()
        self.running.wait()

    def stop(self):
        if self.running.poll() is None:
            self.running.terminate()
            self.running.wait(20)


class DataCache:
    """One head and its workers. `local`: as RUNTIME_ENV=LOCAL has them. `by_forebay`: started
    by the command line, `forebay head` and `forebay worker`, not by the names of images."""

    def __init__(self, metadata, workers=2, local=True, user=None, by_forebay=False,
                 **environment):
        self.folder = Path(tempfile.mkdtemp(prefix="fbk-", dir="/tmp"))
        self.folder.chmod(0o777)
        self.user = user
        self.control_port = free_port()
        self.commands = {}
        for role in ("head", "worker"):
            (self.folder / role).symlink_to((BIN / "forebay-kubeflow").resolve())
            self.commands[role] = [BIN / "forebay", role] if by_forebay else [self.folder / role]
        table = {"METADATA_LOC": str(metadata), "TABLE_NAME": "t", "SCHEMA_NAME": "s",
                 "FOREBAY_MEMORY": "256MiB", **environment}
        self.local, self.table = local, table
        group = {"LWS_GROUP_SIZE": str(workers + 1), "LWS_LEADER_ADDRESS": "127.0.0.1"}
        self.common = {**table, **({"RUNTIME_ENV": "LOCAL"} if local else group)}
        self.head = Container(self, "head", free_port(), self.common)
        self.workers = [self.worker(i + 1) for i in range(workers)]

    def worker(self, index):
        return Container(self, "worker", free_port(),
                         {**self.common, "LWS_WORKER_INDEX": str(index)})

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        for container in [*self.workers, self.head]:
            container.stop()
        if failure[0] is not None:
            for log in sorted(self.folder.glob("*.log")):
                print(f"--- {log.name}\n{log.read_text()[-4000:]}")
        subprocess.run(["rm", "-rf", self.folder], check=True)

    def wait_ready(self, seconds=60):
        wait_until(lambda: self.head.ready() == (200, "ready"), "never ready", seconds)
        return self

    def info(self, index, total):
        with flight.connect(f"grpc://127.0.0.1:{self.head.port}") as client:
            return client.get_flight_info(
                flight.FlightDescriptor.for_path(str(index), str(total)))

    def share(self, index, total):
        """As Kubeflow's own example reads: every location of every endpoint."""
        info = self.info(index, total)
        batches = []
        for endpoint in info.endpoints:
            for location in endpoint.locations:
                with flight.FlightClient(location.uri) as client:
                    batches += [chunk.data for chunk in client.do_get(endpoint.ticket)]
        table = pa.Table.from_batches(batches, info.schema)
        assert table.num_rows == info.total_records
        return table

    def statuses(self):
        """What the workers' nodes say of themselves."""
        found = []
        for worker in self.workers:
            with flight.connect(f"grpc://127.0.0.1:{worker.port}") as client:
                answer = next(iter(client.do_action("status")))
                found.append(json.loads(answer.body.to_pybytes()))
        return found

    def nodes(self):
        """What the head knows of the workers."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.control_port}/v1/nodes",
                                    timeout=5) as answer:
            return json.load(answer)["nodes"]

    def source_bytes(self):
        return sum(status["source_bytes"] for status in self.statuses())
