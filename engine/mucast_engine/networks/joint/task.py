"""Task `train_joint`: one network on all tickers; a sample is a date with the tickers that have a window there."""

import time
from collections.abc import Callable

import numpy as np
import torch

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.failure import unknown
from mucast_engine.networks.architectures import JointArchitecture, build_joint_network, parameter_count, start_quietly
from mucast_engine.networks.dropout import DropoutMasks
from mucast_engine.networks.joint.ic import require_comparable
from mucast_engine.networks.joint.objective import JointObjective
from mucast_engine.networks.joint.panel import ABSENT, JointPanel, read_joint_panel
from mucast_engine.networks.losses import (
    Loss,
    LossName,
    MahalanobisLoss,
    label_correlation,
    leaves_scale_open,
    make_loss,
)
from mucast_engine.networks.seeds import derive_seed, generator_for
from mucast_engine.networks.training import finite, train

# Seeds derive from this name, as those of a ticker's network derive from the ticker.
NAME = "portfolio"


def train_joint(task: Message, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    """Trains on the first `parts.train` dates, stops by the next `parts.validate`, predicts these and the rest.

    Writes predictions ((validate + predict) * tickers), log-returns, NaN if a ticker has no window. Raises TaskError
    `diverged` or `constant_target`.
    """
    started = time.perf_counter()
    torch.set_num_threads(1)
    device, parts = torch.device(task["device"]), task["parts"]
    seed, member = (task["seed"], NAME), task["member"]
    panel = read_joint_panel(task, store, device)
    if task["training"]["monitor"] == "ic":
        require_comparable(panel.labels.known[parts["train"] :])
    first = generator_for(*seed, "weights", member)
    network = build_joint_network(task["network"], task["features"], task["lookback"], first)
    centred = is_centred(task["network"]["architecture"], task["training"]["weight_decay"])
    if not centred:
        start_quietly(network, panel.level)
    masks = DropoutMasks(task["network"]["dropout"], derive_seed(*seed, "dropout", member), device)
    loss = _loss(task["training"]["loss"], panel, parts["train"], device)
    with JointObjective(
        network=network.to(device),
        panel=panel,
        train_samples=parts["train"],
        batch_size=task["training"]["batch_size"],
        loss=loss,
        monitor=task["training"]["monitor"],
        masks=masks,
        threads=task["threads"],
    ) as objective:
        if centred:
            objective.centre(panel.level)
        history = train(objective, task["training"], generator_for(*seed, "order", member), progress)
        result: Message = {**history._asdict(), "parameters": parameter_count(network)}
        fitted = parts["train"] + parts["validate"]
        # Each part by itself, as in train_network.
        watched, rest = objective.predict(slice(parts["train"], fitted)), objective.predict(slice(fitted, None))
        predicted = torch.cat([watched, rest]).double()
        if leaves_scale_open(task["training"]["loss"]):
            result["prediction_scale"] = objective.prediction_scale()
            predicted = predicted * result["prediction_scale"]
    returns = predicted.cpu().numpy() * panel.scales
    absent = panel.ends[parts["train"] :].cpu().numpy() == ABSENT
    finite(returns[~absent])
    result["predictions"] = store.write(task["predictions"]["ref"], np.where(absent, np.nan, returns).ravel())
    return {**result, "seconds": time.perf_counter() - started}


def _loss(name: LossName, panel: JointPanel, train_samples: int, device: torch.device) -> Loss:
    if name != "mahalanobis":
        return make_loss(name, panel.means)
    labels = panel.labels.values[:train_samples].double().cpu().numpy()
    known = panel.labels.known[:train_samples].cpu().numpy() > 0
    return MahalanobisLoss(label_correlation(np.where(known, labels, np.nan)), device)


def is_centred(architecture: JointArchitecture, weight_decay: float) -> bool:
    """Whether a joint network starts centred instead of quiet.

    A centred network keeps its random weights, and subtracts their forecasts from all its forecasts (Chizat et al.
    2019). Weight decay pulls weights to 0, and so would pull the forecasts of a
    centred network towards what is subtracted.
    """
    match architecture:
        case "portfolio_lstm":
            return weight_decay == 0
        case "portfolio_transformer":
            return False
        case _:
            raise unknown("architecture", architecture)
