"""A task, and its arrays as the engine's caller writes them."""

from pathlib import Path
from typing import Any

import numpy as np

from mucast_engine.arrays import ArrayRef, Matrix

Task = dict[str, Any]


def save(folder: Path, name: str, values: Matrix) -> ArrayRef:
    np.save(folder / name, values)
    return {"ref": str(folder / name), "dtype": "<f8", "shape": list(values.shape), "order": "C"}
