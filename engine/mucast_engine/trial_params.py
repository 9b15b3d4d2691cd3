"""The arguments of a trial fit: those of the caller, cut down to a few iterations on few rows."""

import re
from typing import Any

ITERATIONS = {
    "sklearn": {"n_estimators", "max_iter"},
    "xgboost": {"n_estimators"},
    "lightgbm": {
        *("n_estimators", "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round"),
        *("num_rounds", "nrounds", "num_boost_round", "max_iter"),
    },
    "catboost": {"iterations", "n_estimators", "num_boost_round", "num_trees"},
}

TREES_AN_ITERATION = {
    "sklearn": set[str](),
    "xgboost": {"num_parallel_tree"},
    "lightgbm": set[str](),
    "catboost": set[str](),
}

# Shares of the rows, of which a small one leaves none of so few rows.
ROW_SHARES = {
    "sklearn": set[str](),
    "xgboost": set[str](),
    "lightgbm": {"subsample", "bagging_fraction", "sub_row", "bagging"},
    "catboost": {"subsample"},
}

# Without it xgboost and lightgbm say nothing of names they do not use.
VERBOSITY = {
    "sklearn": dict[str, int](),
    "xgboost": {"verbosity": 1},
    "lightgbm": {"verbose": 0},
    "catboost": dict[str, int](),
}

# What every fit is given, whatever the caller says: without it catboost writes files, and a fit takes every core.
ALWAYS_SET = {"allow_writing_files", "thread_count", "n_jobs"}

VERBOSITY_ALIASES = {"lightgbm": {"verbosity"}}


def shortened(spec: dict[str, Any]) -> dict[str, Any]:
    """A copy of the arguments whose fit on few rows is quick, and wrong wherever the original is wrong."""
    library = spec["library"]
    silenced = VERBOSITY_ALIASES.get(library, set())
    params = {name: value for name, value in spec["params"].items() if name not in silenced}
    params |= VERBOSITY[library]
    for name in (ITERATIONS[library] | TREES_AN_ITERATION[library]) & params.keys():
        params[name] = _at_most(2, params[name])
    if library != "sklearn" and not ITERATIONS[library] & params.keys():
        params["n_estimators"] = 2
    for name in ROW_SHARES[library] & params.keys():
        params[name] = _at_least_half(params[name])
    return params


def _at_most(limit: int, value: Any) -> Any:
    """`value`, or `limit` of its type where it is a larger whole number; the rest stays for the library to judge."""
    if isinstance(value, int) and not isinstance(value, bool) and value > limit:
        return limit
    return float(limit) if isinstance(value, float) and value.is_integer() and value > limit else value


def _at_least_half(value: Any) -> Any:
    """A share of the rows, raised; what is no share stays for the library to judge."""
    return max(value, 0.5) if isinstance(value, float) and 0 < value <= 1 else value


def left_out(library: str, params: dict[str, Any], name: str) -> dict[str, Any]:
    """`params` without one of them; the library's own number of iterations would be no trial, so it stays small."""
    rest = {key: value for key, value in params.items() if key != name}
    return {**rest, name: 2} if name in ITERATIONS[library] else rest


def culprit_named(sentence: str, params: dict[str, Any]) -> str | None:
    """The argument that the library's sentence names, the longest where several stand in it."""
    # lightgbm's own variables end in an underscore.
    named = [name for name in params if re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}_?(?![A-Za-z0-9_])", sentence)]
    return max(named, key=len, default=None)
