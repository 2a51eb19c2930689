#!/usr/bin/env python3
"""What `make demo` shows: a model is trained on a Parquet table, its process is killed with
SIGKILL in the middle, it goes on at the exact step, and Forebay's node is killed as well.
In the end both runs together have seen the rows of an uninterrupted run, in its order, and
the source was read once.

Trains with torch where torch is installed, else with numpy.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import forebay

ROWS, FILES, FEATURES = 200_000, 8, 16
BATCH, EPOCHS, SEED = 512, 3, 7
KILL_TRAINER_AT = (0, 300)  # epoch, step
KILL_NODE_AT = (1, 150)
REPORT_EVERY = 150
LEARNING_RATE = 0.5


# The training program. Nothing in it knows that it will be killed, except that it writes a
# checkpoint: where it is, and the weights.

class NumpyModel:
    """Logistic regression by gradient descent."""

    def __init__(self, weights):
        self.weights = np.array(weights)

    def step(self, x, label):
        guess = 1 / (1 + np.exp(-(x @ self.weights)))
        self.weights -= LEARNING_RATE * x.T @ (guess - label) / len(label)
        return float(-np.mean(np.log(np.where(label == 1, guess, 1 - guess) + 1e-9)))

    def state(self):
        return self.weights.tolist()


class TorchModel:
    """The same with torch."""

    def __init__(self, weights):
        import torch
        torch.set_num_threads(1)  # the model is small: more would wait for each other
        self.torch = torch
        self.weights = torch.tensor(weights, dtype=torch.float64, requires_grad=True)
        self.optimizer = torch.optim.SGD([self.weights], lr=LEARNING_RATE)

    def step(self, x, label):
        loss = self.torch.nn.functional.binary_cross_entropy_with_logits(
            x @ self.weights, label)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def state(self):
        return self.weights.tolist()


def torch_is_installed():
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def train(table, out):
    """Trains from the checkpoint in `out`, if there is one, to the end."""
    checkpoint = {"epoch": 0, "step": 0, "rows": 0, "weights": [0.0] * FEATURES}
    if (out / "checkpoint.json").exists():
        checkpoint = json.loads((out / "checkpoint.json").read_text())
    format = "torch" if torch_is_installed() else "numpy"
    model = (TorchModel if format == "torch" else NumpyModel)(checkpoint["weights"])
    started = time.monotonic()
    ds = forebay.open(table, columns=["id", "features", "label"])
    print(f"opened {ds.num_rows:,} rows in {time.monotonic() - started:.2f} s, training with "
          f"{format} from epoch {checkpoint['epoch']} step {checkpoint['step']}", flush=True)
    with open(out / "consumed.bin", "ab") as consumed:
        consumed.truncate(checkpoint["rows"] * 8)
        for epoch in range(checkpoint["epoch"], EPOCHS):
            start = checkpoint["step"] if epoch == checkpoint["epoch"] else 0
            train_epoch(ds, model, format, (epoch, start), consumed)
            save(out, epoch + 1, 0, consumed, model)


def train_epoch(ds, model, format, place, consumed):
    epoch, start = place
    batches = ds.batches(BATCH, shuffle="global", seed=SEED, epoch=epoch, start_step=start,
                         format=format)
    began = time.monotonic()
    for step, batch in enumerate(batches, start):
        loss = model.step(batch["features"], batch["label"])
        consumed.write(np.asarray(batch["id"]).tobytes())
        save(Path(consumed.name).parent, epoch, step + 1, consumed, model)
        if step % REPORT_EVERY == 0:
            rate = (step - start + 1) * BATCH / (time.monotonic() - began)
            print(f"epoch {epoch} step {step:3}  loss {loss:.4f}  {rate:9,.0f} rows/s",
                  flush=True)


def save(out, epoch, step, consumed, model):
    """Atomic: a killed process leaves the old checkpoint or the new one."""
    consumed.flush()
    state = {"epoch": epoch, "step": step, "rows": consumed.tell() // 8,
             "weights": model.state()}
    (out / "checkpoint.tmp").write_text(json.dumps(state))
    os.replace(out / "checkpoint.tmp", out / "checkpoint.json")


# The demonstration around it.

def make_table(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq
    folder.mkdir()
    rng = np.random.default_rng(SEED)
    truth = rng.standard_normal(FEATURES)
    for i in range(FILES):
        ids = np.arange(i * ROWS // FILES, (i + 1) * ROWS // FILES)
        x = rng.standard_normal((len(ids), FEATURES))
        label = (rng.random(len(ids)) < 1 / (1 + np.exp(-x @ truth))).astype("f8")
        features = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), FEATURES)
        pq.write_table(pa.table({"id": ids, "features": features, "label": label}),
                       folder / f"part-{i}.parquet", row_group_size=10_000)
    return sum(path.stat().st_size for path in folder.iterdir())


def start_training(table, out):
    out.mkdir(exist_ok=True)
    command = [sys.executable, __file__, "--train", str(table), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def follow(trainer, at=None):
    """Shows what the trainer says, until it ends or says that it is `at` (epoch, step)."""
    for line in trainer.stdout:
        print("    " + line, end="", flush=True)
        words = line.split()
        if at and words[0] == "epoch" and (int(words[1]), int(words[3])) == at:
            return
    if trainer.wait() != 0:
        sys.exit("demo: the training failed")


def nodes():
    """What this demo's nodes say about themselves: there is one at a time."""
    program = Path(forebay.__file__).parent / "bin" / "forebay"
    text = subprocess.run([program, "status", "-o", "json"], check=True,
                          capture_output=True).stdout
    return json.loads(text)["nodes"]


