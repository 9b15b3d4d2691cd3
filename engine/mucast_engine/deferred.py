"""Modules that libraries reference while they are imported, but no fit uses: imported at their first use."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def deferred(modules: list[str]) -> Iterator[None]:
    """Replaces each of `modules` that is not imported yet by a stand-in, from which importers get functions and objects
    by name.

    The first use of one imports the module.
    """
    standing_in = [_StandIn(name) for name in modules if name not in sys.modules]
    sys.modules.update({module.__name__: module for module in standing_in})
    try:
        yield
    finally:
        _remove_stand_ins()


def _remove_stand_ins() -> None:
    # Other threads may be importing meanwhile, and so may a module that is examined.
    for name, module in list(sys.modules.items()):
        if isinstance(module, _StandIn):
            sys.modules.pop(name, None)


class _StandIn(ModuleType):
    """Every name exists in it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []  # As a package, it may have others of `modules` below it.

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Named(self.__name__, name)


class _Named:
    """A function or an object of a module, which a call or an attribute imports."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def _real(self) -> object:
        _remove_stand_ins()
        return getattr(importlib.import_module(self._module), self._name)

    def __call__(self, *args: object, **named: object) -> object:
        real = self._real()
        if not callable(real):
            raise TypeError(f"{self._module}.{self._name} is not callable")
        return real(*args, **named)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # Python looks for them, for example in a copy that has no attributes yet.
            raise AttributeError(name)
        return getattr(self._real(), name)
