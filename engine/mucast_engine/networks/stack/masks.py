"""Dropout masks of a stack: each network's own, bit by bit, drawn for all of them at once."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from mucast_engine.networks.dropout import GOLDEN, LEVELS, first_counter, splitmix

Shapes = Sequence[tuple[int, ...]]


class StackMasks:
    """Masks of S networks for batches of up to `batch` windows; `seeds` (S) are those of their DropoutMasks.

    `shapes_of` returns the shapes for n windows; only axes of size 1 precede the axis of the windows.
    """

    def __init__(
        self, rate: float, seeds: Sequence[int], shapes_of: Callable[[int], Shapes], batch: int, device: torch.device
    ) -> None:
        self._dropped = min(round(rate * LEVELS), LEVELS - 1)
        self._scale = 1.0 / (1.0 - self._dropped / LEVELS)
        self._seeds, self._shapes, self._batch = tuple(seeds), shapes_of(batch) if self._dropped else [], batch
        words = (sum(math.prod(shape) for shape in self._shapes) + 3) // 4
        self._counters = torch.arange(1, words + 1, device=device).mul_(GOLDEN)

    def starts(self, steps: Sequence[int]) -> list[int]:
        """The state of each network's generator at its own number of steps: the numbers that `draw` needs."""
        return [first_counter(seed, step, 0) for seed, step in zip(self._seeds, steps, strict=True)]

    def draw(self, starts: Tensor, counts: Tensor) -> list[Tensor]:
        """Masks (S, *shape) in order, none if nothing is dropped. `starts` and `counts` (S): windows of each batch.

        Rows beyond a network's count are meaningless.
        """
        if not self._shapes:
            return []
        words = splitmix(self._counters + starts[:, None])
        kept = words.view(torch.int16).ge(self._dropped - LEVELS // 2)
        masks, before = [], 0
        for shape in self._shapes:
            # A mask starts at the end of the previous ones, whose length depends on the batch.
            width = math.prod(shape) // self._batch
            indices = torch.arange(math.prod(shape), device=counts.device) + counts[:, None] * before
            masks.append(kept.gather(1, indices).to(torch.float32).mul_(self._scale).view(-1, *shape))
            before += width
        return masks
