"""Constructs and fits the regressors named on stdin, a JSON list of {"library", "class", "params"}.

Prints one JSON list: for each, the error's text, or null with the arguments as Python reads them, the number of rows
predicted, the threads that were used if the library reports them, and whether a second fit gives the same bits.
"""

import json
import os
import sys
import warnings
from typing import Any

import numpy as np

from mucast_engine.estimator import make_estimator

ROWS = 60


def fitted(spec: dict[str, Any]) -> dict[str, Any]:
    generator = np.random.default_rng(3)
    x = generator.standard_normal((ROWS, 3))
    y = 0.01 * generator.standard_normal(ROWS)
    try:
        model = make_estimator(spec, spec["params"]).fit(x, y)
        predicted = np.asarray(model.predict(x))
        again = make_estimator(spec, spec["params"]).fit(x, y).predict(x)
        told = trained_with(spec, model)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {
        "error": None,
        "shape": list(predicted.shape),
        "finite": bool(np.isfinite(predicted).all()),
        "repeats": bool(np.array_equal(predicted, again)),
        "python": {name: repr(value) for name, value in spec["params"].items()},
        "trained_with": told,
    }


def trained_with(spec: dict[str, Any], model: Any) -> dict[str, Any]:
    """Native parameters as the library itself reports them after the fit; empty if it does not."""
    if spec["library"] == "lightgbm":
        import lightgbm

        return dict(lightgbm.Booster(model_str=model.booster_.model_to_string()).params)
    if spec["library"] == "xgboost":
        config = json.loads(model.get_booster().save_config())["learner"]
        return {**config["generic_param"], **config["gradient_booster"].get("tree_train_param", {})}
    if spec["library"] == "catboost":
        return dict(model.get_all_params())
    return {}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    specs = json.load(sys.stdin)
    # Some libraries print from C++ although their arguments request silence.
    out, errors = os.fdopen(os.dup(1), "w"), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    results = [fitted(spec) for spec in specs]
    os.dup2(errors, 2)
    json.dump(results, out)
