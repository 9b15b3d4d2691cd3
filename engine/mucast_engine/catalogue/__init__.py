"""The catalogue of constructor parameters, from the installed libraries themselves.

`python -m mucast_engine.catalogue` prints, as JSON, what each regressor's constructor accepts: every parameter under
the constructor's own name, its aliases, the JSON types it accepts, its choices and its default. The TypeScript side
checks `model_params` against it, so that a service without Python refuses a wrong name at submit.

Types are those of JSON text as Python reads it: null, bool, int, float, string, list, object; and two more that
libraries accept: `whole`, a float without a fraction (`6.0`) if an integer is meant, and `number_text`, a string that
holds a number. A parameter without `types` accepts every type, or its types are unknown.
"""

import inspect
from typing import Any

import numpy as np

# default, types, choices, aliases; and native, for parameters passed through **kwargs.
Parameter = dict[str, Any]
Parameters = dict[str, Parameter]

# For trying the libraries.
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
