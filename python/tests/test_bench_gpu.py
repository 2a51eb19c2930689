"""The benchmark for GPUs, on machines that have none."""

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
PROGRAM = Path(__file__).parents[2] / "bench" / "gpu" / "starvation.py"


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_it_skips_with_a_sentence_where_there_is_no_gpu():
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "skipped: torch finds no CUDA device here\n")
