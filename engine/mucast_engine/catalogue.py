"""The catalogue of constructor parameters, asked of the installed libraries themselves.

`python -m mucast_engine.catalogue` prints, as JSON, what each of the nine regressors' constructors takes: every
parameter under the constructor's own name, its aliases, the JSON types it takes and its default. The TypeScript
side checks `model_params` against it, so that a service without Python can refuse a wrong name at submit.

Types are those of JSON text as Python reads it: null, bool, int, float, string, list, object; and two shades that
libraries take: `whole`, a float without a fraction (`6.0`) where an integer is meant, and `number_text`, a string
that holds a number. A parameter without `types` takes anything as far as its type can tell.
"""

import contextlib
import inspect
import json
import os
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np

Parameter = dict[str, Any]
Parameters = dict[str, Parameter]

_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(40, 3))
_Y = _RNG.normal(size=40)

# Strings no library takes as a number, a flag or a choice: what it says about them tells the type it wants.
_NONSENSE = "abc"


def catalogue() -> dict[str, Any]:
    """The whole catalogue: versions of the libraries, and the parameters of each model."""
    return {
        "versions": {
            "scikit-learn": version("scikit-learn"),
            "xgboost": _xgboost_version(),
            "lightgbm": version("lightgbm"),
            "catboost": version("catboost"),
        },
        "models": {
            **_sklearn_models(),
            "xgboost": _xgboost_parameters(),
            "lightgbm": _lightgbm_parameters(),
            "catboost": _catboost_parameters(),
        },
    }


def _xgboost_version() -> str:
    import xgboost

    return str(xgboost.__version__)


def _signature_defaults(constructor: Any) -> dict[str, Any]:
    """Named arguments of a constructor and their defaults; None stands for what JSON cannot hold."""
    defaults = {}
    for name, parameter in inspect.signature(constructor).parameters.items():
        if name == "self" or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        default = parameter.default
        defaults[name] = None if isinstance(default, float) and not np.isfinite(default) else default
    return defaults


# scikit-learn: every estimator declares its constraints, which fit() holds it to.


def _sklearn_models() -> dict[str, Parameters]:
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, QuantileRegressor, Ridge

    models: dict[str, Any] = {
        "random_forest": RandomForestRegressor,
        "linear": LinearRegression,
        "ridge": Ridge,
        "lasso": Lasso,
        "elastic_net": ElasticNet,
        "quantile": QuantileRegressor,
    }
    return {name: _sklearn_parameters(estimator) for name, estimator in models.items()}


def _sklearn_parameters(estimator: Any) -> Parameters:
    parameters: Parameters = {}
    for name, default in _signature_defaults(estimator.__init__).items():
        constraints = estimator._parameter_constraints[name]
        types, choices = _sklearn_types(constraints)
        choices |= _sklearn_undeclared(estimator, name)
        parameters[name] = {"default": default, "types": sorted(types)}
        if choices:
            parameters[name]["choices"] = sorted(choices)
    return parameters


def _sklearn_undeclared(estimator: Any, name: str) -> set[str]:
    """Choices that the constructor still takes although its constraints no longer list them."""
    if name != "criterion":
        return set()
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        estimator(n_estimators=1, criterion="friedman_mse").fit(_X, _Y)
    return {"friedman_mse"}


def _sklearn_types(constraints: list[Any]) -> tuple[set[str], set[str]]:
    from numbers import Integral, Real

    from sklearn.utils._param_validation import Hidden, Interval, Options

    types: set[str] = set()
    choices: set[str] = set()
    for constraint in constraints:
        if isinstance(constraint, Hidden):
            constraint = constraint.constraint
        kind = constraint.type if isinstance(constraint, Interval | Options) else constraint
        if isinstance(constraint, Options) and kind is str:
            types.add("string")
            choices.update(constraint.options)
        elif constraint == "random_state":
            types |= {"int", "bool", "null"}
        elif constraint == "verbose":
            types |= {"int", "bool"}
        elif constraint == "boolean":
            types.add("bool")
        elif constraint == "array-like":
            types |= {"list"}
        elif constraint is None:
            types.add("null")
        elif constraint is dict:
            types.add("object")
        elif kind is Integral:
            types |= {"int", "bool"}
        elif kind is Real:
            types |= {"float", "int", "bool"}
        elif getattr(kind, "__name__", "") == "RealNotInt":
            types.add("float")
        elif constraint is not callable and not inspect.isclass(kind):
            # A class other than these (a criterion object) and a callable have no JSON form.
            raise ValueError(f"scikit-learn has a constraint that this program does not know: {constraint!r}")
    return types, choices


