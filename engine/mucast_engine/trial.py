"""Task `trial`: a tiny fit that finds wrong argument values before any real fit starts.

scikit-learn, xgboost and lightgbm check many values only in `fit`, so constructing is not enough.
"""

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mucast_engine.arrays import Message
from mucast_engine.estimator import make_estimator, make_scaler
from mucast_engine.failure import TaskError, sentence_of
from mucast_engine.trial_params import ALWAYS_SET, culprit_named, left_out, shortened

ROWS = 60

Params = dict[str, Any]


def trial(task: Message) -> Message:
    """Fits the scaler and the estimator to 60 synthetic rows in at most 2 iterations, or raises `invalid_model_params`
    (if it is clear with `parameter` and `value`) or `device_unavailable`."""
    spec = task["estimator"]
    params = shortened(spec)
    sentence = _refusal(spec, params, task["scaler"], task["columns"])
    if sentence is not None:
        raise _explained(spec, params, task["scaler"], task["columns"], sentence)
    return {}


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
    return next((sentence for sentence in said if _is_refusal(sentence)), None)


# catboost, for rows on only one side of `target_border`.
SPEAKS_OF_ROWS = "All train targets are equal"

REFUSING_WARNINGS = ("are not used", "Unknown parameter", "Unrecognized options")

DEVICE_WORDS = (
    "from GPU to CPU",
    "No visible GPU",
    "No OpenCL device",
    "GPU Tree Learner",
    "CUDA Tree Learner",
    "CUDA error",
    "task type [GPU]",
    "not compiled with CUDA",
)


def _is_refusal(warning: str) -> bool:
    return any(words in warning for words in REFUSING_WARNINGS + DEVICE_WORDS)


def _explained(spec: Message, params: Params, scaler: str, width: int, sentence: str) -> TaskError:
    """The error for `sentence`, with the argument that it is about: the one that it names, or the one to drop."""
    name = culprit_named(sentence, params)
    if name is None:
        without = {key: left_out(spec["library"], params, key) for key in params if key not in ALWAYS_SET}
        mended = [key for key, rest in without.items() if _refusal(spec, rest, scaler, width) is None]
        name = mended[0] if len(mended) == 1 else None
    data: Message = {"library": spec["library"], "sentence": sentence}
    if name in spec["params"]:
        data |= {"parameter": name, "value": spec["params"][name]}
    if any(words in sentence for words in DEVICE_WORDS):
        return TaskError("device_unavailable", f"{spec['class']} asks for a device that is not there: {sentence}", data)
    about = "the parameters" if name not in spec["params"] else f"{name} = {_shown(spec['params'][name])}"
    return TaskError("invalid_model_params", f"{spec['class']} refuses {about}: {sentence}", data)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]} …"


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
