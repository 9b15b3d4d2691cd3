"""Dropout masks from a counter: the mask of a step is a function of (seed, step), the same on every device.

The generator is SplitMix64 (Steele, Lea, Flood 2014), whose n-th output needs no earlier one; each gives four uniforms
of 16 bits. PyTorch's own generator is several times slower on a CPU, and on a GPU it would make one network's masks
depend on the networks trained beside it.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

Masks = Iterator[Tensor] | None

LEVELS = 1 << 16
GOLDEN = -0x61C8864680B583EB  # 0x9E3779B97F4A7C15 as PyTorch's int64.
ROUNDS = ((30, -0x40A7B892E31B1A47), (27, -0x6B2FB644ECCEEE15))  # 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
LAST_SHIFT = 31


class DropoutMasks:
    """Draws all masks of one step at once. `rate` in [0, 1) is rounded to 1/65536."""

    def __init__(self, rate: float, seed: int, device: torch.device) -> None:
        self._dropped = min(round(rate * LEVELS), LEVELS - 1)
        self._scale = 1.0 / (1.0 - self._dropped / LEVELS)
        self._seed = seed
        self._counters = torch.empty(0, dtype=torch.int64, device=device)

    def draw(self, step: int, shapes: Sequence[tuple[int, ...]], part: int = 0) -> Masks:
        """Masks of `shapes` in order, 0 if dropped and 1 / (1 - rate) elsewhere; None if nothing is dropped.

        `part` is the number of a piece if the pieces of a step are drawn one by one.
        """
        if self._dropped == 0:
            return None
        sizes = [math.prod(shape) for shape in shapes]
        kept = self._uniform16(first_counter(self._seed, step, part), sum(sizes)).ge(self._dropped - LEVELS // 2)
        flat = kept.to(torch.float32).mul_(self._scale)
        return iter([piece.view(shape) for piece, shape in zip(flat.split(sizes), shapes, strict=True)])

    def _uniform16(self, start: int, count: int) -> Tensor:
        """Shape (count), int16, uniform over all 65,536 values."""
        words, counters = (count + 3) // 4, self._counters
        if counters.numel() < words:
            self._counters = counters = torch.arange(1, words + 1, device=counters.device).mul_(GOLDEN)
        return splitmix(counters[:words] + start).view(torch.int16)[:count]


def splitmix(x: Tensor) -> Tensor:
    """SplitMix64's output function, in place, on int64 with the bits of uint64."""
    for shift, multiplier in ROUNDS:
        _xor_shifted(x, shift).mul_(multiplier)
    return _xor_shifted(x, LAST_SHIFT)


def _xor_shifted(x: Tensor, shift: int) -> Tensor:
    """x ^= x >>> shift; PyTorch's own shift repeats the sign, so those bits are masked out."""
    return x.bitwise_xor_(x.bitwise_right_shift(shift).bitwise_and_((1 << (64 - shift)) - 1))


def first_counter(seed: int, step: int, part: int) -> int:
    digest = hashlib.blake2b(f"{seed} {step} {part}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def dropped(x: Tensor, masks: Masks) -> Tensor:
    """`x` under the next mask; unchanged if there are none, as in prediction."""
    return x if masks is None else x * next(masks)
