"""The examples run, and do what they say. Those of frameworks that are not installed are
skipped."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

EXAMPLES = Path(__file__).parents[2] / "examples"


def start(name, *arguments, **environment):
    command = [sys.executable, EXAMPLES / name, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "OMP_NUM_THREADS": "1", **environment})


def ends(processes):
    """What they printed."""
    try:
        done = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, done):
        assert process.returncode == 0, errors
    return "".join(printed for printed, _ in done)


@pytest.fixture
def table(tmp_path):
    folder = tmp_path / "table"
    assert ends([start("example_table.py", folder)]) == f"{folder}\n"
    return folder


def run_ranks(name, size, meet, *arguments):
    """With the variables that torchrun sets, and a file to meet at instead of a port."""
    return ends([start(name, *arguments, RANK=str(rank), WORLD_SIZE=str(size),
                       LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(size),
                       MEET=f"file://{meet}?rank={rank}&world_size={size}")
                 for rank in range(size)])


@pytest.mark.timeout(240)
def test_ddp_goes_on_with_another_number_of_processes(table, tmp_path):
    checkpoint = tmp_path / "job.pt"
    assert run_ranks("ddp.py", 2, tmp_path / "first", table, checkpoint, 30) \
        == "epoch 0: 3000 of 6000 rows\n"
    assert run_ranks("ddp.py", 3, tmp_path / "second", table, checkpoint) == (
        "goes on in epoch 0 after row 3000\n"
        "epoch 0: 3000 of 6000 rows\n"
        "epoch 1: 6000 of 6000 rows\n")


def test_lightning_resumes_in_the_middle_of_an_epoch(table):
    pytest.importorskip("lightning")
    printed = ends([start("lightning_trainer.py", table)])
    assert "8000 rows, then 4000: as without the interruption\n" in printed


def test_accelerate_saves_the_place_of_the_dataset(table):
    pytest.importorskip("accelerate")
    assert ends([start("accelerate_loop.py", table)]) == (
        "epoch 1: 60 steps\n"
        "epoch 1 again from step 20: 40 steps\n")


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_ray_workers_share_the_rows(table, tmp_path):
    pytest.importorskip("ray.train")
    home = tmp_path / "home"
    home.mkdir()
    printed = ends([start("ray_train.py", table, HOME=str(home))])
    assert "epoch 1: 3000 rows on each of 2 workers\n" in printed
    shutil.rmtree(home)
