"""Seeds that depend on what is drawn and for which network, never on the order of the work or on the worker."""

import hashlib

import torch


def derive_seed(seed: int, ticker: str, purpose: str, member: int = 0) -> int:
    """63 bits for one `purpose` (weights, order, dropout) of one network; `ticker` is its name in the job.

    `member` is its index in an ensemble. Member 0 has the seeds of a network without an ensemble.
    """
    parts = [str(seed), ticker, purpose, *([str(member)] if member > 0 else [])]
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") >> 1


def generator_for(seed: int, ticker: str, purpose: str, member: int = 0) -> torch.Generator:
    """On the CPU whatever the device, so that a network starts and shuffles the same way everywhere."""
    return torch.Generator().manual_seed(derive_seed(seed, ticker, purpose, member))
