"""Arrays between the caller and the engine: `.npy` files under the work folder, which messages name by their paths.

A small array travels within the message itself.
"""

import math
import os
from binascii import b2a_base64
from functools import lru_cache
from io import BufferedReader, BytesIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, TypedDict, final

import numpy as np
from numpy.typing import NDArray

from mucast_engine.failure import TaskError

Matrix = NDArray[np.float64]
Message = dict[str, Any]


@final
class ArrayRef(TypedDict):
    """`ref` is a path under the work folder, absolute or relative to it; `dtype` is always `<f8`, `order` is `C`."""

    ref: str
    dtype: str
    shape: list[int]
    order: str


@final
class InlineArray(TypedDict):
    """An array within a message: `base64` contains its values, little-endian, and no file does."""

    base64: str
    dtype: str
    shape: list[int]
    order: str


# Largest number of values of an array within a message: 8 KiB, 11,000 characters of its line. In a profile, a file was
# a tenth of a small fit.
INLINE_VALUES = 1024


class ArrayStore:
    """Reads and writes the arrays of one job's work folder, and nothing outside it."""

    def __init__(self, folder: Path) -> None:
        # With a final separator. Paths are strings here: pathlib objects take a tenth of a small task.
        self._folder = os.path.join(os.path.abspath(folder), "")

    def _path(self, ref: str) -> str:
        path = os.path.normpath(os.path.join(self._folder, ref))
        if not path.startswith(self._folder):
            raise TaskError("internal", f"array reference {ref!r} leads out of the work folder")
        return path

    def read(self, ref: ArrayRef) -> Matrix:
        """A read-only view of the file, mapped into memory; shape and type must be those that `ref` states.

        Raises TaskError `output_failed` if it cannot be read, such as from a folder that was removed, and `internal`
        with its name if it is not such an array: truncated, empty, or of another shape.
        """
        try:
            with open(self._path(ref["ref"]), "rb") as file:
                return _mapped(file, ref)
        except OSError as error:
            raise _failed("read", error) from error

    def write(self, ref: str, values: Matrix) -> ArrayRef:
        """Writes one-dimensional `values`. The caller reads the file once the task's result names it, when it is
        complete.

        Raises TaskError `output_failed` if it cannot be written, such as on a full disk.
        """
        try:
            with open(self._path(ref), "wb") as file:
                file.write(_header(values.shape))
                file.write(np.ascontiguousarray(values, dtype="<f8").data)
        except OSError as error:
            raise _failed("written", error) from error
        return {"ref": ref, "dtype": "<f8", "shape": list(values.shape), "order": "C"}

    def hand_over(self, ref: str, values: Matrix) -> ArrayRef | InlineArray:
        """One-dimensional `values` for the task's result: a few in the message, more in a file as `write` does.

        For a task with one array in its result: the line of a result has a maximum length.
        """
        if values.size > INLINE_VALUES:
            return self.write(ref, values)
        text = b2a_base64(np.ascontiguousarray(values, dtype="<f8").data, newline=False).decode("ascii")
        return {"base64": text, "dtype": "<f8", "shape": list(values.shape), "order": "C"}


MAGIC = b"\x93NUMPY\x01\x00"
# Offset of the header's length, in two bytes behind the magic.
LENGTH_END = len(MAGIC) + 2


def _mapped(file: BufferedReader, ref: ArrayRef) -> Matrix:
    shape = tuple(ref["shape"])
    count = math.prod(shape)
    if os.fstat(file.fileno()).st_size == 0:
        raise TaskError("internal", f"{ref['ref']!r} is no array file: it is empty")
    mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
    offset = LENGTH_END + int.from_bytes(mapped[len(MAGIC) : LENGTH_END], "little")
    if mapped[: len(MAGIC)] != MAGIC or mapped[LENGTH_END:offset].rstrip() != _described(shape):
        raise TaskError("internal", f"{ref['ref']!r} is no array file of float64 with the shape {ref['shape']}")
    if len(mapped) != offset + 8 * count:
        held = f"has {len(mapped) - offset} bytes of values, and {count} values take {8 * count}"
        raise TaskError("internal", f"the array file {ref['ref']!r} {held}")
    return np.frombuffer(mapped, dtype="<f8", count=count, offset=offset).reshape(shape)


@lru_cache(maxsize=1024)
def _header(shape: tuple[int, ...]) -> bytes:
    """The header of an array of float64, row-major, as NumPy writes it."""
    file = BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


@lru_cache(maxsize=1024)
def _described(shape: tuple[int, ...]) -> bytes:
    """The text of the header without its padding, whose length the writer chooses."""
    return _header(shape)[LENGTH_END:].rstrip()


def _failed(doing: str, error: OSError) -> TaskError:
    """Names no path: the caller of a service does not see its machine."""
    reason = error.strerror or type(error).__name__
    hint = "; TMPDIR names another place" if doing == "written" else ""
    return TaskError("output_failed", f"the work folder of the job cannot be {doing}: {reason}{hint}")
