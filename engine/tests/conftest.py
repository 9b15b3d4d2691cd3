"""Arrays and tasks that look like a ticker's: small, noisy, with a weak signal."""

import os

# Before NumPy is imported, as in the host.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from task_files import Task, save

from mucast_engine.arrays import ArrayStore, Matrix

# By default, Hypothesis fails a test that is slow on a busy machine.
settings.register_profile("engine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("engine")

ROWS, COLUMNS = 300, 5


@pytest.fixture
def x() -> Matrix:
    return np.random.default_rng(1).standard_normal((ROWS, COLUMNS)) * [1, 10, 0.1, 1, 3] + [0, 5, 0, -2, 0]


@pytest.fixture
def y(x: Matrix) -> Matrix:
    return 0.002 * x[:, 0] + 0.01 * np.random.default_rng(2).standard_normal(ROWS)


@pytest.fixture
def store(tmp_path: Path) -> ArrayStore:
    return ArrayStore(tmp_path)


@pytest.fixture
def make_task(tmp_path: Path, x: Matrix, y: Matrix) -> Callable[..., Task]:
    """A fit_predict task of two folds and a final fit on the unchanged fixtures; keywords change it."""

    def make(estimator: dict[str, Any], **changes: Any) -> Task:
        return {
            "task": "fit_predict",
            "estimator": estimator,
            "scaler": "none",
            "x": save(tmp_path, "x.npy", x),
            "y": save(tmp_path, "y.npy", y),
            "fits": [
                {"train": [0, 200], "predict": [200, 240]},
                {"train": [0, 240], "predict": [240, 280]},
                {"train": [0, 280], "predict": [280, 300], "diagnose": True},
            ],
            "predictions": {"ref": str(tmp_path / "p.npy")},
            **changes,
        }

    return make
