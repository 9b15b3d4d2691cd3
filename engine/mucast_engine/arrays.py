"""Arrays between the caller and the engine: `.npy` files under the work folder, named by relative references."""

import os
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from mucast_engine.failure import TaskError

Matrix = NDArray[np.float64]
Message = dict[str, Any]


class ArrayRef(TypedDict):
    """`ref` is a path relative to the work folder, `dtype` is always `<f8`, `order` is `C`."""

    ref: str
    dtype: str
    shape: list[int]
    order: str


class ArrayStore:
    """Reads and writes the arrays of one job's work folder, and nothing outside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def _path(self, ref: str) -> Path:
        path = (self._folder / ref).resolve()
        if not path.is_relative_to(self._folder):
            raise TaskError("internal", f"array reference {ref!r} leads out of the work folder")
        return path

    def read(self, ref: ArrayRef) -> Matrix:
        """A read-only view of the file, mapped into memory; shape and type must be those that `ref` states."""
        array: Matrix = np.load(self._path(ref["ref"]), mmap_mode="r", allow_pickle=False)
        if array.dtype != np.float64 or list(array.shape) != ref["shape"] or not array.flags.c_contiguous:
            found = {"dtype": array.dtype.str, "shape": list(array.shape)}
            raise TaskError("internal", f"array {ref['ref']!r} is {found}, not {dict(ref)}")
        return array

    def write(self, ref: str, values: Matrix) -> ArrayRef:
        """Writes one-dimensional `values`; the file appears whole or not at all.

        Raises TaskError `output_failed` where it cannot be written, such as on a full disk.
        """
        path = self._path(ref)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            with unfinished.open("wb") as file:
                np.save(file, np.ascontiguousarray(values, dtype="<f8"), allow_pickle=False)
            unfinished.replace(path)
        except OSError as error:
            message = f"cannot write into the work folder {self._folder}: {error.strerror or error}"
            raise TaskError("output_failed", message, {"path": str(self._folder)}) from error
        return {"ref": ref, "dtype": "<f8", "shape": list(values.shape), "order": "C"}
