"""scikit-learn: every estimator declares the constraints by which its fit() checks the arguments."""

import warnings
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Hidden, Interval, Options, RealNotInt

from mucast_engine.catalogue import Parameters, X, Y, signature_defaults


def sklearn_parameters(estimator: Any) -> Parameters:
    """The parameters of one estimator's constructor."""
    parameters: Parameters = {}
    for name, default in signature_defaults(estimator.__init__).items():
        types, choices = _types(estimator._parameter_constraints[name])
        choices |= _undeclared(estimator, name)
        parameters[name] = {"default": default, "types": sorted(types), "choices": sorted(choices)}
    return parameters


# Constraints that are words, and bool, which Python counts among the numbers.
_WORDS = {
    "random_state": {"int", "bool", "null"},
    "verbose": {"int", "bool"},
    "boolean": {"bool"},
    "array-like": {"list"},
}
_CLASSES: dict[Any, set[str]] = {
    Integral: {"int", "bool"},
    Real: {"float", "int", "bool"},
    RealNotInt: {"float"},
    dict: {"object"},
    str: {"string"},
}


def _types(constraints: list[Any]) -> tuple[set[str], set[str]]:
    """JSON types that satisfy a parameter's constraints, and the strings they list."""
    types: set[str] = set()
    choices: set[str] = set()
    for constraint in constraints:
        if isinstance(constraint, Hidden):
            constraint = constraint.constraint
        kind = constraint.type if isinstance(constraint, Interval | Options) else constraint
        if constraint is None:
            types.add("null")
        elif isinstance(constraint, str):
            types |= _WORDS[constraint]
        elif kind in _CLASSES:
            types |= _CLASSES[kind]
            choices |= constraint.options if isinstance(constraint, Options) else set()
        elif constraint is not callable and not isinstance(constraint, type):
            # A function or an object of some class has no JSON form. Anything else is new.
            raise ValueError(f"scikit-learn has a constraint that this program does not know: {constraint!r}")
    return types, choices


def _undeclared(estimator: Any, name: str) -> set[str]:
    """Choices that the constructor still accepts although its constraints no longer list them."""
    if name != "criterion":
        return set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        estimator(n_estimators=1, criterion="friedman_mse").fit(X, Y)
    return {"friedman_mse"}