# xgboost: the constructor's own names, and what the booster reports as parameters of its components.


def _xgboost_parameters() -> Parameters:
    import xgboost

    own = _signature_defaults(xgboost.XGBRegressor.__init__) | _signature_defaults(xgboost.XGBModel.__init__)
    own["objective"] = "reg:squarederror"
    parameters: Parameters = {name: {"default": default} for name, default in own.items()}
    for group, (text, setting) in _xgboost_native().items():
        name = next((n for n in group if n in own), group[0])
        parameter = parameters.setdefault(name, {"default": None, "native": True})
        parameter["aliases"] = sorted(set(group) - {name})
        _describe_xgboost(parameter, group[0], text, setting)
    # Python's own arguments, which the booster never sees.
    parameters["n_estimators"] = {"default": 100, "types": ["bool", "int", "null"]}
    parameters["missing"]["types"] = ["bool", "float", "int"]
    # The number of threads is the machine's, so it is no default to record.
    parameters["n_jobs"]["default"] = None
    return parameters


# What fit() finds out by itself and keeps among the parameters; nobody may set it.
_XGBOOST_OWN_RECORD = {"num_class", "num_feature", "num_target", "num_trees"}


def _xgboost_native() -> dict[tuple[str, ...], tuple[str, dict[str, Any]]]:
    """Groups of names of one native parameter: its default as the booster prints it, and settings that show it."""
    settings: list[dict[str, Any]] = [
        {"booster": booster, "tree_method": method, "objective": objective, **extra}
        for booster, method in (("gbtree", "hist"), ("gbtree", "approx"), ("gbtree", "exact"), ("dart", "hist"))
        for objective, extra in _XGBOOST_OBJECTIVES.items()
    ]
    settings += [{"booster": "gblinear", "updater": updater} for updater in ("coord_descent", "shotgun")]
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for setting in [{}, *settings]:
        for name, text in _xgboost_config(setting).items():
            if name not in _XGBOOST_OWN_RECORD:
                found.setdefault(name, ("" if name in setting else text, setting))
    base = {name: text for name, text in _xgboost_config({}).items() if name in found}
    groups: dict[str, tuple[str, ...]] = {}
    for name in found:
        if name not in groups:
            group = _moving_together(name, base) or (name,)
            groups.update(dict.fromkeys(group, group))
    return {group: found[group[0]] for group in sorted(set(groups.values()))}


def _moving_together(name: str, base: dict[str, str]) -> tuple[str, ...]:
    """The names that change with this one: its aliases and itself. Empty where no value tried is accepted."""
    import xgboost

    for probe in ("2", "0", "0.5", "grow_colmaker"):
        try:
            changed = _xgboost_config({name: probe})
        except xgboost.core.XGBoostError:
            continue
        if changed.get(name) != base.get(name):
            return tuple(sorted(n for n in base if changed.get(n) == changed.get(name) and base[n] == base.get(name)))
    return ()


_XGBOOST_OBJECTIVES: dict[str, dict[str, Any]] = {
    "reg:squarederror": {},
    "reg:absoluteerror": {},
    "reg:pseudohubererror": {},
    "reg:squaredlogerror": {},
    "reg:quantileerror": {"quantile_alpha": 0.5},
}


def _xgboost_config(setting: dict[str, Any]) -> dict[str, str]:
    """What a booster with these settings reports: every parameter of every component, by name."""
    import xgboost

    with xgboost.config_context(verbosity=0):
        data = xgboost.DMatrix(_X, np.abs(_Y))
        booster = xgboost.Booster({"nthread": 1, **setting}, [data])
        booster.update(data, 0)
        config = json.loads(booster.save_config())
    names: dict[str, str] = {}

    def walk(node: Any) -> None:
        for key, value in node.items() if isinstance(node, dict) else ():
            if key.endswith("_param"):
                names.update({name: str(text) for name, text in value.items()})
            else:
                walk(value)
        for item in node if isinstance(node, list) else ():
            walk(item)

    walk(config["learner"])
    return names


