"""The nodes of a cluster, and tasks for it: three short fits, and one that ends only by force."""

from pathlib import Path
from typing import Any

import numpy as np
from regressors import spec_of
from started_cluster import StartedCluster
from task_files import Task, save

HEAD = {"name": "head", "cpus": 0}
NODES = [HEAD, {"name": "a"}, {"name": "b"}]
QUICK = spec_of("CatBoostRegressor", iterations=2)
ENDLESS = spec_of("CatBoostRegressor", iterations=100_000_000)


def working(cluster: StartedCluster, node: str) -> list[int]:
    """Ray's processes with a task there."""
    return [one["pid"] for one in cluster.processes(node) if one["command"].startswith("ray::mucast")]


def fit_task(folder: Path, name: str, estimator: dict[str, Any], seed: int = 1, **changes: Any) -> Task:
    """Its predictions are `name`.npy; two folds and a final fit of 300 rows."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((300, 5)) * [1, 10, 0.1, 1, 3]
    y = 0.002 * x[:, 0] + 0.01 * random.standard_normal(300)
    return {
        "task": "fit_predict",
        "estimator": estimator,
        "scaler": "none",
        "x": save(folder, f"x{seed}.npy", x),
        "y": save(folder, f"y{seed}.npy", y),
        "fits": [
            {"train": [0, 200], "predict": [200, 240]},
            {"train": [0, 240], "predict": [240, 280]},
            {"train": [0, 280], "predict": [280, 300], "diagnose": True},
        ],
        "predictions": {"ref": str(folder / f"{name}.npy")},
        **changes,
    }
