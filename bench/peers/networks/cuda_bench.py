"""Networks of many tickers on a GPU: one by one, stacked, and stacked with steps in CUDA graphs, beside one CPU thread.

No figure exists yet: this was written without access to a GPU. Usage, in an environment made by `mucast setup --dl`:

    PYTHONPATH=engine python bench/peers/networks/cuda_bench.py ARCHITECTURE [TICKERS] [EPOCHS] [DEVICE]

ARCHITECTURE is lstm, mlp, cnn or transformer of the default size; 64 tickers, 5 epochs and cuda:0 by default. DEVICE
cpu tests the script itself. Each way to train is run twice, since the first run loads the device's kernels; the
second is printed. Prints one JSON object per line: milliseconds per network and step, including all validation and
prediction, and the largest difference of a prediction from the CPU's as a share of the largest prediction.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from mucast_engine.arrays import ArrayStore
from mucast_engine.networks.stack import objective as stack_objective
from mucast_engine.networks.tasks import run_network_task

SPECS = {
    "lstm": {"architecture": "lstm", "hidden_dims": [64, 32], "dropout": 0.2},
    "mlp": {"architecture": "mlp", "hidden_dims": [128, 64], "dropout": 0.2},
    "cnn": {"architecture": "cnn", "filters": [32, 64], "kernel_size": 3, "pool_size": 2, "dropout": 0.2},
    "transformer": {
        "architecture": "transformer",
        **{"d_model": 64, "nhead": 4, "num_layers": 2, "dim_feedforward": 256, "dropout": 0.1},
    },
}
LOOKBACK, FEATURES, BATCH = 20, 30, 64
PARTS = {"train": 2_560, "validate": 640, "predict": 200}


def tasks(folder, architecture, tickers, epochs):
    """One `train_network` task per ticker, on noise with a weak signal."""
    windows = sum(PARTS.values())
    training = {"epochs": epochs, "patience": epochs, "batch_size": BATCH, "learning_rate": 1e-3, "loss": "mse"}
    training["monitor"] = "loss"
    made = []
    for ticker in range(tickers):
        random = np.random.default_rng(ticker)
        x = random.standard_normal((windows + LOOKBACK - 1, FEATURES))
        y = 0.002 * x[LOOKBACK - 1 :, 0] + 0.01 * random.standard_normal(windows)
        ends = np.arange(windows, dtype=np.float64) + LOOKBACK - 1
        files = {"x": x, "ends": ends, "labels": y[: PARTS["train"] + PARTS["validate"]]}
        made.append(
            {
                "task": "train_network",
                "ticker": f"T{ticker}",
                "network": SPECS[architecture],
                "training": {**training, "optimizer": "adam", "weight_decay": 0.0, "grad_clip": 1.0},
                "scaler": "standard",
                "lookback": LOOKBACK,
                "seed": 42,
                "member": 0,
                "parts": PARTS,
                "predictions": {"ref": str(folder / f"predictions{ticker}.npy")},
                **{name: saved(folder / f"{name}{ticker}.npy", values) for name, values in files.items()},
            }
        )
    return made


def saved(path, values):
    np.save(path, values)
    return {"ref": str(path), "dtype": "<f8", "shape": list(values.shape), "order": "C"}


def one_by_one(networks, device, store):
    return [run_network_task({**task, "device": device}, store, lambda _: None) for task in networks]


def stacked(networks, device, store):
    task = {"task": "train_stack", "networks": networks, "device": device}
    return run_network_task(task, store, lambda _: None)["results"]


def stacked_without_graphs(networks, device, store):
    replayable = stack_objective.replayable
    stack_objective.replayable = lambda work, _: work
    try:
        return stacked(networks, device, store)
    finally:
        stack_objective.replayable = replayable


def measured(way, networks, device, store):
    """Seconds of the second run, and its predictions (tickers, windows)."""
    way(networks, device, store)
    started = time.perf_counter()
    results = way(networks, device, store)
    seconds = time.perf_counter() - started
    return seconds, np.stack([np.load(result["predictions"]["ref"]) for result in results])


def main(architecture, tickers=64, epochs=5, device="cuda:0"):
    if device != "cpu" and not torch.cuda.is_available():
        sys.exit("there is no CUDA device here")
    ways = [
        ("one CPU thread", one_by_one, "cpu"),
        ("one by one", one_by_one, device),
        ("stacked", stacked_without_graphs, device),
        ("stacked, in graphs", stacked, device),
    ]
    with tempfile.TemporaryDirectory() as name:
        store, networks = ArrayStore(Path(name)), tasks(Path(name), architecture, int(tickers), int(epochs))
        steps = len(networks) * int(epochs) * -(-PARTS["train"] // BATCH)
        reference = None
        for title, way, where in ways:
            seconds, predictions = measured(way, networks, where, store)
            reference = predictions if reference is None else reference
            apart = float(np.abs(predictions - reference).max() / np.abs(reference).max())
            figures = {"milliseconds": seconds / steps * 1e3, "apart": apart}
            print(json.dumps({"way": title, "device": where, **figures}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
