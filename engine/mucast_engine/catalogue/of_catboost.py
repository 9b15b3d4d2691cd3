"""catboost: the constructor's own names, its synonyms, and the types that its option reader accepts."""

import inspect
import re
from typing import Any

from catboost import CatBoostError, CatBoostRegressor, core

from mucast_engine.catalogue import NONSENSE, Parameter, Parameters, X, Y, signature_defaults


def catboost_parameters() -> Parameters:
    """The parameters of CatBoostRegressor, which accepts no others."""
    own = signature_defaults(CatBoostRegressor.__init__)
    synonyms = _synonyms()
    aliases = {alias for group in synonyms.values() for alias in group}
    native_defaults = _native_defaults()
    parameters: Parameters = {}
    for name, default in own.items():
        if name not in aliases:
            parameter: Parameter = {"default": native_defaults.get(name) if default is None else default}
            parameter["aliases"] = sorted(alias for alias in synonyms.get(name, []) if alias in own)
            parameter["types"] = _types(name)
            parameters[name] = parameter
    return parameters


def _synonyms() -> dict[str, list[str]]:
    """Synonyms by the canonical name, as the library's own code lists them."""
    source = inspect.getsource(core._process_synonyms_groups)
    groups = [re.findall(r"'(\w+)'", group) for group in re.findall(r"\[(.*?)\]", source)]
    return {"loss_function": ["objective"], **{canonical: rest for canonical, *rest in groups}}


def _fitted(**arguments: Any) -> Any:
    fixed = {"iterations": 1, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    if {"silent", "logging_level"} & set(arguments):
        del fixed["verbose"]
    return CatBoostRegressor(**{**fixed, **arguments}).fit(X, Y)


# Fits that together vary every default that depends on something else.
_VARIED: list[dict[str, Any]] = [
    {},
    {"loss_function": "MAE"},
    {"loss_function": "Quantile:alpha=0.3"},
    {"loss_function": "Huber:delta=1"},
    {"loss_function": "Lq:q=3"},
    {"loss_function": "LogCosh"},
    {"loss_function": "Expectile:alpha=0.3"},
    {"loss_function": "MAPE"},
    {"bootstrap_type": "Bayesian"},
    {"bootstrap_type": "No"},
    {"grow_policy": "Lossguide"},
    {"grow_policy": "Depthwise"},
    {"depth": 3, "learning_rate": 0.2, "boosting_type": "Ordered"},
]


def _native_defaults() -> dict[str, Any]:
    """The library's defaults that hold whatever the other options; it derives the rest from the data."""
    reports = [(_fitted(**varied).get_all_params(), varied) for varied in _VARIED]
    stable = {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in reports[0][0].items()
        if all(report.get(name) == value for report, varied in reports if name not in varied)
    }
    # The fits above reduce the first; the second depends on the data.
    return {**stable, "iterations": 1000, "learning_rate": None}


# These reach files or devices. They are refused whatever their type, so nothing is tried with them.
_NOT_TRIED = {
    "allow_writing_files",
    "device_config",
    "devices",
    "input_borders",
    "output_borders",
    "save_snapshot",
    "snapshot_file",
    "snapshot_interval",
    "task_type",
    "train_dir",
}

_SAMPLES: dict[str, list[Any]] = {
    "bool": [True, False],
    "int": [0, 1, 2],
    "whole": [1.0],
    "float": [0.5, 1.5],
    "string": [NONSENSE, "0:1"],
    "list": [[1], ["0:1"]],
    "object": [{"a": "b"}, {"0": 1}],
}


def _types(name: str) -> list[str] | None:
    """The JSON types that the option reader accepts; None if it accepts nearly all, so that nothing is known."""
    if name in _NOT_TRIED:
        return None
    types = {kind for kind, samples in _SAMPLES.items() if any(_is_read(name, sample) for sample in samples)}
    if "float" in types:
        types.discard("whole")
    return None if len(types) >= len(_SAMPLES) - 1 else sorted(types | {"null"})


_WRONG_TYPE = re.compile(r"Can't parse|[Ii]nvalid .?type|Invalid `|nvalid type|annot convert|must be|should be")


def _is_read(name: str, value: Any) -> bool:
    """Whether the option reader accepts this type; a complaint about the value itself does not count."""
    try:
        _fitted(**{name: value})
    except CatBoostError as error:
        return _WRONG_TYPE.search(str(error)) is None
    except (TypeError, AttributeError, ValueError):
        return False
    return True