def _describe_xgboost(parameter: Parameter, name: str, text: str, setting: dict[str, Any]) -> None:
    """Type, choices and native default of one parameter, from what the library says to nonsense."""
    import xgboost

    message = ""
    try:
        _xgboost_config({**setting, name: _NONSENSE})
    except xgboost.core.XGBoostError as error:
        message = str(error)
    expected = re.search(r"expect (\w+) but", message)
    choices = re.search(r"valid values are: \{(.*?)\}", message)
    kind = expected[1] if expected else ""
    if kind in ("int", "long"):
        parameter["types"] = ["int", "null", "number_text"]
        native: Any = int(text) if re.fullmatch(r"-?\d+", text) else None
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
    else:
        native = None
    if parameter.get("default") is None and native is not None:
        parameter["default"] = native


def _shortest(text: str) -> float | None:
    """The shortest decimal that is this float32, so 0.300000012 is 0.3 again."""
    try:
        return float(str(np.float32(text)))
    except ValueError:
        return None


# lightgbm: the constructor's own names, and the C++ library's table of names and aliases.


def _lightgbm_parameters() -> Parameters:
    import lightgbm
    from lightgbm.basic import _ConfigAliases

    own = _signature_defaults(lightgbm.LGBMRegressor.__init__)
    native_defaults = _lightgbm_native_defaults()
    parameters: Parameters = {}
    table = {group[0]: group for group in _ConfigAliases._get_all_param_aliases().values()}
    for native, group in sorted(table.items()):
        name = next((n for n in own if n in group), native)
        default = own.get(name, native_defaults.get(native))
        parameters[name] = {"default": default, "aliases": sorted(set(group) - {name})}
        if name not in own:
            parameters[name]["native"] = True
        types = _lightgbm_types(native)
        if types:
            parameters[name]["types"] = types
    for name, default in own.items():
        parameters.setdefault(name, {"default": default})
    # The Python side loops over the rounds itself, and takes no text for their number.
    parameters["n_estimators"]["types"] = ["int"]
    parameters["objective"]["types"] = ["null", "string"]
    parameters["class_weight"]["types"] = ["null", "object", "string"]
    parameters["importance_type"].update(types=["string"], choices=["gain", "split"])
    return parameters


def _lightgbm_native_defaults() -> dict[str, Any]:
    import lightgbm

    model = lightgbm.LGBMRegressor(n_estimators=1, n_jobs=1).fit(_X, _Y)
    booster = lightgbm.Booster(model_str=model.booster_.model_to_string())
    return dict(booster.params)


def _lightgbm_types(native: str) -> list[str] | None:
    import lightgbm

    try:
        lightgbm.Dataset(_X, _Y, params={native: _NONSENSE, "num_threads": 1}).construct()
    except lightgbm.basic.LightGBMError as error:
        message = str(error)
        if "of type int" in message:
            return ["int", "null", "number_text"]
        if '"true"' in message:
            return ["bool", "null", "string"]
        if "of type double" in message or "Unknown token" in message:
            return ["float", "int", "null", "number_text"]
    return None


# catboost: the constructor's own names, its synonyms, and what its option reader says to each type.


def _catboost_parameters() -> Parameters:
    import catboost

    own = _signature_defaults(catboost.CatBoostRegressor.__init__)
    synonyms = _catboost_synonyms()
    native_defaults = _catboost_native_defaults()
    taken = {alias for group in synonyms for alias in group[1:]}
    parameters: Parameters = {}
    for name, default in own.items():
        if name in taken:
            continue
        parameter = {"default": native_defaults.get(name) if default is None else default}
        aliases = sorted(a for group in synonyms if group[0] == name for a in group[1:] if a in own)
        if aliases:
            parameter["aliases"] = aliases
        types = _catboost_types(name)
        if types:
            parameter["types"] = types
        parameters[name] = parameter
    return parameters


