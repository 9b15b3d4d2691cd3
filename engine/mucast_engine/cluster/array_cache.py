"""What is in the cluster of the arrays of a work folder: those used last, within a bound."""

from collections import OrderedDict
from typing import Generic, NamedTuple, TypeVar

R = TypeVar("R")


class ArrayKey(NamedTuple):
    """A file as it is now: one that is written anew under the same name is another array."""

    path: str
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    """Of the inode itself, which no program sets."""


class ArrayCache(Generic[R]):
    """References by file, at most `bound` bytes of arrays together; one that is larger by itself is kept alone.

    A reference that goes from here lives on as long as a task uses it; the array is put again when it is next needed.
    """

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self._kept: OrderedDict[ArrayKey, tuple[R, int]] = OrderedDict()
        self.held = 0
        """Bytes of the arrays that are kept."""
        self.put = 0
        """Bytes of all that were ever added."""

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: ArrayKey) -> R | None:
        """The reference, which is then the one used last."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def add(self, key: ArrayKey, reference: R, size: int) -> None:
        """Keeps a new one of `size` bytes, and lets go of those used longest ago that no longer fit."""
        self._kept[key] = (reference, size)
        self.held += size
        self.put += size
        while self.held > self.bound and len(self._kept) > 1:
            _, (_, freed) = self._kept.popitem(last=False)
            self.held -= freed

    def drop(self, key: ArrayKey) -> None:
        """Lets go of one, where it is kept."""
        _, freed = self._kept.pop(key, (None, 0))
        self.held -= freed

    def clear(self) -> None:
        """Lets go of all."""
        self._kept.clear()
        self.held = 0
