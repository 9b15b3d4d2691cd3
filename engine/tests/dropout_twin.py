"""The masks of dropout, one number after the other: SplitMix64 in plain integers."""

import hashlib
import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

BITS = (1 << 64) - 1


def splitmix64(state: int) -> int:
    """The output that follows `state`, which moves by the golden ratio."""
    z = state & BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
    return z ^ (z >> 31)


def mask_twins(rate: float, seed: int, step: int, shapes: Sequence[tuple[int, ...]], part: int = 0) -> list[Tensor]:
    """Float32 masks of `shapes`; each word gives four numbers of 16 bits, the lowest first, read with a sign."""
    digest = hashlib.blake2b(f"{seed} {step} {part}".encode(), digest_size=8).digest()
    start, cut = int.from_bytes(digest, "little"), min(round(rate * 65536), 65535)
    count = sum(math.prod(shape) for shape in shapes)
    kept = []
    for word in range(1, (count + 3) // 4 + 1):
        bits = splitmix64(start + word * 0x9E3779B97F4A7C15)
        for place in range(4):
            number = (bits >> (16 * place)) & 0xFFFF
            signed = number - 65536 if number >= 32768 else number
            kept.append(signed + 32768 >= cut)
    masks, first = [], 0
    for shape in shapes:
        size = math.prod(shape)
        own = np.array(kept[first : first + size], dtype=np.float64).reshape(shape) / (1 - cut / 65536)
        masks.append(torch.from_numpy(own.astype(np.float32)))
        first += size
    return masks
