"""Arrays between the caller and the engine: `.npy` files under the work folder, which messages name by their paths."""

import math
import os
from functools import lru_cache
from io import BytesIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from mucast_engine.failure import TaskError

Matrix = NDArray[np.float64]
Message = dict[str, Any]


class ArrayRef(TypedDict):
    """`ref` is a path under the work folder, absolute or relative to it; `dtype` is always `<f8`, `order` is `C`."""

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
        """A read-only view of the file, mapped into memory; shape and type must be those that `ref` states.

        Raises TaskError `output_failed` where it cannot be read, such as from a folder that was removed.
        """
        path = self._path(ref["ref"])
        try:
            known = _map_known(path, tuple(ref["shape"]))
            if known is not None:
                return known
            array: Matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        except OSError as error:
            raise _failed("read", error) from error
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
                file.write(_header(values.shape))
                file.write(np.ascontiguousarray(values, dtype="<f8").data)
            unfinished.replace(path)
        except OSError as error:
            raise _failed("written", error) from error
        return {"ref": ref, "dtype": "<f8", "shape": list(values.shape), "order": "C"}


def _map_known(path: Path, shape: tuple[int, ...]) -> Matrix | None:
    """The values of a file whose header is the one expected of `shape`; None of any other, for NumPy to judge.

    NumPy evaluates each header as Python: a fifth of a small fit.
    """
    count = math.prod(shape)
    with path.open("rb") as file:
        start = file.read(len(MAGIC) + 2)
        length = int.from_bytes(start[len(MAGIC) :], "little")
        is_known = start[: len(MAGIC)] == MAGIC and file.read(length).rstrip() == _header(shape)[len(start) :].rstrip()
        offset = len(start) + length
        if not is_known or count == 0 or os.fstat(file.fileno()).st_size != offset + 8 * count:
            return None
        mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
    return np.frombuffer(mapped, dtype="<f8", count=count, offset=offset).reshape(shape)


MAGIC = b"\x93NUMPY\x01\x00"


@lru_cache(maxsize=1024)
def _header(shape: tuple[int, ...]) -> bytes:
    """The header of an array of float64, row-major, as NumPy writes it."""
    file = BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


def _failed(doing: str, error: OSError) -> TaskError:
    """Names no path: the caller of a service does not see its machine."""
    reason = error.strerror or type(error).__name__
    hint = "; TMPDIR names another place" if doing == "written" else ""
    return TaskError("output_failed", f"the work folder of the job cannot be {doing}: {reason}{hint}")
