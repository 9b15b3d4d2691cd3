"""Task `fit_predict`: for each pair of row ranges, a new scaler and regressor fitted on one, predicting the other."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.diagnosis import columns_of, describe_constant, largest_importances
from mucast_engine.estimator import is_linear, make_estimator, make_scaler
from mucast_engine.failure import TaskError, sentence_of

Range = tuple[int, int]
Rows = NDArray[np.intp]


def fit_predict(task: Message, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    """Runs the fits of `task` in order and returns their predictions, concatenated, as one array.

    Tasks and results are described in `src/engine/pool/protocol.ts`. With `task["views"]` fits do not copy rows that
    their library copies. Raises TaskError `fit_failed` if the library raises or its predictions cannot be used.
    """
    x, y = store.read(task["x"]), store.read(task["y"])
    strata = store.read(task["permutation"]["strata"]) if "strata" in task.get("permutation", {}) else None
    predictions: list[Matrix] = []
    diagnoses: list[Message] = []
    permuted: list[Matrix] = []
    seconds: list[float] = []
    result: Message = {"unconverged_fits": 0}
    with _own_checks(task["estimator"]) as check:
        for index, fit in enumerate(task["fits"]):
            started = time.perf_counter()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    predicted, diagnosis, of_groups = _one_fit(task, fit, x, y, strata, check)
                except TaskError as error:
                    error.data |= _too_large(x, fit) if error.code == "fit_failed" else {}
                    raise
            result["unconverged_fits"] += any(w.category.__name__ == "ConvergenceWarning" for w in caught)
            seconds.append(time.perf_counter() - started)
            predictions.append(predicted)
            if diagnosis is not None:
                diagnoses.append(diagnosis)
            permuted += of_groups
            progress({"fit": index, "seconds": seconds[-1]})
    values = np.concatenate([*predictions, *permuted])
    result["predictions"] = store.hand_over(task["predictions"]["ref"], values)
    result["diagnoses"] = diagnoses
    result["seconds"] = seconds
    return result


Check = Callable[[str, Matrix], Matrix]


@contextmanager
def _own_checks(estimator: Message) -> Iterator[Check]:
    """Checks the matrices of linear models and scalers for NaN and infinity in place of scikit-learn, whose checks take
    a fifth of a small fit. Everything else checks for itself, such as trees, for which a value has to fit a float32.
    """
    if not is_linear(estimator):
        yield lambda _, values: values
        return
    from sklearn import config_context

    with config_context(assume_finite=True, skip_parameter_validation=True):
        yield _finite


def _finite(what: str, values: Matrix) -> Matrix:
    if not np.isfinite(values).all():
        raise ValueError(f"{what} contains NaN, infinity or a value too large for a float64")
    return values


def _one_fit(
    task: Message, fit: Message, x: Matrix, y: Matrix, strata: Matrix | None, check: Check
) -> tuple[Matrix, Message | None, list[Matrix]]:
    """The predictions, the diagnosis, and the predictions of the rows with each group of features replaced."""
    (a, b), (c, d) = fit["train"], fit["predict"]
    if not (0 <= a < b <= len(y) and 0 <= c <= d <= len(x)):
        raise TaskError("internal", f"rows {fit} lie outside the {len(x)} rows of x or the {len(y)} of y")
    # Copies: the file is mapped read-only, and a library that works in place must not change the rows of the next fit.
    # Scalers copy their rows, and trees bin them.
    is_copied = task["scaler"] != "none" or not _works_in_place(task)
    keep = task.get("views") and not task.get("absent") and is_copied
    train_x, score_x = (x[a:b], x[c:d]) if keep else (np.array(x[a:b]), np.array(x[c:d]))
    train_y = np.array(y[a:b])
    means = _absent_means(train_x, score_x) if task.get("absent") else {}
    _fill(train_x, means)
    with _library_errors(f"training on {b - a} rows", fit):
        check("Input X", train_x)
        check("Input y", train_y)
        scaler = make_scaler(task["scaler"])
        if scaler is not None:
            train_x = check("Scaled X", scaler.fit_transform(train_x))
        # Before a fit that works in place.
        columns = columns_of(train_x) if fit.get("diagnose") else None
        models = [_fitted(task, params, train_x, train_y) for params in _params(task)]

    def scaled(rows: Matrix) -> Matrix:
        _fill(rows, means)
        check("Input X", rows)
        return rows if scaler is None or d == c else check("Scaled X", scaler.transform(rows))

    predicting = f"predicting {d - c} rows"
    with _library_errors(predicting, fit):
        score_x = scaled(score_x)
        raw = _predict(models, score_x) if d > c else np.empty(0)
    predicted = _usable(raw, d - c, fit)
    found: Message | None = None
    if columns is not None:
        facts = {
            "constant": describe_constant(task["estimator"], train_x, train_y, predicted),
            "importances": largest_importances(models, columns, train_y),
        }
        found = {name: fact for name, fact in facts.items() if fact is not None}
    permuted: list[Matrix] = []
    if "pool" in fit and d > c:
        with _library_errors(f"{predicting} with shuffled features", fit):
            # Without columns, nothing changes.
            permuted = [
                predicted if rows is None else _usable(_predict(models, scaled(rows)), d - c, fit)
                for rows in _permuted_rows(task["permutation"], fit, x, strata)
            ]
    return predicted, found, permuted


def _permuted_rows(permutation: Message, fit: Message, x: Matrix, strata: Matrix | None) -> Iterator[Matrix | None]:
    """The rows to predict with each group of features replaced; None for a group without columns."""
    c, d = fit["predict"]
    replacements = Replacements(strata, fit["pool"], (c, d))
    for group, columns in enumerate(permutation["groups"]):
        if not columns:
            yield None
            continue
        rows = np.array(x[c:d])
        rows[:, columns] = x[np.ix_(replacements.draw([*permutation["seed"], c, group]), columns)]
        yield rows


class Replacements:
    """For each row of `predict`, the rows of `pool` in its stratum, whose values may replace its own.

    Both are half-open ranges of rows of a matrix, and `pool` contains `predict`. `strata` (m), m >= both, has the
    stratum of each row; without it, all rows are one stratum.
    """

    def __init__(self, strata: Matrix | None, pool: Range, predict: Range) -> None:
        self._rows = predict[1] - predict[0]
        ids = np.zeros(pool[1]) if strata is None else strata
        drawn, wanted = (np.argsort(ids[a:b], kind="stable") + a for a, b in (pool, predict))
        known = ids[drawn]
        self._strata: list[tuple[Rows, Rows]] = []
        for own in np.split(wanted, np.flatnonzero(np.diff(ids[wanted])) + 1):
            if len(own) > 0:
                first, last = (np.searchsorted(known, ids[own[0]], side) for side in ("left", "right"))
                self._strata.append((own - predict[0], drawn[first:last]))

    def draw(self, seed: list[int]) -> Rows:
        """For each row to predict a random row, none twice: the same for the same seed."""
        random = np.random.default_rng(seed)
        rows = np.empty(self._rows, dtype=np.intp)
        for own, drawn in self._strata:
            rows[own] = random.permutation(drawn)[: len(own)]
        return rows


@contextmanager
def _library_errors(doing: str, fit: Message) -> Iterator[None]:
    try:
        yield
    except TaskError:
        raise
    except Exception as error:
        raise TaskError("fit_failed", f"{doing}: {sentence_of(error)}", _rows(fit)) from error


def _works_in_place(task: Message) -> bool:
    """Whether the regressor may overwrite its rows, of which it would otherwise make two copies."""
    return bool(task.get("views")) and task["estimator"]["class"] in ("LinearRegression", "Ridge")


def _params(task: Message) -> list[dict[str, Any]]:
    """The arguments of each regressor of an ensemble, which differ in the seed."""
    estimator = task["estimator"]
    params: dict[str, Any] = {**estimator["params"], **({"copy_X": False} if _works_in_place(task) else {})}
    seed = "random_seed" if estimator["library"] == "catboost" else "random_state"
    return [params, *({**params, seed: params[seed] + k} for k in range(1, estimator.get("ensemble", 1)))]


def _fitted(task: Message, params: dict[str, Any], x: Matrix, y: Matrix) -> Any:
    model: Any = make_estimator(task["estimator"], params)
    if task["estimator"]["library"] == "catboost" and (y == y[0]).all():
        # catboost refuses equal labels; the other libraries forecast them.
        from sklearn.dummy import DummyRegressor

        model = DummyRegressor(strategy="constant", constant=y[0])
    return model.fit(x, y)


def _absent_means(train_x: Matrix, score_x: Matrix) -> dict[int, float]:
    """For each column with NaN, its mean over the training rows that have it; 0 if none has it."""
    means: dict[int, float] = {}
    for column in np.flatnonzero(np.isnan(train_x).any(axis=0) | np.isnan(score_x).any(axis=0)):
        values = train_x[:, column]
        known = values[~np.isnan(values)]
        means[int(column)] = known.mean() if known.size else 0.0
    return means


def _fill(rows: Matrix, means: dict[int, float]) -> None:
    for column, mean in means.items():
        rows[np.isnan(rows[:, column]), column] = mean


PREDICTED_ROWS = 1024


def _predict(models: list[Any], x: Matrix) -> Any:
    """The mean prediction of `x` (n, k), each independent of later rows: BLAS sums the last n mod 4 rows in another
    order, so linear models predict blocks of one size, and the last one is padded."""
    model, *others = models
    if others:
        return np.mean([_predict([own], x) for own in models], axis=0, dtype=np.float64)
    if not hasattr(model, "coef_"):
        return model.predict(x)
    filled = np.concatenate([x, np.repeat(x[-1:], -len(x) % PREDICTED_ROWS, axis=0)])
    blocks = [model.predict(filled[at : at + PREDICTED_ROWS]) for at in range(0, len(filled), PREDICTED_ROWS)]
    return np.concatenate(blocks)[: len(x)]


def _usable(raw: Any, rows: int, fit: Message) -> Matrix:
    """The predictions as float64, shape (rows), all finite."""
    predicted = np.asarray(raw, dtype=np.float64)
    if predicted.shape != (rows,):
        shape = tuple(predicted.shape)
        raise TaskError("fit_failed", f"predictions have shape {shape}, not ({rows},)", _rows(fit))
    bad = int(np.count_nonzero(~np.isfinite(predicted)))
    if bad:
        raise TaskError("fit_failed", f"{bad} of {rows} predictions are not finite", _rows(fit))
    return predicted


def _too_large(x: Matrix, fit: Message) -> Message:
    """The place and the value of a number in the rows of a failed fit that is too large for a float32."""
    for row in chain(range(*fit["train"]), range(*fit["predict"])):
        for column in np.flatnonzero(np.abs(x[row]) > np.finfo(np.float32).max):
            return {"too_large": {"row": row, "column": int(column), "value": float(x[row, column])}}
    return {}


def _rows(fit: Message) -> Message:
    return {"train": fit["train"], "predict": fit["predict"]}
