#!/usr/bin/env python3
"""Ray Train: each worker reads its share through its host's node, in place of
``ray.train.get_dataset_shard("train").iter_torch_batches()``. A worker group that is started
again, with any number of workers, goes on where the last checkpoint was.

    python examples/ray_train.py /tmp/table
"""

import os
import tempfile

import ray
import ray.train
import torch
from example_table import FEATURES, table
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model

from forebay.torch import Dataset, Loader

WORKERS, EPOCHS = 2, 2


def train(config):
    model = prepare_model(torch.nn.Linear(FEATURES, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    # Rank and number of workers are torch.distributed's, which Ray has set up.
    dataset = Dataset(config["table"], global_batch_size=100, shuffle="global", seed=7)
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as folder:
            saved = torch.load(os.path.join(folder, "job.pt"))
        model.load_state_dict(saved["model"])
        dataset.load_state_dict(saved["data"])
    loader = Loader(dataset)
    for epoch in range(dataset.epoch, EPOCHS):
        dataset.set_epoch(epoch)
        rows = 0
        for batch in loader:
            loss = (model(batch["x"])[:, 0] - batch["y"]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rows += len(batch["id"])
        report({"epoch": epoch, "rows": rows}, {"model": model.state_dict(),
                                                "data": dataset.state_dict()})


def report(metrics, state):
    """Once on each worker; the state is the same on all, so the first saves it."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = None
        if ray.train.get_context().get_world_rank() == 0:
            torch.save(state, os.path.join(folder, "job.pt"))
            checkpoint = Checkpoint.from_directory(folder)
        ray.train.report(metrics, checkpoint=checkpoint)


def main():
    uri = table()
    ray.init(num_cpus=WORKERS + 1, include_dashboard=False, log_to_driver=False)
    trainer = TorchTrainer(train, train_loop_config={"table": uri},
                           scaling_config=ScalingConfig(num_workers=WORKERS),
                           run_config=RunConfig(name="job", storage_path=uri + "-ray"))
    metrics = trainer.fit().metrics
    print(f"epoch {metrics['epoch']}: {metrics['rows']} rows on each of {WORKERS} workers")
    ray.shutdown()


if __name__ == "__main__":
    main()
