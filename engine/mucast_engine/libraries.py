"""Imports of the field's libraries: only those a job needs, once, before any worker is forked."""

import importlib
from importlib.metadata import PackageNotFoundError, version

from mucast_engine.estimator import MODULES

DISTRIBUTIONS = {
    "sklearn": ("scikit-learn",),
    "xgboost": ("xgboost-cpu", "xgboost"),
    "lightgbm": ("lightgbm",),
    "catboost": ("catboost",),
}


def import_libraries(names: list[str]) -> None:
    """Imports `names` (keys of DISTRIBUTIONS) with the modules that their regressors need."""
    for name in names:
        for module in sorted(set(MODULES[name].values())):
            importlib.import_module(module)


def library_versions(names: list[str]) -> dict[str, str]:
    """Installed versions of numpy, scipy and `names`, without importing them; keys are the libraries' own names."""
    versions = {"numpy": version("numpy"), "scipy": version("scipy"), "scikit-learn": version("scikit-learn")}
    for name in names:
        for distribution in DISTRIBUTIONS[name]:
            try:
                versions["scikit-learn" if name == "sklearn" else name] = version(distribution)
                break
            except PackageNotFoundError:
                continue
    return versions
