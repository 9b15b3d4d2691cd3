"""A task, and its arrays as the engine's caller writes them."""

from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np

from mucast_engine.arrays import ArrayRef, InlineArray, Matrix

Task = dict[str, Any]


def save(folder: Path, name: str, values: Matrix) -> ArrayRef:
    """A new file in place of one with the name: an engine may have the old one mapped, and cutting it would kill the
    engine by SIGBUS."""
    unfinished = folder / f"{name}.new"
    with unfinished.open("wb") as file:
        np.save(file, values)
    unfinished.replace(folder / name)
    return {"ref": str(folder / name), "dtype": "<f8", "shape": list(values.shape), "order": "C"}


def values_of(array: ArrayRef | InlineArray) -> Matrix:
    """What the engine returned."""
    if "base64" in array:
        return np.frombuffer(b64decode(array["base64"], validate=True), dtype="<f8").reshape(array["shape"])
    values: Matrix = np.load(array["ref"])
    return values