def _catboost_synonyms() -> list[list[str]]:
    """The synonym groups as the library's own code lists them, the canonical name first."""
    from catboost import core

    groups: list[list[str]] = [["loss_function", "objective"]]
    source = inspect.getsource(core._process_synonyms_groups)
    groups += [re.findall(r"'(\w+)'", group) for group in re.findall(r"\[(.*?)\]", source)]
    return groups


def _catboost_fit(**arguments: Any) -> Any:
    import catboost

    fixed = {"iterations": 1, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    fixed = {name: value for name, value in fixed.items() if name not in arguments}
    if {"silent", "logging_level"} & set(arguments):
        fixed.pop("verbose", None)
    return catboost.CatBoostRegressor(**fixed, **arguments).fit(_X, _Y)


def _catboost_native_defaults() -> dict[str, Any]:
    """Defaults that stay the same whatever else is asked; the others the library finds by itself."""
    probes: list[dict[str, Any]] = [
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
    seen = [_catboost_fit(**probe).get_all_params() for probe in probes]
    stable = {}
    for name, value in seen[0].items():
        same = all(
            name in params and params[name] == value
            for params, probe in zip(seen, probes, strict=True)
            if name not in probe
        )
        if same:
            stable[name] = round(value, 6) if isinstance(value, float) else value
    stable["iterations"] = 1000
    # The seed and the learning rate depend on what is fitted, and these three on what is added.
    for name in ("learning_rate", "thread_count", "verbose"):
        stable.pop(name, None)
    return stable


# These reach files, sockets or devices; they are refused whatever their type, so nothing is tried with them.
_CATBOOST_NOT_TRIED = {
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

_CATBOOST_SAMPLES: dict[str, list[Any]] = {
    "bool": [True],
    "int": [1, 2],
    "whole": [1.0],
    "float": [0.5, 1.5],
    "string": [_NONSENSE, "0:1"],
    "list": [[1], ["0:1"]],
    "object": [{"a": "b"}, {"0": 1}],
}


def _catboost_types(name: str) -> list[str] | None:
    if name in _CATBOOST_NOT_TRIED:
        return None
    types = {kind for kind, samples in _CATBOOST_SAMPLES.items() if any(_catboost_reads(name, s) for s in samples)}
    if "float" in types:
        types.discard("whole")
    if len(types) >= len(_CATBOOST_SAMPLES) - 1:
        return None
    return sorted(types | {"null"})


def _catboost_reads(name: str, value: Any) -> bool:
    """Whether the option reader takes this type; what it says about the value itself does not matter here."""
    import catboost

    try:
        _catboost_fit(**{name: value})
    except catboost.CatBoostError as error:
        wrong_type = ("Can't parse", "Invalid type", "nvalid `", "should be", "must be", "unknown type", "annot convert")
        return not any(sign in str(error) for sign in wrong_type)
    except (TypeError, AttributeError, ValueError):
        return False
    return True


def _line(parameter: Parameter) -> str:
    """One parameter; what is empty or absent says nothing and is left out."""
    told = {key: value for key, value in parameter.items() if value not in ([], None)}
    return json.dumps(told, sort_keys=True)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Sends file descriptors 1 and 2 nowhere: nonsense is given to the libraries on purpose, and they complain."""
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        sys.stdout.flush()
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for descriptor in (*kept, nowhere):
            os.close(descriptor)


def main() -> None:
    """Prints the catalogue: keys in code point order, one parameter a line, so that a change reads well."""
    with _silence():
        made = catalogue()
    lines = ["{", f'"versions": {json.dumps(made["versions"], sort_keys=True)},', '"models": {']
    models = sorted(made["models"].items())
    for model, parameters in models:
        lines.append(f"{json.dumps(model)}: {{")
        rows = [f"{json.dumps(name)}: {_line(parameter)}" for name, parameter in sorted(parameters.items())]
        lines.append(",\n".join(rows))
        lines.append("}" if model == models[-1][0] else "},")
    print("\n".join([*lines, "}", "}"]))


if __name__ == "__main__":
    main()