def node():
    return nodes()[0]


def kill_and_resume(table, out):
    """Both runs, and the bytes that the first node read from the source."""
    trainer = start_training(table, out)
    follow(trainer, KILL_TRAINER_AT)
    trainer.kill()
    trainer.communicate()
    print(f"    kill -9: the training process {trainer.pid} is dead\n")

    print("3. The same program again: it goes on at the next step")
    trainer = start_training(table, out)
    follow(trainer, KILL_NODE_AT)
    first = node()
    os.kill(first["pid"], signal.SIGKILL)
    print(f"    kill -9: Forebay's node {first['pid']} is dead, the training goes on")
    follow(trainer)
    return first["source_bytes"]


def verify(folder, source_size, source_bytes):
    print("\n4. An uninterrupted run, to compare")
    began = time.monotonic()
    follow(start_training(folder / "table", folder / "whole"))
    print(f"    took {time.monotonic() - began:.1f} s; its node, a new one, read "
          f"{node()['source_bytes']:,} bytes from the source: all was in the store\n")
    rows = {name: (folder / name / "consumed.bin").read_bytes() for name in ("killed", "whole")}
    weights = {name: json.loads((folder / name / "checkpoint.json").read_text())["weights"]
               for name in ("killed", "whole")}
    steps = ROWS // BATCH * EPOCHS
    checks = [
        (f"{steps * BATCH:,} rows in {steps:,} steps, the killed runs together exactly as the "
         "uninterrupted one, in the same order",
         rows["killed"] == rows["whole"] and len(rows["whole"]) == steps * BATCH * 8),
        ("the same weights to the last bit", weights["killed"] == weights["whole"]),
        (f"source: {source_size:,} bytes in {FILES} files, {source_bytes:,} bytes read by "
         "all runs together: once", 0 < source_bytes < 1.5 * source_size),
        ("the last node read nothing from the source", node()["source_bytes"] == 0)]
    for text, holds in checks:
        print(f"    {'ok   ' if holds else 'WRONG'} {text}")
    return all(holds for _, holds in checks)


def demonstrate(folder):
    began = time.monotonic()
    print("Forebay's demo: train on a table, get killed, go on as if nothing had been\n")
    size = make_table(folder / "table")
    print(f"1. A table: {ROWS:,} rows in {FILES} Parquet files, {size / 1e6:.0f} MB, in "
          f"{folder / 'table'}\n")
    print("2. Training on it, globally shuffled: every epoch another order of all rows")
    source_bytes = kill_and_resume(folder / "table", folder / "killed")
    good = verify(folder, size, source_bytes)
    print(f"\n{'Everything held' if good else 'SOMETHING IS WRONG'}, in "
          f"{time.monotonic() - began:.0f} s.")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        train(arguments.train, arguments.out)
        return
    # A store and a node of the demo's own, gone with it. Sockets need short paths.
    folder = Path(tempfile.mkdtemp(prefix="forebay-demo-", dir="/tmp"))
    os.environ.update(FOREBAY_STORE=f"ssd:{folder}/store", XDG_RUNTIME_DIR=str(folder))
    os.environ.pop("FOREBAY_NODE", None)
    try:
        good = demonstrate(folder)
    finally:
        for pid in (one["pid"] for one in nodes()):
            os.kill(pid, signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
