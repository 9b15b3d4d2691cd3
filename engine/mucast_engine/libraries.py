"""Imports of the field's libraries: only those that a job needs, once, before any worker is forked."""

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any, cast, get_args

from mucast_engine.estimator import REGRESSORS, Library

# Names of the packages that provide a library, the usual one last.
DISTRIBUTIONS = {
    "sklearn": ("scikit-learn",),
    "xgboost": ("xgboost-cpu", "xgboost"),
    "lightgbm": ("lightgbm",),
    "catboost": ("catboost",),
    "torch": ("torch",),
    "ray": ("ray",),
}

# Modules that a job of regressors imports.
REGRESSOR_MODULES = {
    library: sorted({module for its_library, _, module in REGRESSORS.values() if its_library == library})
    for library in get_args(Library)
}

# Modules that a job of networks imports. Otherwise every worker would import numpy.ma with its first quantile and
# nested_tensor with its first network; only one of the losses needs scikit-learn.
NETWORK_MODULES = {
    "torch": ["mucast_engine.networks.tasks", "torch.nested._internal.nested_tensor", "numpy.ma"],
    "sklearn": ["sklearn.covariance"],
}

# Imported only by the side of a job that talks to a cluster.
CLUSTER_MODULES = {"ray": ["ray", "ray.util.client"]}

# What scikit-learn imports for estimators, searches and plots that no job uses.
UNUSED_MODULES = ["scipy.stats", "scipy.stats.mstats"]


def import_libraries(names: list[str]) -> None:
    """Imports `names` (keys of DISTRIBUTIONS) with the modules that a job needs: one of networks if torch is there.

    All but catboost use pandas if it is installed and work without it otherwise. It is a fifth of their import time,
    and they only get NumPy arrays, so it is hidden from them. scikit-learn and xgboost import scipy.stats, a third of
    their processor time, for functions that no job uses. None of the heavy imports of torch is optional.
    """
    modules = CLUSTER_MODULES | (NETWORK_MODULES if "torch" in names else REGRESSOR_MODULES)
    hidden = [] if "catboost" in names else ["pandas"]
    gc.disable()  # Imports create many objects and hardly any garbage; collecting it takes a twentieth of their time.
    try:
        with _hidden(hidden), deferred(UNUSED_MODULES):
            for name in names:
                for module in modules[name]:
                    importlib.import_module(module)
    finally:
        gc.enable()
    if "torch" in names and kernel_level() is not None:
        from torch.backends import mkldnn

        # oneDNN takes its block sizes, and so the order of its sums, from the processor's caches.
        mkldnn.set_flags(False)


def kernel_level() -> str | None:
    """The processor level to which the caller pins the kernels of all libraries, such as `x86-64-v3`."""
    return os.environ.get("MUCAST_KERNEL_LEVEL") or None


@contextmanager
def _hidden(modules: list[str]) -> Iterator[None]:
    """Makes an import of `modules` fail as if they were not installed; modules that are already imported stay."""
    absent = [name for name in modules if name not in sys.modules]
    for name in absent:
        sys.modules[name] = cast(Any, None)
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


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


def library_versions(names: list[str]) -> dict[str, str]:
    """Installed versions of numpy, scipy and `names`, without importing them; keys are the libraries' own names."""
    versions = {"numpy": version("numpy"), "scipy": version("scipy"), "scikit-learn": version("scikit-learn")}
    for name in names:
        *others, usual = DISTRIBUTIONS[name]
        installed = next((other for other in others if _is_installed(other)), usual)
        versions["scikit-learn" if name == "sklearn" else name] = version(installed)
    return versions


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True
