"""torch's DataLoader, counting in the training process what it delivers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch.utils.data

from .batch import Batch
from .sharded import ALL_STEPS, ShardedDataset


class DataLoader(torch.utils.data.DataLoader):
    """As torch's, for a :class:`Dataset` or :class:`Mixture`, whose ``state_dict()`` is
    right with it also when workers read. Arguments are those of torch's; batches come from
    the dataset, so ``batch_size`` is not among them."""

    def __init__(self, dataset: ShardedDataset, **arguments: Any):
        if not isinstance(dataset, ShardedDataset):
            raise TypeError(f"this DataLoader is for a forebay.torch.Dataset, not for a "
                            f"{type(dataset).__name__}")
        if arguments.pop("batch_size", None) is not None:
            raise ValueError("batch_size is the dataset's: give it to forebay.torch.Dataset")
        if not arguments.get("in_order", True):
            raise ValueError("in_order=False delivers batches as they come, and no state could "
                             "say which have come: leave it out")
        super().__init__(dataset, batch_size=None, **arguments)

    def __len__(self) -> int:
        """Batches of the whole epoch, also of one that was resumed."""
        return self.dataset.epoch_steps()

    def __iter__(self) -> Iterator[Any]:
        epoch, start = self.dataset.begin()
        shares = self.dataset.stream(epoch, start)
        return self._counted(super().__iter__(), shares, epoch)

    def _counted(self, batches: Iterator[Any], shares: Any, epoch: int) -> Iterator[Any]:
        progress = self.dataset.progress
        for steps, batch in enumerate(batches, 1):
            position = shares.position_after(steps)
            if isinstance(batch, Batch) and batch.position not in (None, position):
                raise RuntimeError("the dataset delivers more or less than one thing for each "
                                   "batch, and this DataLoader counts them: use torch's own")
            progress.received(epoch, position)
            yield batch
        progress.finished(epoch, shares.position_after(ALL_STEPS))

    def state_dict(self) -> dict[str, Any]:
        """The dataset's: where the loop is, by what it has received."""
        return self.dataset.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.dataset.load_state_dict(state)
