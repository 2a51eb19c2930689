"""The arguments that say which batches are wanted, checked, as the native module takes
them."""

from __future__ import annotations

from typing import Any

from . import _arguments, _native

SHUFFLES = ("global", "window", "sequential")
REMAINDERS = ("drop", "pad", "wrap", "keep")


def stream_options(*, columns: list[str] | None = None, batch_size: Any = None,
                   global_batch_size: Any = None, shuffle: Any = "sequential",
                   window: Any = None, seed: Any = 0, epoch: Any = 0, rank: Any = 0,
                   world_size: Any = 1, remainder: Any = "drop", worker: Any = 0,
                   worker_count: Any = 1, start_step: Any = 0,
                   start_position: Any = 0) -> _native.StreamOptions:
    options = _native.StreamOptions()
    options.columns = columns
    _set_order(options, shuffle, window)
    options.seed = _arguments.whole("seed", seed)
    options.epoch = _arguments.whole("epoch", epoch)
    options.remainder = _arguments.choice("remainder", remainder, REMAINDERS)
    _set_batch_size(options, batch_size, global_batch_size)
    _set_shard(options, "rank", rank, "world_size", world_size)
    _set_shard(options, "worker", worker, "worker_count", worker_count)
    options.start_step = _arguments.whole("start_step", start_step)
    options.start_position = _arguments.whole("start_position", start_position)
    return options


def _set_order(options: _native.StreamOptions, shuffle: Any, window: Any) -> None:
    if shuffle is None or shuffle is False:
        shuffle = "sequential"
    options.shuffle = _arguments.choice("shuffle", shuffle, SHUFFLES)
    if window is None:
        return
    if shuffle != "window":
        raise ValueError(f"window is for shuffle=\"window\", not {shuffle!r}")
    options.window_ranges = _arguments.whole("window", window, 1)


def _set_batch_size(options: _native.StreamOptions, batch_size: Any,
                    global_batch_size: Any) -> None:
    if (batch_size is None) == (global_batch_size is None):
        raise ValueError("give either batch_size, for each rank, or global_batch_size, for all "
                         "of them together")
    if batch_size is not None:
        options.batch_size = _arguments.whole("batch_size", batch_size, 1)
    else:
        options.global_batch_size = _arguments.whole("global_batch_size", global_batch_size, 1)


def _set_shard(options: _native.StreamOptions, name: str, value: Any, count_name: str,
               count: Any) -> None:
    count = _arguments.whole(count_name, count, 1)
    value = _arguments.whole(name, value)
    if value >= count:
        raise ValueError(f"{name} must be below {count_name}: {name}={value}, "
                         f"{count_name}={count}")
    setattr(options, name, value)
    setattr(options, count_name, count)
