"""A text that all processes see which read for one loop."""

from __future__ import annotations

import torch


class SharedText:
    """Set in the training process, read in workers however they are started. Nobody reads
    while it is set: workers look where an iteration begins."""

    def __init__(self, bytes_max: int):
        self._tensor = torch.zeros(8 + bytes_max, dtype=torch.uint8).share_memory_()

    def set(self, text: str) -> None:
        data = text.encode()
        if 8 + len(data) > len(self._tensor):
            raise ValueError(f"this takes {len(data)} bytes of the {len(self._tensor) - 8} that "
                             f"there are for weights and states: change weights fewer times")
        array = self._tensor.numpy()
        array[:8] = list(len(data).to_bytes(8, "little"))
        array[8:8 + len(data)] = list(data)

    def get(self) -> str:
        data = self._tensor.numpy().tobytes()
        return data[8:8 + int.from_bytes(data[:8], "little")].decode()
