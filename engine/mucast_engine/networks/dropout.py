"""Dropout masks from a counter: the mask of a step is a function of (seed, step), the same on every device.

The generator is SplitMix64 (Steele, Lea, Flood 2014), whose n-th output needs no earlier one; each gives four uniforms
of 16 bits. PyTorch's own generator is several times slower on a CPU, and on a GPU it would make one network's masks
depend on the networks trained beside it.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

Masks = Iterator[Tensor] | None
Shapes = Sequence[tuple[int, ...]]

LEVELS = 1 << 16
GOLDEN = -0x61C8864680B583EB  # 0x9E3779B97F4A7C15 as PyTorch's int64.
ROUNDS = ((30, -0x40A7B892E31B1A47), (27, -0x6B2FB644ECCEEE15))  # 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
LAST_SHIFT = 31


def dropped(x: Tensor, masks: Masks) -> Tensor:
    """`x` under the next mask; unchanged if there are none, as in prediction."""
    return x if masks is None else x * next(masks)


class Dropout:
    """`rate` in [0, 1) is rounded to 1/65536. A mask is 0 if dropped and 1 / (1 - rate) elsewhere."""

    def __init__(self, rate: float) -> None:
        self._dropped = min(round(rate * LEVELS), LEVELS - 1)
        self._scale = 1.0 / (1.0 - self._dropped / LEVELS)

    def _keeps(self, words: Tensor) -> Tensor:
        """Shape (..., 4 n), bool, from the generator's counters (..., n), which are overwritten."""
        for shift, multiplier in ROUNDS:
            _xor_shifted(words, shift).mul_(multiplier)
        return _xor_shifted(words, LAST_SHIFT).view(torch.int16).ge(self._dropped - LEVELS // 2)

    def _masks(self, keeps: Tensor) -> Tensor:
        return keeps.to(torch.float32).mul_(self._scale)


def _xor_shifted(x: Tensor, shift: int) -> Tensor:
    """x ^= x >>> shift; PyTorch's own shift repeats the sign, so those bits are masked out."""
    return x.bitwise_xor_(x.bitwise_right_shift(shift).bitwise_and_((1 << (64 - shift)) - 1))


def first_counter(seed: int, step: int, part: int = 0) -> int:
    digest = hashlib.blake2b(f"{seed} {step} {part}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


class DropoutMasks(Dropout):
    """Draws all masks of one step of one network at once."""

    def __init__(self, rate: float, seed: int, device: torch.device) -> None:
        super().__init__(rate)
        self._seed = seed
        self._counters = torch.empty(0, dtype=torch.int64, device=device)

    def draw(self, step: int, shapes: Shapes, part: int = 0) -> Masks:
        """Masks of `shapes` in order; None if nothing is dropped.

        `part` is the number of a piece if the pieces of a step are drawn one by one.
        """
        if self._dropped == 0:
            return None
        sizes = [math.prod(shape) for shape in shapes]
        words, counters = (sum(sizes) + 3) // 4, self._counters
        if counters.numel() < words:
            self._counters = counters = torch.arange(1, words + 1, device=counters.device).mul_(GOLDEN)
        keeps = self._keeps(counters[:words] + first_counter(self._seed, step, part))
        pieces = self._masks(keeps[: sum(sizes)]).split(sizes)
        return iter([piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)])


class StackMasks(Dropout):
    """Masks of S networks for batches of up to `batch` windows, the same as each alone has; `seeds` (S).

    `shapes_of` returns the shapes for n windows; only axes of size 1 precede the axis of the windows.
    """

    def __init__(
        self, rate: float, seeds: Sequence[int], shapes_of: Callable[[int], Shapes], batch: int, device: torch.device
    ) -> None:
        super().__init__(rate)
        self._seeds, self._shapes, self._batch = tuple(seeds), shapes_of(batch) if self._dropped else [], batch
        words = (sum(math.prod(shape) for shape in self._shapes) + 3) // 4
        self._counters = torch.arange(1, words + 1, device=device).mul_(GOLDEN)

    def starts(self, steps: Sequence[int]) -> list[int]:
        """The state of each network's generator at its own number of steps: the numbers that `draw` needs."""
        return [first_counter(seed, step) for seed, step in zip(self._seeds, steps, strict=True)]

    def draw(self, starts: Tensor, counts: Tensor) -> list[Tensor]:
        """Masks (S, *shape) in order, none if nothing is dropped. `starts` and `counts` (S): windows of each batch.

        Rows beyond a network's count are meaningless.
        """
        if not self._shapes:
            return []
        keeps = self._keeps(self._counters + starts[:, None])
        masks, before = [], 0
        for shape in self._shapes:
            # A mask starts at the end of the previous ones, whose length depends on the batch.
            indices = torch.arange(math.prod(shape), device=counts.device) + counts[:, None] * before
            masks.append(self._masks(keeps.gather(1, indices)).view(-1, *shape))
            before += math.prod(shape) // self._batch
        return masks
