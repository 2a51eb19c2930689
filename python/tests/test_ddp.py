"""Real processes of torch.distributed that train together on tables that do not divide."""

import json
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch")

# Every rank trains, with a collective in every step, and prints what it did.
TRAIN = """
import datetime, json, sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from forebay.torch import DataLoader, Dataset, Loader

def train(uri, remainder, workers):
    dataset = Dataset(uri, global_batch_size=70, shuffle="global", seed=2,
                      columns=["x", "y"], remainder=remainder)
    loader = Loader(dataset) if workers is None else DataLoader(
        dataset, num_workers=workers, multiprocessing_context="fork" if workers else None)
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    rows = []
    for epoch in range(2):
        dataset.set_epoch(epoch)
        for batch in loader:
            loss = model(batch["y"][:, None]).square().mean()
            optimizer.zero_grad()
            loss.backward()  # waits for all ranks: one with fewer steps would hang them
            optimizer.step()
            keep = batch.get("__mask__", torch.ones_like(batch["x"], dtype=bool))
            rows.append(batch["x"][keep].tolist())
    return {"rows": rows, "state": dataset.state_dict(), "weight": model.module.weight.item()}

uri, meet, rank, size = sys.argv[1:]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + meet, rank=int(rank),
                        world_size=int(size), timeout=datetime.timedelta(seconds=60))
jobs = {"drop": train(uri, "drop", None), "pad": train(uri, "pad", 2),
        "wrap": train(uri, "wrap", 0)}
dist.barrier()
dist.destroy_process_group()
print(json.dumps(jobs))
"""

MESH = """
import json, sys
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from forebay.torch import Dataset, Loader

uri, meet, rank, size = sys.argv[1:]
dist.init_process_group("gloo", init_method="file://" + meet, rank=int(rank),
                        world_size=int(size))
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
dataset = Dataset(uri, 100, shuffle="global", seed=2, columns=["x"], mesh=mesh)
rows = [batch["x"].tolist() for batch in Loader(dataset)]
dist.barrier()
dist.destroy_process_group()
print(json.dumps({"rows": rows, "state": dataset.state_dict()}))
"""


def run_ranks(code, size, uri, meet):
    """What each rank printed, at its end."""
    commands = [[sys.executable, "-c", code, str(uri), str(meet), str(rank), str(size)]
                for rank in range(size)]
    ranks = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) for command in commands]
    until = time.monotonic() + 150
    try:
        outputs = [rank.communicate(timeout=until - time.monotonic()) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    for rank, (_, errors) in zip(ranks, outputs):
        assert rank.returncode == 0, errors
    return [json.loads(output) for output, _ in outputs]


STEPS = {"drop": 71, "pad": 72, "wrap": 72}
ROWS = {"drop": 4970, "pad": 5000, "wrap": 5040}


@pytest.mark.timeout(240)
def test_uneven_tables_do_not_hang_a_job(numbers, tmp_path):
    """5,000 rows are 71 global batches of 70, of which three ranks take 23, 23 and 24, and
    30 rows."""
    ranks = run_ranks(TRAIN, 3, numbers, tmp_path / "meet")
    for remainder, steps in STEPS.items():
        first, *others = jobs = [rank[remainder] for rank in ranks]
        assert [len(job["rows"]) for job in jobs] == [2 * steps] * 3
        for job in others:
            assert (job["state"], job["weight"]) == (first["state"], first["weight"])
        for epoch in (0, 1):
            rows = [row for job in jobs for step in job["rows"][epoch * steps:][:steps]
                    for row in step]
            assert len(rows) == ROWS[remainder]
            assert len(set(rows)) == min(len(rows), 5000)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_tensor_parallel_peers_get_the_same_batches_from_a_mesh(numbers, tmp_path):
    ranks = run_ranks(MESH, 4, numbers, tmp_path / "meet")
    assert ranks[0] == ranks[1] and ranks[2] == ranks[3]
    rows = [row for rank in (ranks[0], ranks[2]) for step in rank["rows"] for row in step]
    assert sorted(rows) == list(range(5000))
    assert ranks[0]["state"] == ranks[2]["state"]
