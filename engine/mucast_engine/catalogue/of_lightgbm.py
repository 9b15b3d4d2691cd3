"""lightgbm: the constructor's own names, and the C++ library's table of names and aliases."""

from typing import Any

import lightgbm
from lightgbm.basic import LightGBMError, _ConfigAliases

from mucast_engine.catalogue import NONSENSE, Parameters, X, Y, signature_defaults


def lightgbm_parameters() -> Parameters:
    """The parameters of LGBMRegressor, and those of the C++ library that it accepts through **kwargs."""
    own = signature_defaults(lightgbm.LGBMRegressor.__init__)
    # The meaning of None in a regressor.
    own["objective"] = "regression"
    native_defaults = _native_defaults()
    parameters: Parameters = {name: {"default": default} for name, default in own.items()}
    for native, group in _ConfigAliases._get_all_param_aliases().items():
        name = next((n for n in own if n in group), native)
        parameter = parameters.setdefault(name, {"default": native_defaults.get(native), "native": True})
        parameter["aliases"] = sorted({*group} - {name})
        parameter["types"] = _types(native)
    # Python's own arguments: Python counts the rounds, and the rest never reaches the library.
    parameters["n_estimators"]["types"] = ["int"]
    parameters["objective"]["types"] = ["null", "string"]
    parameters["class_weight"]["types"] = ["null", "object", "string"]
    parameters["importance_type"].update(types=["null", "string"], choices=["gain", "split"])
    return parameters


def _native_defaults() -> dict[str, Any]:
    """The C++ library's defaults, with their types, as a trained model records them."""
    model = lightgbm.LGBMRegressor(n_estimators=1, n_jobs=1).fit(X, Y)
    booster = lightgbm.Booster(model_str=model.booster_.model_to_string())
    return dict(booster.params)


def _types(native: str) -> list[str] | None:
    """The JSON types that a parameter accepts, from the library's error on an invalid value."""
    try:
        lightgbm.Dataset(X, Y, params={"num_threads": 1, native: NONSENSE}).construct()
    except LightGBMError as error:
        message = str(error)
        if "of type int" in message:
            return ["int", "null", "number_text"]
        if '"true"' in message:
            return ["bool", "null", "string"]
        if "of type double" in message or "Unknown token" in message:
            return ["float", "int", "null", "number_text"]
    return None
