"""Prints the catalogue; `npm run generate` keeps it in src/contract/model-params/catalogue.json."""

import json
import os
from importlib.metadata import version
from typing import Any

import xgboost

from mucast_engine.catalogue import Parameters
from mucast_engine.catalogue.of_catboost import catboost_parameters
from mucast_engine.catalogue.of_lightgbm import lightgbm_parameters
from mucast_engine.catalogue.of_sklearn import sklearn_parameters
from mucast_engine.catalogue.of_xgboost import xgboost_parameters
from mucast_engine.estimator import REGRESSORS, estimator_class
from mucast_engine.process import claim_stdout

BOOSTING = {"xgboost": xgboost_parameters, "lightgbm": lightgbm_parameters, "catboost": catboost_parameters}


def catalogue() -> str:
    """As JSON: keys in code point order and one parameter per line, for readable diffs."""
    # xgboost's version from the module, because several packages have it.
    versions = {name: version(name) for name in ("catboost", "lightgbm", "scikit-learn")}
    versions["xgboost"] = str(xgboost.__version__)
    models = []
    for model, (library, name, _) in sorted(REGRESSORS.items()):
        parameters: Parameters = (
            sklearn_parameters(estimator_class(library, name)) if library == "sklearn" else BOOSTING[library]()
        )
        rows = []
        for parameter, found in sorted(parameters.items()):
            stated: dict[str, Any] = {key: value for key, value in found.items() if value not in ([], None)}
            # In JavaScript 1.0 is 1, so `float` marks it.
            if isinstance(stated.get("default"), float) and stated["default"].is_integer():
                stated["float"] = True
            rows.append(f"{json.dumps(parameter)}: {json.dumps(stated, sort_keys=True)}")
        models.append(f"{json.dumps(model)}: {{\n" + ",\n".join(rows) + "\n}")
    head = f'{{\n"versions": {json.dumps(versions, sort_keys=True)},\n"models": {{\n'
    return head + ",\n".join(models) + "\n}\n}\n"


if __name__ == "__main__":
    # The libraries get invalid values on purpose, and print complaints.
    with os.fdopen(claim_stdout(), "w") as stdout:
        stdout.write(catalogue())
