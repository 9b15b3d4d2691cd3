"""The entry of one parameter in the catalogue, and the data for trying the libraries."""

import inspect
from typing import Any

import numpy as np

# default, types, choices, aliases; and native, for parameters passed through **kwargs.
Parameter = dict[str, Any]
Parameters = dict[str, Parameter]

_GENERATOR = np.random.default_rng(0)
X = _GENERATOR.normal(size=(40, 3))
Y = _GENERATOR.normal(size=40)

# A string that no library accepts as a number, a flag or a choice: its complaint shows the expected type.
NONSENSE = "abc"


def signature_defaults(constructor: Any) -> dict[str, Any]:
    """Named arguments of a constructor and their defaults; None replaces values that JSON cannot represent (NaN)."""
    defaults = {}
    for name, parameter in inspect.signature(constructor).parameters.items():
        if name == "self" or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        default = parameter.default
        defaults[name] = None if isinstance(default, float) and not np.isfinite(default) else default
    return defaults
