#!/usr/bin/env python3
"""Several processes train one model, and go on where they were after an interruption.

    python examples/example_table.py /tmp/table
    torchrun --nproc-per-node 2 examples/ddp.py /tmp/table /tmp/job.pt 30    # stops at step 30
    torchrun --nproc-per-node 3 examples/ddp.py /tmp/table /tmp/job.pt       # goes on

The second run may have any number of processes: the order of the rows does not depend on it.
"""

import os
import sys

import torch
import torch.distributed as dist
from example_table import FEATURES, ROWS
from torch.nn.parallel import DistributedDataParallel

from forebay.torch import Dataset, Loader

EPOCHS = 2
SAVE_EVERY = 10


def main(table, checkpoint, stop_at):
    # MEET is for processes that were not started by torchrun: where they meet.
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo",
                            init_method=os.environ.get("MEET"))
    torch.manual_seed(0)
    device = f"cuda:{os.environ['LOCAL_RANK']}" if torch.cuda.is_available() else "cpu"
    model = DistributedDataParallel(torch.nn.Linear(FEATURES, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    # After init_process_group: from there it knows its rank.
    dataset = Dataset(table, global_batch_size=100, shuffle="global", seed=7)
    if os.path.exists(checkpoint):
        saved = torch.load(checkpoint)
        model.module.load_state_dict(saved["model"])
        dataset.load_state_dict(saved["data"])
        say(f"goes on in epoch {dataset.epoch} after row {dataset.position}")
    loader = Loader(dataset, device=device)
    for epoch in range(dataset.epoch, EPOCHS):
        dataset.set_epoch(epoch)
        rows = train(model, optimizer, loader, checkpoint, stop_at)
        say(f"epoch {epoch}: {rows} of {ROWS} rows")
        if stop_at:
            break
    dist.destroy_process_group()


def train(model, optimizer, loader, checkpoint, stop_at):
    """What is left of an epoch; how many rows that were, on all ranks together."""
    rows = torch.zeros(1, device=next(model.parameters()).device)
    for step, batch in enumerate(loader, 1):
        loss = (model(batch["x"])[:, 0] - batch["y"]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rows += len(batch["id"])
        if step % SAVE_EVERY == 0 and dist.get_rank() == 0:
            # The state is the same on every rank.
            state = {"model": model.module.state_dict(), "data": loader.state_dict()}
            torch.save(state, checkpoint + ".new")
            os.replace(checkpoint + ".new", checkpoint)
        if step == stop_at:
            break
    dist.all_reduce(rows)
    return int(rows)


def say(text):
    if dist.get_rank() == 0:
        print(text, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None)
