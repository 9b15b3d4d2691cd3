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

# Arguments that speak of single columns, so that they fit some numbers of columns only.
BY_COLUMN = {
    "sklearn": {"monotonic_cst", "precompute"},
    "xgboost": {"monotone_constraints", "interaction_constraints", "feature_weights", "feature_types"},
    "lightgbm": {
        *("monotone_constraints", "mc", "monotone_constraint", "monotonic_cst", "feature_contri", "feature_contrib"),
        *("fc", "fp", "feature_penalty", "interaction_constraints", "max_bin_by_feature"),
        *("cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled", "categorical_feature", "cat_feature"),
        *("categorical_column", "cat_column", "categorical_features", "ignore_column", "ignore_feature", "blacklist"),
    },
    "catboost": {
        *("monotone_constraints", "feature_weights", "first_feature_use_penalties", "per_object_feature_penalties"),
        *("ignored_features", "per_float_feature_quantization", "cat_features", "text_features"),
        *("embedding_features",),
    },
}

# Without it xgboost and lightgbm say nothing of names they do not use.
VERBOSITY = {
    "sklearn": dict[str, int](),
    "xgboost": {"verbosity": 1},
    "lightgbm": {"verbose": 0},
    "catboost": dict[str, int](),
}

VERBOSITY_ALIASES = {"lightgbm": {"verbosity"}}
DEFAULT_WIDTH = 8
WIDEST = 5_000


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


def implied_widths(spec: dict[str, Any]) -> list[int]:
    """Numbers of columns that the arguments may be meant for, the likeliest first."""
    widths = [
        width
        for name in sorted(BY_COLUMN[spec["library"]] & spec["params"].keys())
        for width in _widths_of(spec["params"][name])
    ]
    return list(dict.fromkeys(min(width, WIDEST) for width in [*widths, DEFAULT_WIDTH]))


def _widths_of(value: Any) -> list[int]:
    """One entry a column, as a list or inside a text; or columns called by their numbers."""
    numbers = [int(digits) for digits in re.findall(r"\d{1,6}", str(value))]
    listed = [len(value)] if isinstance(value, list) and value else []
    written = [value.count(",") + 1] if isinstance(value, str) else []
    return listed + written + ([max(numbers) + 1] if numbers else [])


def culprit_named(sentence: str, params: dict[str, Any]) -> str | None:
    """The argument that the library's sentence names, the longest where several stand in it."""
    # lightgbm's own variables end in an underscore.
    named = [name for name in params if re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}_?(?![A-Za-z0-9_])", sentence)]
    return max(named, key=len, default=None)
