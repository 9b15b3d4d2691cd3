"""Fits of one matrix that many tickers share: `views` and `absent`."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from regressors import NAMES, spec_of
from task_files import Task, save, values_of

from mucast_engine.arrays import ArrayStore, Matrix
from mucast_engine.fit_predict import fit_predict

FITS = [{"train": [0, 40], "predict": [40, 60]}, {"train": [0, 60], "predict": [60, 90]}]


def predicted(task: Task, store: ArrayStore, **options: bool) -> Matrix:
    return values_of(fit_predict({**task, **options}, store, lambda _: None)["predictions"])


@pytest.mark.parametrize("scaler", ["none", "standard"])
@pytest.mark.parametrize("name", NAMES)
def test_views_change_no_bit_and_no_row(
    name: str, scaler: str, make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path
) -> None:
    random = np.random.default_rng(5)
    x, y = random.normal(size=(90, 4)), random.normal(size=60)
    given = {"x": save(tmp_path, "wide.npy", x), "y": save(tmp_path, "labels.npy", y)}
    task = make_task(spec_of(name), fits=FITS, scaler=scaler, **given)
    copies = predicted(task, store)
    (tmp_path / "p.npy").unlink(missing_ok=True)
    np.testing.assert_array_equal(predicted(task, store, views=True), copies)
    np.testing.assert_array_equal(np.load(tmp_path / "wide.npy"), x)


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge"])
def test_a_fit_that_works_in_place_has_the_importances_of_one_that_copies(
    name: str, make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path
) -> None:
    random = np.random.default_rng(7)
    x, y = random.normal(size=(90, 4)), random.normal(size=60)
    x[:, 2] = 1 / 3
    given = {"x": save(tmp_path, "wide.npy", x), "y": save(tmp_path, "labels.npy", y)}
    task = make_task(spec_of(name), fits=[{**FITS[1], "diagnose": True}], scaler="standard", **given)
    copies, in_place = (fit_predict({**task, "views": views}, store, lambda _: None) for views in (False, True))
    assert in_place["diagnoses"] == copies["diagnoses"]
    assert len(copies["diagnoses"][0]["importances"]) == 4


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "Lasso", "ElasticNet"])
def test_an_argument_that_avoids_copies_changes_no_shared_row(
    name: str, make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path
) -> None:
    random = np.random.default_rng(8)
    x, y = random.normal(size=(90, 4)), random.normal(size=60)
    given = {"x": save(tmp_path, "wide.npy", x), "y": save(tmp_path, "labels.npy", y)}
    copies = predicted(make_task(spec_of(name), fits=FITS, **given), store)
    task = make_task(spec_of(name, copy_X=False), fits=FITS, **given)
    (tmp_path / "p.npy").unlink(missing_ok=True)
    np.testing.assert_array_equal(predicted(task, store, views=True), copies)
    np.testing.assert_array_equal(np.load(tmp_path / "wide.npy"), x)


@pytest.mark.parametrize("scaler", ["none", "robust"])
@pytest.mark.parametrize("name", ["LinearRegression", "LGBMRegressor"])
def test_absent_values_are_the_mean_of_the_training_rows_that_have_the_column(
    name: str, scaler: str, make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path
) -> None:
    random = np.random.default_rng(6)
    x, y = random.normal(size=(90, 4)), random.normal(size=60)
    x[::3, 1] = np.nan
    x[:50, 2] = np.nan  # The first fit has no row with it.
    expected = []
    for i, fit in enumerate(FITS):
        a, b = fit["train"]
        filled = x.copy()
        for column in range(4):
            known = [value for value in x[a:b, column] if not np.isnan(value)]
            filled[np.isnan(x[:, column]), column] = np.mean(known) if known else 0.0
        given = {"x": save(tmp_path, f"filled{i}.npy", filled), "y": save(tmp_path, f"labels{i}.npy", y)}
        expected.append(predicted(make_task(spec_of(name), fits=[fit], scaler=scaler, **given), store))
        (tmp_path / "p.npy").unlink(missing_ok=True)
    given = {"x": save(tmp_path, "holes.npy", x), "y": save(tmp_path, "labels.npy", y)}
    task = make_task(spec_of(name), fits=FITS, scaler=scaler, **given)
    np.testing.assert_array_equal(predicted(task, store, views=True, absent=True), np.concatenate(expected))
    np.testing.assert_array_equal(np.load(tmp_path / "holes.npy"), x)
