#!/usr/bin/env python3
"""Hugging Face Accelerate: it prepares the model, and Forebay's loader stays as it is.

    accelerate launch --num_processes 2 examples/accelerate_loop.py /tmp/table

Loaders that are given to ``prepare()`` have their batches shared out among the processes
again (rank 0 reads, by default, and dispatches). Forebay has shared them out already, so its
loader is not given to it; where it is, an error says so.
"""

import torch
from accelerate import Accelerator
from example_table import FEATURES, table

from forebay.torch import Dataset, Loader

EPOCHS = 2
SAVE_AT = 20  # step of the last epoch


def main():
    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    model = torch.nn.Linear(FEATURES, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = accelerator.prepare(model, optimizer)
    # After Accelerator(): from there it knows its rank.
    uri = table()
    dataset = Dataset(uri, global_batch_size=100, shuffle="global", seed=7)
    accelerator.register_for_checkpointing(dataset)  # save_state() keeps its place
    loader = Loader(dataset, device=accelerator.device)
    checkpoint = uri.rstrip("/") + "-checkpoint"
    for epoch in range(EPOCHS):
        dataset.set_epoch(epoch)
        for step, batch in enumerate(loader, 1):
            train(accelerator, model, optimizer, batch)
            if epoch == EPOCHS - 1 and step == SAVE_AT:
                accelerator.save_state(checkpoint)
    accelerator.print(f"epoch {epoch}: {step} steps")
    accelerator.wait_for_everyone()

    accelerator.load_state(checkpoint)  # as after a crash
    rest = sum(train(accelerator, model, optimizer, batch) for batch in loader)
    accelerator.print(f"epoch {dataset.epoch} again from step {SAVE_AT}: {rest} steps")
    accelerator.end_training()


def train(accelerator, model, optimizer, batch):
    loss = (model(batch["x"])[:, 0] - batch["y"]).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    return 1


if __name__ == "__main__":
    main()
