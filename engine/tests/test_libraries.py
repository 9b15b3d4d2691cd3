import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from regressors import NAMES, REGRESSORS

from mucast_engine.libraries import import_libraries, kernel_level
from mucast_engine.status import status

ENGINE = Path(__file__).parent.parent

# Imports one library as the host does, fits with each of its classes in a separate fork, and prints what that changed.
PROBE = """
import json, os, sys
from pathlib import Path
from mucast_engine.libraries import import_libraries
import numpy, mucast_engine.worker
library, classes = sys.argv[1], json.loads(sys.argv[2])
import_libraries([library])
from mucast_engine.process import thread_count
threads, modules = thread_count(), set(sys.modules)
heavy = sorted(modules & {"pandas", "scipy.stats"})
from mucast_engine.estimator import make_estimator, make_scaler
for name, params in classes.items():
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        continue
    x = numpy.random.default_rng(0).standard_normal((200, 3))
    if library != "catboost":
        x = make_scaler("robust").fit_transform(x)
    make_estimator({"library": library, "class": name}, params).fit(x, x[:, 0]).predict(x)
    late = sorted(set(sys.modules) - modules)
    print(json.dumps([name, {"threads": threads, "late": late, "heavy": heavy}]), flush=True)
    os._exit(0)
"""


@pytest.mark.parametrize(
    ("library", "names"),
    [
        ("sklearn", [name for name, (library, _, _) in zip(NAMES, REGRESSORS, strict=True) if library == "sklearn"]),
        pytest.param("xgboost", ["XGBRegressor"], marks=pytest.mark.release),
        pytest.param("lightgbm", ["LGBMRegressor"], marks=pytest.mark.release),
        ("catboost", ["CatBoostRegressor"]),
    ],
)
def test_the_import_starts_no_thread_and_leaves_nothing_for_the_first_fit_to_import(
    library: str, names: list[str]
) -> None:
    classes = {name: REGRESSORS[NAMES.index(name)][2] for name in names}
    command = [sys.executable, "-P", "-c", PROBE, library, json.dumps(classes)]
    env = {**os.environ, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    heavy = ["pandas"] if library == "catboost" else []
    assert found == [[name, {"threads": 1, "late": [], "heavy": heavy}] for name in names]


# Imports PyTorch as the host does, trains one small network of each kind, and prints what that changed: in a fork with
# a loss that needs no other library, then with the one that does.
NETWORK_PROBE = """
import json, os, sys
from pathlib import Path
from mucast_engine.libraries import import_libraries
import numpy, numpy.random, mucast_engine.worker
folder, loss = Path(sys.argv[1]), "r2"
import_libraries(["torch"])
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
    loss = "mahalanobis"
    import_libraries(["torch", "sklearn"])
from mucast_engine.process import thread_count
threads, modules = thread_count(), set(sys.modules)
from mucast_engine.arrays import ArrayStore
from mucast_engine.networks.architectures import JointArchitecture, TickerArchitecture
from mucast_engine.networks.tasks import run_network_task
from typing import get_args
import torch
rng = numpy.random.default_rng(0)
def save(name, values):
    numpy.save(folder / name, values)
    kind = values.dtype.str
    return {"ref": str(folder / name), "dtype": kind, "shape": list(values.shape), "order": "C"}
x, rows = save("x.npy", rng.standard_normal((80, 3))), numpy.arange(3, 80, dtype=numpy.float64)
labels = 0.01 * rng.standard_normal(60)
task = {
    "lookback": 4, "seed": 1, "member": 0, "device": "cpu", "scaler": "robust", "threads": 1,
    "predictions": {"ref": str(folder / "p.npy")},
    "parts": {"train": 50, "validate": 10, "predict": len(rows) - 60},
    "training": {"epochs": 2, "batch_size": 16, "learning_rate": 1e-3, "patience": 2, "optimizer": "adam",
                 "weight_decay": 0.0, "grad_clip": 1.0, "loss": loss,
                 "monitor": "loss"},
}
one = {"ticker": "A", "x": x, "ends": save("e.npy", rows), "labels": save("l.npy", labels)}
two = {
    "tickers": [{"ticker": name, "x": x, "columns": [0, 1, 2], "scale_rows": 60} for name in "AB"], "features": 3,
    "ends": save("e2.npy", numpy.stack([rows, rows], 1)),
    "labels": save("l2.npy", numpy.stack([labels, rng.permutation(labels)], 1)),
}
attention = {"d_model": 8, "nhead": 2, "num_layers": 1, "dim_feedforward": 16, "dropout": 0.1}
networks = {
    "lstm": {"hidden_dims": [4], "dropout": 0.1}, "mlp": {"hidden_dims": [4], "dropout": 0.1}, "transformer": attention,
    "cnn": {"filters": [4], "kernel_size": 3, "pool_size": 2, "dropout": 0.1},
    "portfolio_lstm": {"hidden_dims": [4], "dropout": 0.1}, "portfolio_transformer": attention,
}
assert set(networks) == {*get_args(TickerArchitecture), *get_args(JointArchitecture)}
for name, spec in networks.items():
    kind = {"task": "train_joint", **two} if name in get_args(JointArchitecture) else {"task": "train_network", **one}
    network = {"architecture": name, **spec}
    run_network_task({**task, **kind, "network": network}, ArrayStore(folder), lambda update: None)
late = sorted(set(sys.modules) - modules)
cuda, heavy = torch.cuda.is_initialized(), sorted(modules & {"pandas", "scipy.stats"})
print(json.dumps([loss, {"threads": threads, "late": late, "cuda": cuda, "heavy": heavy}]), flush=True)
"""


@pytest.mark.release
def test_the_import_of_torch_starts_no_thread_and_leaves_nothing_for_the_first_training(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", NETWORK_PROBE, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = {"threads": 1, "late": [], "cuda": False, "heavy": []}
    assert [json.loads(line) for line in done.stdout.splitlines()] == [["r2", expected], ["mahalanobis", expected]]


def test_the_status_has_the_version_of_every_library() -> None:
    libraries: dict[str, Any] = status(["sklearn", "xgboost", "lightgbm", "catboost", "torch"])["libraries"]
    assert set(libraries) == {"numpy", "scipy", "scikit-learn", "xgboost", "lightgbm", "catboost", "torch"}
    assert all(found["version"] for found in libraries.values())


def test_the_status_lists_a_library_that_cannot_be_imported_with_the_others() -> None:
    command = [sys.executable, "-P", "-m", "mucast_engine.status", "nosuch", "catboost"]
    env = {**os.environ, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    libraries = json.loads(done.stdout)["libraries"]
    assert "nosuch" in libraries["nosuch"]["fault"]
    assert libraries["catboost"]["version"]


def test_the_status_lists_the_devices_that_torch_sees() -> None:
    import torch

    devices = status(["torch"])["devices"]
    assert isinstance(devices, list)
    assert [device.split()[0] for device in devices] == [f"cuda:{n}" for n in range(torch.cuda.device_count())]


def test_onednn_is_off_if_the_kernels_are_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    assert torch._C._get_mkldnn_enabled(), "as it is where nothing is pinned"
    try:
        for level, enabled in [("", True), ("x86-64-v3", False)]:
            monkeypatch.setenv("MUCAST_KERNEL_LEVEL", level)
            import_libraries(["torch"])
            assert (torch._C._get_mkldnn_enabled(), kernel_level()) == (enabled, level or None)
    finally:
        torch.backends.mkldnn.set_flags(True)
