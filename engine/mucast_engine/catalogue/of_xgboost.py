"""xgboost: the constructor's own names, and what a booster reports as the parameters of its components."""

import json
import re
from typing import Any

import numpy as np
import xgboost

from mucast_engine.catalogue import NONSENSE, Parameter, Parameters, X, Y, signature_defaults

Setting = dict[str, Any]

# fit() determines them and keeps them among the parameters; a caller must not set them.
_OWN_RECORD = {"num_class", "num_feature", "num_target", "num_trees"}

_OBJECTIVES: list[Setting] = [
    {"objective": "reg:squarederror"},
    {"objective": "reg:absoluteerror"},
    {"objective": "reg:pseudohubererror"},
    {"objective": "reg:squaredlogerror"},
    {"objective": "reg:quantileerror", "quantile_alpha": 0.5},
]
_BOOSTERS: list[Setting] = [
    {"booster": "gbtree", "tree_method": "hist"},
    {"booster": "gbtree", "tree_method": "approx"},
    {"booster": "gbtree", "tree_method": "exact"},
    {"booster": "dart", "tree_method": "hist"},
]
# Settings that together activate every component that a regressor can have.
_SETTINGS: list[Setting] = [
    {},
    *({**booster, **objective} for booster in _BOOSTERS for objective in _OBJECTIVES),
    {"booster": "gblinear", "updater": "coord_descent"},
    {"booster": "gblinear", "updater": "shotgun"},
]


def xgboost_parameters() -> Parameters:
    """The parameters of XGBRegressor, and those of the booster that it accepts through **kwargs."""
    own = signature_defaults(xgboost.XGBRegressor.__init__) | signature_defaults(xgboost.XGBModel.__init__)
    own["objective"] = "reg:squarederror"
    parameters: Parameters = {name: {"default": default} for name, default in own.items()}
    for group, (text, setting) in _native_groups().items():
        name = next((n for n in group if n in own), group[0])
        parameter = parameters.setdefault(name, {"default": None, "native": True})
        parameter["aliases"] = sorted(set(group) - {name})
        _describe(parameter, group[0], text, setting)
    # Python's own arguments, which the booster never sees.
    parameters["n_estimators"] = {"default": 100, "types": ["bool", "int", "null"]}
    parameters["objective"]["types"] = ["null", "string"]
    parameters["missing"]["types"] = ["bool", "float", "int"]
    # The number of threads is the machine's, so it is not a default to record.
    parameters["n_jobs"]["default"] = None
    return parameters


def _native_groups() -> dict[tuple[str, ...], tuple[str, Setting]]:
    """Groups of names of one native parameter: its default as the booster prints it, and a setting that shows it."""
    found: dict[str, tuple[str, Setting]] = {}
    for setting in _SETTINGS:
        for name, text in _reported(setting).items():
            if name not in _OWN_RECORD:
                found.setdefault(name, ("" if name in setting else text, setting))
    base = {name: text for name, text in _reported({}).items() if name in found}
    groups: dict[str, tuple[str, ...]] = {}
    for name in found:
        if name not in groups:
            group = _moving_together(name, base) or (name,)
            groups.update(dict.fromkeys(group, group))
    return {group: found[group[0]] for group in sorted(set(groups.values()))}


def _moving_together(name: str, base: dict[str, str]) -> tuple[str, ...]:
    """The names that change together with this one: itself and its aliases. Empty if no tried value is accepted."""
    for probe in ("2", "0", "0.5", "grow_colmaker"):
        try:
            changed = _reported({name: probe})
        except xgboost.core.XGBoostError:
            continue
        if changed.get(name) != base.get(name):
            return tuple(sorted(n for n in base if changed.get(n) == changed.get(name) and base[n] == base.get(name)))
    return ()


def _reported(setting: Setting) -> dict[str, str]:
    """What a booster with these settings reports after one round: every parameter of every component, by name."""
    with xgboost.config_context(verbosity=0):
        data = xgboost.DMatrix(X, np.abs(Y))
        booster = xgboost.Booster({"nthread": 1, **setting}, [data])
        booster.update(data, 0)
        config = json.loads(booster.save_config())
    names: dict[str, str] = {}

    def collect(node: Any) -> None:
        children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, child in children:
            if str(key).endswith("_param"):
                names.update({name: str(text) for name, text in child.items()})
            else:
                collect(child)

    collect(config["learner"])
    return names


def _describe(parameter: Parameter, name: str, text: str, setting: Setting) -> None:
    """Adds type, choices and native default, from the library's error on a nonsense value."""
    message = ""
    try:
        _reported({**setting, name: NONSENSE})
    except xgboost.core.XGBoostError as error:
        message = str(error)
    expected = re.search(r"expect (\w+) but", message)
    choices = re.search(r"valid values are: \{(.*?)\}", message)
    kind = expected[1] if expected else ""
    native: Any = None
    if kind in ("int", "long"):
        parameter["types"] = ["int", "null", "number_text"]
        native = int(text) if re.fullmatch(r"-?\d+", text) else None
    elif kind in ("float", "double"):
        parameter["types"] = ["float", "int", "null", "number_text"]
        native = _shortest(text)
    elif kind == "boolean":
        parameter["types"] = ["bool", "int", "null", "string"]
        native = {"0": False, "1": True}.get(text)
    elif choices:
        parameter["types"] = ["null", "string"]
        parameter["choices"] = sorted(re.findall(r"'([^']+)'", choices[1]))
        native = text or None
    if parameter["default"] is None:
        parameter["default"] = native


def _shortest(text: str) -> float | None:
    """The shortest decimal of this float32, so that 0.300000012 is 0.3 again."""
    try:
        return float(str(np.float32(text)))
    except ValueError:
        return None
