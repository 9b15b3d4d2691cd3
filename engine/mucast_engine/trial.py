"""Task `trial`: a tiny fit that finds wrong argument values before any real fit starts.

scikit-learn, xgboost and lightgbm check many values only in `fit`, so constructing is not enough.
"""

import importlib
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from mucast_engine.arrays import Message
from mucast_engine.estimator import Library, make_estimator, make_scaler
from mucast_engine.failure import TaskError, sentence_of

ROWS = 60

Params = dict[str, Any]

REFUSING_WARNINGS = ("are not used", "Unknown parameter", "Unrecognized options")
DEVICE_WORDS = (
    *("from GPU to CPU", "No visible GPU", "No OpenCL device", "GPU Tree Learner", "CUDA Tree Learner", "CUDA error"),
    *("task type [GPU]", "not compiled with CUDA"),
)
# catboost, for rows on only one side of `target_border`.
SPEAKS_OF_ROWS = "All train targets are equal"

# The caller adds them to every fit: without them catboost writes files, and a fit uses every core.
ALWAYS_SET = {"allow_writing_files", "thread_count", "n_jobs"}


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


def trial(task: Message) -> Message:
    """Fits the scaler and the estimator to 60 synthetic rows in at most 2 iterations, or raises `invalid_model_params`
    (if it is clear with `parameter` and `value`) or `device_unavailable`."""
    spec, scaler, width = task["estimator"], task["scaler"], task["columns"]
    params = shortened(spec)
    sentence = _refusal(spec, params, scaler, width)
    if sentence is None:
        return {}
    name = culprit_named(sentence, params)
    if name is None:
        without = {key: left_out(spec["library"], params, key) for key in params if key not in ALWAYS_SET}
        mended = [key for key, rest in without.items() if _refusal(spec, rest, scaler, width) is None]
        name = mended[0] if len(mended) == 1 else None
    data: Message = {"library": spec["library"], "sentence": sentence}
    about = "the parameters"
    if name in spec["params"]:
        value = spec["params"][name]
        data |= {"parameter": name, "value": value}
        text = repr(value)
        about = f"{name} = {text if len(text) <= 100 else f'{text[:100]} …'}"
    if any(words in sentence for words in DEVICE_WORDS):
        message = f"{spec['class']} asks for a device that is not there: {sentence}"
        raise TaskError("device_unavailable", message, data)
    raise TaskError("invalid_model_params", f"{spec['class']} refuses {about}: {sentence}", data)


def _refusal(spec: Message, params: Params, scaler: str, width: int) -> str | None:
    """The sentence with which the library refuses `params`; None if it accepts them."""
    generator = np.random.default_rng(7)
    x = generator.standard_normal((ROWS, width))
    categorical = np.array(spec["params"].get("feature_types") or []) == "c"
    x[:, : len(categorical)][:, categorical] = np.arange(ROWS)[:, None] % 4
    y = 0.01 * generator.standard_normal(ROWS)
    with warnings.catch_warnings(record=True) as caught, lightgbm_log(spec["library"]) as logged:
        warnings.simplefilter("always")
        try:
            transform = make_scaler(scaler)
            model = make_estimator(spec, params)
            model.fit(x if transform is None else transform.fit_transform(x), y)
            model.predict(x)
        except TaskError:
            raise
        except (np.linalg.LinAlgError, FloatingPointError, MemoryError):
            return None
        except Exception as error:
            sentence = sentence_of(error)
            return None if SPEAKS_OF_ROWS in sentence else sentence
    said = [sentence_of(warning.message) for warning in caught] + [sentence_of(line) for line in logged]
    refusing = REFUSING_WARNINGS + DEVICE_WORDS
    return next((sentence for sentence in said if any(words in sentence for words in refusing)), None)


class _Logger:
    """The interface that lightgbm requires; its native library logs everything as `info`, whatever the level."""

    def __init__(self, take: Callable[[str], object]) -> None:
        self.info = self.warning = take


@contextmanager
def lightgbm_log(library: str) -> Iterator[list[str]]:
    """Collects the lines that lightgbm logs, its only complaint about unknown names; then lets it print again."""
    lines: list[str] = []
    if library != "lightgbm":
        yield lines
        return
    lightgbm = importlib.import_module("lightgbm")
    lightgbm.register_logger(_Logger(lines.append))
    try:
        yield lines
    finally:
        lightgbm.register_logger(_Logger(print))


def shortened(spec: Message) -> Params:
    """A copy of the arguments whose fit on few rows is quick, and wrong whenever the original is wrong."""
    rules = ARGUMENTS[spec["library"]]
    params = {name: value for name, value in spec["params"].items() if name not in rules.verbosity_aliases}
    params |= rules.verbosity
    for name in (rules.iterations | rules.trees_an_iteration) & params.keys():
        value = params[name]
        # The library judges everything that is no larger whole number.
        if isinstance(value, int) and not isinstance(value, bool) and value > 2:
            params[name] = 2
        elif isinstance(value, float) and value.is_integer() and value > 2:
            params[name] = 2.0
    if rules.limits_default and not rules.iterations & params.keys():
        params["n_estimators"] = 2
    for name in rules.row_shares & params.keys():
        if isinstance(params[name], float) and 0 < params[name] <= 1:
            params[name] = max(params[name], 0.5)
    return params


def left_out(library: Library, params: Params, name: str) -> Params:
    """`params` without one of them; the number of iterations stays small, because the library's own would be too
    many for a trial."""
    rest = {key: value for key, value in params.items() if key != name}
    return {**rest, name: 2} if name in ARGUMENTS[library].iterations else rest


def culprit_named(sentence: str, params: Params) -> str | None:
    """The argument that the library's sentence names, the longest if it names several."""
    # lightgbm's own variables end in an underscore.
    named = [name for name in params if re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}_?(?![A-Za-z0-9_])", sentence)]
    return max(named, key=len, default=None)
