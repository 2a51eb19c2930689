"""Which share of each global batch this process takes."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

import torch.distributed

# Names that people give to the dimensions of a mesh along which batches differ.
_DATA_PARALLEL = {"dp", "ddp", "fsdp", "hsdp", "data", "data_parallel", "batch", "replicate",
                  "shard"}


class Place(NamedTuple):
    """Rank ``rank`` of ``size``, as data parallelism counts them: processes that share a
    model's parts (tensor, pipeline, context parallel) have the same."""

    rank: int
    size: int
    given: bool  # not found out


def find(rank: int | None, world_size: int | None, dp_rank: int | None, dp_size: int | None,
         mesh: Any) -> Place:
    """What was given, else torch.distributed's, else torchrun's variables, else 0 of 1."""
    _only_together("rank", rank, "world_size", world_size)
    _only_together("dp_rank", dp_rank, "dp_size", dp_size)
    given = [(rank, world_size), (dp_rank, dp_size)]
    if mesh is not None:
        given.append(_of_mesh(mesh))
    given = [pair for pair in given if pair[0] is not None]
    if len(given) > 1:
        raise ValueError("give only one of rank and world_size, dp_rank and dp_size, mesh")
    if given:
        return Place(*given[0], given=True)
    if _distributed():
        return Place(torch.distributed.get_rank(), torch.distributed.get_world_size(), False)
    return Place(int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)), False)


def check(place: Place) -> None:
    """Called where an iteration begins: an error where rows would be lost or repeated
    because somebody else shares them out too, or nobody does."""
    if not place.given and _distributed():
        size = torch.distributed.get_world_size()
        if size != place.size:
            raise RuntimeError(
                f"this dataset was made for {place.size} ranks before torch.distributed was "
                f"initialized with {size}: make it after init_process_group(), or give rank "
                f"and world_size")
    if place.size > 1:
        _check_only_sharding()


def _only_together(name: str, value: Any, count_name: str, count: Any) -> None:
    if (value is None) != (count is None):
        raise ValueError(f"give both {name} and {count_name}, or neither")


def _distributed() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _of_mesh(mesh: Any) -> tuple[int, int]:
    """Data-parallel dimensions are known by their names; without names it is the first."""
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        raise ValueError("this process is not in the mesh: give dp_rank and dp_size")
    rank, size = 0, 1
    for i in _data_dimensions(mesh.mesh_dim_names):
        rank = rank * mesh.size(i) + coordinate[i]
        size *= mesh.size(i)
    return rank, size


def _data_dimensions(names: tuple[str, ...] | None) -> list[int]:
    if not names:
        return [0]
    found = [i for i, name in enumerate(names)
             if name in _DATA_PARALLEL or name.startswith("dp_")]
    if not found:
        raise ValueError(
            f"no dimension of the mesh is called dp, or otherwise data-parallel: it has "
            f"{', '.join(names)}. Give dp_rank and dp_size, or the part of the mesh along "
            f"which batches differ: mesh[\"{names[0]}\"]")
    return found


# Classes of accelerate.data_loader that share out what a dataset yields.
_SHARING = {
    "DataLoaderDispatcher": "reads batches on rank 0 only and sends parts of them around",
    "IterableDatasetShard": "keeps every n-th batch of each rank and drops the others"}


def _check_only_sharding() -> None:
    """Accelerate shares out batches by itself. Its frames are on the stack of whoever
    iterates, and on that of workers that were forked."""
    if "accelerate" not in sys.modules:
        return
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "accelerate.data_loader":
            name = type(frame.f_locals.get("self")).__name__
            if name in _SHARING:
                raise RuntimeError(
                    f"rows would be shared out twice: this dataset already delivers only its "
                    f"rank's share, and Accelerate's {name} {_SHARING[name]}. Do not give it to "
                    f"accelerator.prepare(); or make it with rank=0, world_size=1 and leave "
                    f"the sharing to Accelerate")
        frame = frame.f_back
