"""Task `trial`: a tiny fit that finds wrong argument values before any real one is started.

scikit-learn, xgboost and lightgbm check many values only in `fit`, so constructing is not enough.
"""

import warnings
from typing import Any

import numpy as np

from mucast_engine.arrays import Message
from mucast_engine.estimator import make_estimator, make_scaler
from mucast_engine.failure import TaskError, sentence_of
from mucast_engine.trial_params import culprit_named, shortened

ROWS = 60
DEFAULT_FEATURES = 8


def trial(task: Message) -> Message:
    """Fits `task["estimator"]` (after `task["scaler"]`) to 60 synthetic rows in at most 2 iterations.

    `features` is the number of columns; where the caller does not know it yet, arguments that speak of single
    features are left out of the trial. Raises TaskError `invalid_model_params` with the library's own sentence and,
    where it can be told, `parameter` and `value`; `device_unavailable` where the arguments ask for a device.
    """
    spec, scaler = task["estimator"], task["scaler"]
    features = task.get("features")
    params = shortened(spec, ROWS, keep_feature_arguments=features is not None)
    sentence = _refusal(spec, params, scaler, features or DEFAULT_FEATURES)
    if sentence is None:
        return {}
    raise _explained(spec, params, scaler, features or DEFAULT_FEATURES, sentence)


def _refusal(spec: dict[str, Any], params: dict[str, Any], scaler: str, features: int) -> str | None:
    """What the library says against `params`; None where it takes them."""
    generator = np.random.default_rng(7)
    x = generator.standard_normal((ROWS, features))
    y = 0.01 * generator.standard_normal(ROWS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            transform = make_scaler(scaler)
            model = make_estimator(spec, params)
            model.fit(x if transform is None else transform.fit_transform(x), y)
            model.predict(x)
        except TaskError:
            raise
        except (np.linalg.LinAlgError, FloatingPointError, MemoryError):
            return None  # These speak of the numbers or the machine, not of the arguments.
        except Exception as error:
            return sentence_of(error)
    said = [" ".join(str(warning.message).split()) for warning in caught]
    return next((sentence for sentence in said if _is_refusal(sentence)), None)


def _is_refusal(warning: str) -> bool:
    """Whether a warning tells of an argument that the library would otherwise pass over in silence."""
    return ("Parameters: {" in warning and "are not used" in warning) or (
        "Unknown parameter" in warning or _asks_for_device(warning)
    )


DEVICE_WORDS = (
    "from GPU to CPU",
    "No visible GPU",
    "GPU Tree Learner",
    "CUDA Tree Learner",
    "CUDA error",
    "Environment for task type [GPU]",
    "not compiled with CUDA",
    "USE_CUDA=1",
)


def _asks_for_device(sentence: str) -> bool:
    return any(words in sentence for words in DEVICE_WORDS)


def _explained(spec: dict[str, Any], params: dict[str, Any], scaler: str, features: int, sentence: str) -> TaskError:
    """The error for `sentence`, with the argument it is about: named in it, or the one without which all is well."""
    name = culprit_named(sentence, params)
    if name is None:
        without = ((key, {k: v for k, v in params.items() if k != key}) for key in params)
        alone = [key for key, rest in without if _refusal(spec, rest, scaler, features) is None]
        name = alone[0] if len(alone) == 1 else None
    data: Message = {"library": spec["library"], "sentence": sentence}
    if name is not None:
        data |= {"parameter": name, "value": spec["params"][name]}
    if _asks_for_device(sentence):
        return TaskError("device_unavailable", f"{spec['class']} asks for a device that is not there: {sentence}", data)
    about = "the parameters" if name is None else f"{name} = {spec['params'][name]!r}"
    return TaskError("invalid_model_params", f"{spec['class']} refuses {about}: {sentence}", data)
