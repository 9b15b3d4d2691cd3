"""The arguments of a trial fit: those of the caller, reduced to a few iterations on few rows."""

import re
from collections.abc import Mapping, Set
from typing import Any, NamedTuple

from mucast_engine.estimator import Library


class TrialArguments(NamedTuple):
    """What a trial changes in the arguments of one library."""

    iterations: Set[str]
    """Every name of the number of iterations."""
    limits_default: bool
    """Whether the library's default number of iterations is too many for a trial."""
    trees_an_iteration: Set[str] = set()
    row_shares: Set[str] = set()
    """Shares of the rows; a small one would leave none of so few rows."""
    verbosity: Mapping[str, int] = {}
    """Without it, xgboost and lightgbm do not report names that they do not use."""
    verbosity_aliases: Set[str] = set()


ARGUMENTS: dict[Library, TrialArguments] = {
    "sklearn": TrialArguments(iterations={"n_estimators", "max_iter"}, limits_default=False),
    "xgboost": TrialArguments(
        iterations={"n_estimators"},
        limits_default=True,
        trees_an_iteration={"num_parallel_tree"},
        verbosity={"verbosity": 1},
    ),
    "lightgbm": TrialArguments(
        iterations={
            *("n_estimators", "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round"),
            *("num_rounds", "nrounds", "num_boost_round", "max_iter"),
        },
        limits_default=True,
        row_shares={"subsample", "bagging_fraction", "sub_row", "bagging"},
        verbosity={"verbose": 0},
        verbosity_aliases={"verbosity"},
    ),
    "catboost": TrialArguments(
        iterations={"iterations", "n_estimators", "num_boost_round", "num_trees"},
        limits_default=True,
        row_shares={"subsample"},
    ),
}

# The caller adds them to every fit: without them catboost writes files, and a fit uses every core.
ALWAYS_SET = {"allow_writing_files", "thread_count", "n_jobs"}


def shortened(spec: dict[str, Any]) -> dict[str, Any]:
    """A copy of the arguments whose fit on few rows is quick, and wrong whenever the original is wrong."""
    own = ARGUMENTS[spec["library"]]
    params = {name: value for name, value in spec["params"].items() if name not in own.verbosity_aliases}
    params |= own.verbosity
    for name in (own.iterations | own.trees_an_iteration) & params.keys():
        params[name] = _at_most(2, params[name])
    if own.limits_default and not own.iterations & params.keys():
        params["n_estimators"] = 2
    for name in own.row_shares & params.keys():
        params[name] = _at_least_half(params[name])
    return params


def _at_most(limit: int, value: Any) -> Any:
    """`value`, or `limit` of its type if it is a larger whole number; the library judges everything else."""
    if isinstance(value, int) and not isinstance(value, bool) and value > limit:
        return limit
    return float(limit) if isinstance(value, float) and value.is_integer() and value > limit else value


def _at_least_half(value: Any) -> Any:
    """A share of the rows, raised; the library judges anything else."""
    return max(value, 0.5) if isinstance(value, float) and 0 < value <= 1 else value


def left_out(library: Library, params: dict[str, Any], name: str) -> dict[str, Any]:
    """`params` without one of them; the number of iterations stays small, because the library's own would be too
    many for a trial."""
    rest = {key: value for key, value in params.items() if key != name}
    return {**rest, name: 2} if name in ARGUMENTS[library].iterations else rest


def culprit_named(sentence: str, params: dict[str, Any]) -> str | None:
    """The argument that the library's sentence names, the longest if it names several."""
    # lightgbm's own variables end in an underscore.
    named = [name for name in params if re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}_?(?![A-Za-z0-9_])", sentence)]
    return max(named, key=len, default=None)
