"""Arrays between the caller and the engine: `.npy` files under the work folder, which messages name by their paths.

The few values of a small array travel within the message itself.
"""

import errno
import math
import os
from binascii import b2a_base64
from functools import lru_cache
from io import BufferedWriter, BytesIO, FileIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Literal, TypedDict, final

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
    """An array within a message: `base64` is its values, little-endian, and no file holds them."""

    base64: str
    dtype: str
    shape: list[int]
    order: str


# Values of the largest array that travels within a message: 8 KiB, 11,000 characters of its line. In a profile, a
# file was a tenth of a small fit (docs/benchmarks.md).
INLINE_VALUES = 1024


class ArrayStore:
    """Reads and writes the arrays of one job's work folder, and nothing outside it."""

    def __init__(self, folder: Path) -> None:
        # With a separator at its end. Paths are text here: objects of pathlib take a tenth of a small task.
        self._named = os.path.join(folder.absolute(), "")
        self._folder = os.path.join(os.path.realpath(folder), "")

    def _open(self, ref: str, mode: Literal["rb", "wb"]) -> FileIO:
        """The file that `ref` names, unbuffered.

        A plain name leads out of the folder by a link alone, which is not followed: `realpath`, which asks for each
        folder on the way, takes a twentieth of a small task.
        """
        name = ref.removeprefix(self._named)
        if os.sep in name or name in ("", os.curdir, os.pardir):
            return FileIO(self._path(ref), mode)
        try:
            return FileIO(self._folder + name, mode, opener=_open_no_link)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise TaskError("internal", f"array reference {ref!r} is a symbolic link") from error

    def _path(self, ref: str) -> str:
        path = os.path.realpath(os.path.join(self._folder, ref))
        if not path.startswith(self._folder):
            raise TaskError("internal", f"array reference {ref!r} leads out of the work folder")
        return path

    def read(self, ref: ArrayRef) -> Matrix:
        """A read-only view of the file, mapped into memory; shape and type must be those that `ref` states.

        Raises TaskError `output_failed` where it cannot be read, such as from a folder that was removed.
        """
        try:
            with self._open(ref["ref"], "rb") as file:
                known = _map_known(file, tuple(ref["shape"]))
            if known is not None:
                return known
            array: Matrix = np.load(self._path(ref["ref"]), mmap_mode="r", allow_pickle=False)
        except OSError as error:
            raise _failed("read", error) from error
        if array.dtype != np.float64 or list(array.shape) != ref["shape"] or not array.flags.c_contiguous:
            found = {"dtype": array.dtype.str, "shape": list(array.shape)}
            raise TaskError("internal", f"array {ref['ref']!r} is {found}, not {dict(ref)}")
        return array

    def write(self, ref: str, values: Matrix) -> ArrayRef:
        """Writes one-dimensional `values`. The caller reads the file once the task's result names it: then it is whole.

        Raises TaskError `output_failed` where it cannot be written, such as on a full disk.
        """
        try:
            with BufferedWriter(self._open(ref, "wb")) as file:
                file.write(_header(values.shape))
                file.write(np.ascontiguousarray(values, dtype="<f8").data)
        except OSError as error:
            raise _failed("written", error) from error
        return {"ref": ref, "dtype": "<f8", "shape": list(values.shape), "order": "C"}

    def hand_over(self, ref: str, values: Matrix) -> ArrayRef | InlineArray:
        """One-dimensional `values` for the task's result: few of them in the message, more as `write` does.

        For a task with one array in its result: the line of a result has a longest length.
        """
        if values.size > INLINE_VALUES:
            return self.write(ref, values)
        text = b2a_base64(np.ascontiguousarray(values, dtype="<f8").data, newline=False).decode("ascii")
        return {"base64": text, "dtype": "<f8", "shape": list(values.shape), "order": "C"}


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _map_known(file: FileIO, shape: tuple[int, ...]) -> Matrix | None:
    """The values of a file whose header is the one expected of `shape`; None of any other, for NumPy to judge.

    NumPy evaluates each header as Python: a fifth of a small fit.
    """
    count = math.prod(shape)
    mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
    offset = LENGTH_END + int.from_bytes(mapped[len(MAGIC) : LENGTH_END], "little")
    is_known = mapped[: len(MAGIC)] == MAGIC and mapped[LENGTH_END:offset].rstrip() == _described(shape)
    if not is_known or count == 0 or len(mapped) != offset + 8 * count:
        return None
    return np.frombuffer(mapped, dtype="<f8", count=count, offset=offset).reshape(shape)


MAGIC = b"\x93NUMPY\x01\x00"
# Behind the magic the length of the header, in two bytes.
LENGTH_END = len(MAGIC) + 2


@lru_cache(maxsize=1024)
def _header(shape: tuple[int, ...]) -> bytes:
    """The header of an array of float64, row-major, as NumPy writes it."""
    file = BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


@lru_cache(maxsize=1024)
def _described(shape: tuple[int, ...]) -> bytes:
    """What the header says: it ends in as many blanks as its writer likes."""
    return _header(shape)[LENGTH_END:].rstrip()


def _failed(doing: str, error: OSError) -> TaskError:
    """Names no path: the caller of a service does not see its machine."""
    reason = error.strerror or type(error).__name__
    hint = "; TMPDIR names another place" if doing == "written" else ""
    return TaskError("output_failed", f"the work folder of the job cannot be {doing}: {reason}{hint}")
