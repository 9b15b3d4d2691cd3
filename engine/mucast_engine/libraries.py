"""Imports of the field's libraries: only those a job needs, once, before any worker is forked."""

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast, get_args

from mucast_engine.deferred import deferred
from mucast_engine.estimator import REGRESSORS, Library

# Names of the packages that have a library, the usual one last.
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

# Modules that a job of networks imports. Every worker would import numpy.ma with its first quantile and nested_tensor
# with its first network; of scikit-learn only one of the losses needs something.
NETWORK_MODULES = {
    "torch": ["mucast_engine.networks.tasks", "torch.nested._internal.nested_tensor", "numpy.ma"],
    "sklearn": ["sklearn.covariance"],
}

# What only the side of a job that talks to a cluster imports.
CLUSTER_MODULES = {"ray": ["ray", "ray.util.client"]}

# What scikit-learn imports for estimators, searches and plots that no job has.
UNUSED_MODULES = ["scipy.stats", "scipy.stats.mstats"]


def import_libraries(names: list[str]) -> None:
    """Imports `names` (keys of DISTRIBUTIONS) with the modules that a job needs: one of networks if torch is there.

    All but catboost take pandas if it is there and do without if it is not. It is a fifth of their import, and
    only NumPy arrays are handed to them, so it is hidden from them. scikit-learn and xgboost import scipy.stats, a
    third of their processor time, for what no job does. Of what torch imports nothing of weight is optional.
    """
    modules = CLUSTER_MODULES | (NETWORK_MODULES if "torch" in names else REGRESSOR_MODULES)
    hidden = [] if "catboost" in names else ["pandas"]
    with _no_collections(), _hidden(hidden), deferred(UNUSED_MODULES):
        for name in names:
            for module in modules[name]:
                importlib.import_module(module)
    if "torch" in names and kernel_level() is not None:
        _pin_torch()


def kernel_level() -> str | None:
    """The processor level that the caller has pinned the kernels of all libraries to, such as `x86-64-v3`."""
    return os.environ.get("MUCAST_KERNEL_LEVEL") or None


def _pin_torch() -> None:
    """oneDNN takes the sizes of its blocks, and so the order of its sums, from the processor's caches."""
    from torch.backends import mkldnn

    mkldnn.set_flags(False)


@contextmanager
def _hidden(modules: list[str]) -> Iterator[None]:
    """Makes an import of `modules` fail as if they were not installed; what is imported already stays."""
    absent = [name for name in modules if name not in sys.modules]
    for name in absent:
        sys.modules[name] = cast(Any, None)
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


@contextmanager
def _no_collections() -> Iterator[None]:
    """Imports make many objects and no garbage worth looking for; a twentieth of their time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def library_versions(names: list[str]) -> dict[str, str]:
    """Installed versions of numpy, scipy and `names`, without importing them; keys are the libraries' own names."""
    versions = {"numpy": version("numpy"), "scipy": version("scipy"), "scikit-learn": version("scikit-learn")}
    for name in names:
        title = "scikit-learn" if name == "sklearn" else name
        versions[title] = _version_of(DISTRIBUTIONS[name])
    return versions


def _version_of(distributions: tuple[str, ...]) -> str:
    """Of the first of `distributions` that is installed."""
    for distribution in distributions[:-1]:
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return version(distributions[-1])
