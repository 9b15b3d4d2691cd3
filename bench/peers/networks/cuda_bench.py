"""Compares a GPU with the CPU, for networks of many tickers (one by one, stacked, stacked in CUDA graphs) and joint networks.

Usage, in an environment made by `mucast setup --dl`:

    PYTHONPATH=engine python bench/peers/networks/cuda_bench.py ARCHITECTURE [TICKERS] [EPOCHS] [DEVICE]

ARCHITECTURE is a network of the default size; 64 tickers, 5 epochs and cuda:0 by default. DEVICE cpu tests the script
itself. Each way to train is run twice, since the first run loads the device's kernels; the second is measured. Prints
one JSON object per line: milliseconds per step (of one network, or of a joint network of all tickers), including all
validation and prediction; the largest difference of a prediction from the CPU's as a share of the largest prediction;
and whether both runs gave the same bytes.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from mucast_engine.arrays import ArrayStore
from mucast_engine.networks.stack import training as stack_training
from mucast_engine.networks.tasks import run_network_task

LSTM = {"hidden_dims": [64, 32], "dropout": 0.2}
TRANSFORMER = {"d_model": 64, "nhead": 4, "num_layers": 2, "dim_feedforward": 256, "dropout": 0.1}
SPECS = {
    "lstm": {"architecture": "lstm", **LSTM},
    "mlp": {"architecture": "mlp", "hidden_dims": [128, 64], "dropout": 0.2},
    "cnn": {"architecture": "cnn", "filters": [32, 64], "kernel_size": 3, "pool_size": 2, "dropout": 0.2},
    "transformer": {"architecture": "transformer", **TRANSFORMER},
    "portfolio_lstm": {"architecture": "portfolio_lstm", **LSTM},
    "portfolio_transformer": {"architecture": "portfolio_transformer", **TRANSFORMER},
}
JOINT = ("portfolio_lstm", "portfolio_transformer")
LOOKBACK, FEATURES, BATCH = 20, 30, 64
PARTS = {"train": 2_560, "validate": 640, "predict": 200}
WINDOWS = sum(PARTS.values())


def panel(tickers):
    """Rows (WINDOWS + LOOKBACK - 1, FEATURES) and labels (WINDOWS) of each ticker: noise with a weak signal."""
    for ticker in range(tickers):
        random = np.random.default_rng(ticker)
        x = random.standard_normal((WINDOWS + LOOKBACK - 1, FEATURES))
        yield x, 0.002 * x[LOOKBACK - 1 :, 0] + 0.01 * random.standard_normal(WINDOWS)


def ticker_tasks(folder, architecture, tickers, epochs):
    """One `train_network` task per ticker."""
    made = []
    for ticker, (x, y) in enumerate(panel(tickers)):
        files = {"x": x, "ends": np.arange(WINDOWS) + LOOKBACK - 1.0, "labels": y[: PARTS["train"] + PARTS["validate"]]}
        made.append(
            {
                "task": "train_network",
                "ticker": f"T{ticker}",
                "predictions": {"ref": str(folder / f"predictions{ticker}.npy")},
                **common(architecture, epochs),
                **{name: saved(folder / f"{name}{ticker}.npy", values) for name, values in files.items()},
            }
        )
    return made


def joint_tasks(folder, architecture, tickers, epochs):
    """One `train_joint` task."""
    data = list(panel(tickers))
    ends = np.repeat(np.arange(WINDOWS)[:, None] + LOOKBACK - 1.0, tickers, axis=1)
    labels = np.stack([y for _, y in data], axis=1)[: PARTS["train"] + PARTS["validate"]]
    own = [
        {
            "ticker": f"T{ticker}",
            "x": saved(folder / f"x{ticker}.npy", x),
            "columns": list(range(FEATURES)),
            "scale_rows": PARTS["train"] + LOOKBACK - 1,
        }
        for ticker, (x, _) in enumerate(data)
    ]
    return [
        {
            "task": "train_joint",
            "tickers": own,
            "features": FEATURES,
            "ends": saved(folder / "ends.npy", ends),
            "labels": saved(folder / "labels.npy", labels),
            "threads": min(4, os.cpu_count() or 1),
            "predictions": {"ref": str(folder / "predictions.npy")},
            **common(architecture, epochs),
        }
    ]


def common(architecture, epochs):
    training = {"epochs": epochs, "patience": epochs, "batch_size": BATCH, "learning_rate": 1e-3, "loss": "mse"}
    optimiser = {"monitor": "loss", "optimizer": "adam", "weight_decay": 0.0, "grad_clip": 1.0}
    return {
        "network": SPECS[architecture],
        "training": {**training, **optimiser},
        "scaler": "standard",
        "lookback": LOOKBACK,
        "seed": 42,
        "member": 0,
        "parts": PARTS,
    }


def saved(path, values):
    np.save(path, values)
    return {"ref": str(path), "dtype": "<f8", "shape": list(values.shape), "order": "C"}


def one_by_one(networks, device, store):
    return [run_network_task({**task, "device": device}, store, lambda _: None) for task in networks]


def stacked(networks, device, store):
    task = {"task": "train_stack", "networks": networks, "device": device}
    return run_network_task(task, store, lambda _: None)["results"]


def stacked_without_graphs(networks, device, store):
    replayable = stack_training.replayable
    stack_training.replayable = lambda work, _: work
    try:
        return stacked(networks, device, store)
    finally:
        stack_training.replayable = replayable


def measured(way, networks, device, store):
    """Seconds and predictions of the second run, and whether both runs gave the same bytes."""

    def run():
        results = way(networks, device, store)
        return np.stack([np.load(result["predictions"]["ref"]) for result in results])

    first = run()
    started = time.perf_counter()
    second = run()
    return time.perf_counter() - started, second, first.tobytes() == second.tobytes()


def main(architecture, tickers=64, epochs=5, device="cuda:0"):
    if device != "cpu" and not torch.cuda.is_available():
        sys.exit("there is no CUDA device here")
    joint = architecture in JOINT
    stacks = [("stacked", stacked_without_graphs, device), ("stacked, in graphs", stacked, device)]
    title = f"CPU, {min(4, os.cpu_count() or 1)} threads" if joint else "CPU, one thread"
    ways = [(title, one_by_one, "cpu"), ("one by one", one_by_one, device), *([] if joint else stacks)]
    with tempfile.TemporaryDirectory() as name:
        make = joint_tasks if joint else ticker_tasks
        store, networks = ArrayStore(Path(name)), make(Path(name), architecture, int(tickers), int(epochs))
        steps = len(networks) * int(epochs) * -(-PARTS["train"] // BATCH)
        reference = None
        for title, way, where in ways:
            seconds, predictions, repeats = measured(way, networks, where, store)
            reference = predictions if reference is None else reference
            apart = float(np.abs(predictions - reference).max() / np.abs(reference).max())
            figures = {"milliseconds": seconds / steps * 1e3, "apart": apart, "repeats": repeats}
            print(json.dumps({"architecture": architecture, "way": title, "device": where, **figures}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
