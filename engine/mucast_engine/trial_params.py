"""The arguments of a trial fit: those of the caller, cut down to a few iterations on few rows."""

import re
from typing import Any

ITERATIONS = {
    "sklearn": {"n_estimators", "max_iter"},
    "xgboost": {"n_estimators"},
    "lightgbm": {
        "n_estimators",
        "num_iterations",
        "num_iteration",
        "n_iter",
        "num_tree",
        "num_trees",
        "num_round",
        "num_rounds",
        "nrounds",
        "num_boost_round",
        "max_iter",
    },
    "catboost": {"iterations", "n_estimators", "num_boost_round", "num_trees"},
}

# Arguments that speak of single features, so that they fit one number of columns only.
BY_FEATURE = {
    "sklearn": {"monotonic_cst", "precompute"},
    "xgboost": {"monotone_constraints", "interaction_constraints", "feature_weights", "feature_types"},
    "lightgbm": {
        "monotone_constraints",
        "mc",
        "monotone_constraint",
        "monotonic_cst",
        "feature_contri",
        "feature_contrib",
        "fc",
        "fp",
        "feature_penalty",
        "interaction_constraints",
        "max_bin_by_feature",
        "cegb_penalty_feature_lazy",
        "cegb_penalty_feature_coupled",
        "categorical_feature",
        "cat_feature",
        "categorical_column",
        "cat_column",
        "categorical_features",
        "ignore_column",
        "ignore_feature",
        "blacklist",
    },
    "catboost": {
        "monotone_constraints",
        "feature_weights",
        "penalties_coefficient",
        "first_feature_use_penalties",
        "per_object_feature_penalties",
        "ignored_features",
        "per_float_feature_quantization",
        "cat_features",
        "text_features",
        "embedding_features",
        "feature_border_type_by_feature",
    },
}

VERBOSITY = {
    "sklearn": {},
    "xgboost": {"verbosity": 1},
    "lightgbm": {},
    "catboost": {},
}


def shortened(spec: dict[str, Any], rows: int, *, keep_feature_arguments: bool) -> dict[str, Any]:
    """A copy of the arguments whose fit on `rows` rows is quick, and wrong wherever the original is wrong."""
    library = spec["library"]
    params = {**spec["params"], **VERBOSITY[library]}
    for name in ITERATIONS[library] & params.keys():
        params[name] = _at_most(2, params[name])
    if library == "sklearn" and "max_samples" in params:
        # A count of rows, which is refused where there are fewer; a share of them is a float.
        params["max_samples"] = _at_most(rows, params["max_samples"])
    if library == "lightgbm" and not ITERATIONS[library] & params.keys():
        params["n_estimators"] = 2
    if library in ("xgboost", "catboost") and not ITERATIONS[library] & params.keys():
        params["n_estimators"] = 2
    if not keep_feature_arguments:
        params = {name: value for name, value in params.items() if name not in BY_FEATURE[library]}
    return params


def _at_most(limit: int, value: Any) -> Any:
    """`value`, or `limit` where it is a larger integer; what is no integer stays for the library to judge."""
    return limit if isinstance(value, int) and not isinstance(value, bool) and value > limit else value


def culprit_named(sentence: str, params: dict[str, Any]) -> str | None:
    """The argument that the library's sentence names, the longest where several stand in it."""
    named = [name for name in params if re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", sentence)]
    return max(named, key=len, default=None)
