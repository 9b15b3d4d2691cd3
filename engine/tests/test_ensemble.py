"""An ensemble: the mean of regressors that differ in their seeds."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from regressors import spec_of
from task_files import Task, values_of

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.fit_predict import fit_predict

# Without any of these, a seed changes nothing.
RANDOM = {
    "RandomForestRegressor": {},
    "XGBRegressor": {"subsample": 0.5},
    "LGBMRegressor": {"subsample": 0.5, "subsample_freq": 1, "min_child_samples": 5},
    "CatBoostRegressor": {},
}


def fitted(task: Task, store: ArrayStore) -> tuple[Matrix, list[Message]]:
    result = fit_predict(task, store, lambda _: None)
    predictions = values_of(result["predictions"]).copy()
    Path(task["predictions"]["ref"]).unlink(missing_ok=True)
    return predictions, result["diagnoses"]


@pytest.mark.parametrize("name", RANDOM)
def test_an_ensemble_is_the_mean_of_separate_fits(name: str, make_task: Callable[..., Task], store: ArrayStore) -> None:
    seed = "random_seed" if name == "CatBoostRegressor" else "random_state"
    fits = [{"train": [0, 40], "predict": [40, 60], "diagnose": True}, {"train": [10, 50], "predict": [50, 60]}]

    def task(first: int, ensemble: int) -> Task:
        spec = spec_of(name, **RANDOM[name], **{seed: first})
        return make_task({**spec, "ensemble": ensemble}, fits=fits)

    separate = [fitted(task(7 + k, 1), store) for k in range(3)]
    assert not np.array_equal(separate[0][0], separate[1][0])
    predicted, [diagnosis] = fitted(task(7, 3), store)
    np.testing.assert_allclose(predicted, np.mean([own for own, _ in separate], axis=0), rtol=1e-12, atol=1e-15)
    weights = [dict(own["importances"]) for _, [own] in separate]
    for column, importance in diagnosis["importances"]:
        assert importance == pytest.approx(np.mean([own[column] for own in weights]))


def test_an_ensemble_of_one_has_the_bytes_of_a_single_fit(make_task: Callable[..., Task], store: ArrayStore) -> None:
    spec = spec_of("XGBRegressor")
    one, alone = fitted(make_task({**spec, "ensemble": 1}), store), fitted(make_task(spec), store)
    assert one[0].tobytes() == alone[0].tobytes()
    assert one[1] == alone[1]
