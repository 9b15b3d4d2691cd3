"""Prints the catalogue; `npm run generate` keeps it in src/contract/model-params/catalogue.json."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import xgboost

from mucast_engine.catalogue.of_catboost import catboost_parameters
from mucast_engine.catalogue.of_lightgbm import lightgbm_parameters
from mucast_engine.catalogue.of_sklearn import sklearn_parameters
from mucast_engine.catalogue.of_xgboost import xgboost_parameters
from mucast_engine.catalogue.parameters import Parameter, Parameters
from mucast_engine.estimator import REGRESSORS, Library, estimator_class
from mucast_engine.failure import unknown


def catalogue() -> dict[str, Parameters]:
    """The parameters of every model."""
    return {model: _parameters(library, name) for model, (library, name, _) in REGRESSORS.items()}


def _parameters(library: Library, name: str) -> Parameters:
    match library:
        case "sklearn":
            return sklearn_parameters(estimator_class(library, name))
        case "xgboost":
            return xgboost_parameters()
        case "lightgbm":
            return lightgbm_parameters()
        case "catboost":
            return catboost_parameters()
        case _:
            raise unknown("library", library)


def versions() -> dict[str, str]:
    """Versions of the libraries; xgboost's from the module, because several packages have it."""
    installed = {name: version(name) for name in ("catboost", "lightgbm", "scikit-learn")}
    return {**installed, "xgboost": str(xgboost.__version__)}


def text(models: dict[str, Parameters]) -> str:
    """The catalogue as JSON: keys in code point order and one parameter per line, for readable diffs."""
    blocks = []
    for model, parameters in sorted(models.items()):
        rows = [f"{json.dumps(name)}: {_line(parameter)}" for name, parameter in sorted(parameters.items())]
        blocks.append(f"{json.dumps(model)}: {{\n" + ",\n".join(rows) + "\n}")
    return (
        f'{{\n"versions": {json.dumps(versions(), sort_keys=True)},\n"models": {{\n' + ",\n".join(blocks) + "\n}\n}\n"
    )


def _line(parameter: Parameter) -> str:
    """One parameter; empty entries are omitted. In JavaScript 1.0 is 1, so `float` marks it."""
    stated: dict[str, Any] = {key: value for key, value in parameter.items() if value not in ([], None)}
    if isinstance(stated.get("default"), float) and stated["default"].is_integer():
        stated["float"] = True
    return json.dumps(stated, sort_keys=True)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Redirects file descriptors 1 and 2 to nowhere: the libraries get invalid values on purpose, and print
    complaints."""
    kept = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        sys.stdout.flush()
        for descriptor in kept:
            os.dup2(nowhere, descriptor)
        yield
    finally:
        sys.stdout.flush()
        for descriptor, copy in kept.items():
            os.dup2(copy, descriptor)
            os.close(copy)
        os.close(nowhere)


if __name__ == "__main__":
    with _silence():
        made = text(catalogue())
    sys.stdout.write(made)
