#!/usr/bin/env python3
"""Lightning: a Loader is what ``train_dataloader`` returns. Checkpoints in the middle of an
epoch keep its place, because it has ``state_dict``.

    python examples/lightning_trainer.py /tmp/table
"""

import shutil
import tempfile

import lightning
import torch
from example_table import FEATURES, table
from lightning.pytorch.callbacks import ModelCheckpoint

from forebay.torch import Dataset, Loader

EPOCHS = 2
STOP_AT = 80  # of 120 steps


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(FEATURES, 1)
        self.rows = []

    def training_step(self, batch, step):
        self.rows += batch["id"].tolist()
        return (self.layer(batch["x"])[:, 0] - batch["y"]).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


class Rows(lightning.LightningDataModule):
    def __init__(self, uri):
        super().__init__()
        self.uri = uri

    def train_dataloader(self):
        """Called for every epoch, by each process once it has its rank."""
        dataset = Dataset(self.uri, global_batch_size=100, shuffle="global", seed=7,
                          epoch=self.trainer.current_epoch)
        return Loader(dataset)


def fit(uri, folder, **arguments):
    """The rows that a training goes through."""
    lightning.seed_everything(0, verbose=False)
    model = Regression()
    trainer = lightning.Trainer(
        max_epochs=EPOCHS, reload_dataloaders_every_n_epochs=1, accelerator="cpu", devices=1,
        logger=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[ModelCheckpoint(folder, every_n_train_steps=STOP_AT)],
        max_steps=arguments.pop("max_steps", -1))
    trainer.fit(model, Rows(uri), **arguments)
    return model.rows, trainer.checkpoint_callback.best_model_path


def main():
    uri = table()
    folder = tempfile.mkdtemp(prefix="forebay-")
    whole, _ = fit(uri, f"{folder}/whole")
    head, checkpoint = fit(uri, f"{folder}/stopped", max_steps=STOP_AT)
    rest, _ = fit(uri, f"{folder}/resumed", ckpt_path=checkpoint)
    print(f"{len(head)} rows, then {len(rest)}: "
          f"{'as' if head + rest == whole else 'NOT AS'} without the interruption")
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
