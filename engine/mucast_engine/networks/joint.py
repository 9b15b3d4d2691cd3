"""Task `train_joint`: one network on all tickers; a sample is a date with the tickers that have a window there."""

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.failure import TaskError
from mucast_engine.networks.architectures import JointNetwork, build_joint_network, parameter_count, start_quietly
from mucast_engine.networks.dropout import DropoutMasks
from mucast_engine.networks.losses import Labels, Loss, LossName, MahalanobisLoss, label_correlation, make_loss
from mucast_engine.networks.samples import Windows, derive_seed, generator_for
from mucast_engine.networks.scaling import fit_scaling, scaled, target_scale
from mucast_engine.networks.training import Objective, finite, train

# Seeds derive from this name, as those of a ticker's network derive from the ticker.
NAME = "portfolio"
ABSENT = -1
# A batch is divided into at least about this many pieces, so that as many threads find work. Each slot adds up the
# gradients of every SLOTS-th piece, and the slots are added up in order, whichever thread was first.
SLOTS = 4
# Maximum number of cells (dates x tickers) in one piece, which bounds the memory of a large panel.
MAX_PIECE = 2_048
# Fewer tickers say too little about the order of a date.
MIN_TICKERS = 5
# Values whose deviation is at most this share of the largest are equal up to rounding.
ROUNDING = 1e-6


def train_joint(task: Message, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    """Trains on the first `parts.train` dates, stops by the next `parts.validate`, predicts these and the rest.

    Writes predictions ((validate + predict) * tickers), log-returns, NaN if a ticker has no window. Raises TaskError
    `diverged`, `constant_target` or `insufficient_history`.
    """
    started = time.perf_counter()
    torch.set_num_threads(1)
    device, training, samples = torch.device(task["device"]), task["training"], task["parts"]["train"]
    seed, member = (task["seed"], NAME), task["member"]
    panel = read_joint_panel(task, store, device)
    if training["monitor"] == "ic" and not (panel.labels.known[samples:].sum(1) >= MIN_TICKERS).any():
        raise TaskError(
            "insufficient_history",
            f"training_params.monitor is ic, and no date of the validation part has {MIN_TICKERS} tickers with a "
            "label: set monitor to loss, or add tickers",
        )
    first = generator_for(*seed, "weights", member)
    network = build_joint_network(task["network"], task["features"], task["lookback"], first)
    centred = is_centred(task["network"]["architecture"], training["weight_decay"])
    if not centred:
        start_quietly(network, panel.level)
    masks = DropoutMasks(task["network"]["dropout"], derive_seed(*seed, "dropout", member), device)
    with ThreadPoolExecutor(
        max(1, min(task["threads"], SLOTS)), initializer=torch.set_num_threads, initargs=(1,)
    ) as threads:
        objective = JointObjective(network.to(device), panel, task, masks, threads)
        if centred:
            objective.centre(panel.level)
        history = train(objective, training, generator_for(*seed, "order", member), progress)
        result: Message = {**history._asdict(), "parameters": parameter_count(network)}
        returns = objective.forecast(training["loss"], result) * panel.scales
    absent = panel.ends[samples:].cpu().numpy() == ABSENT
    finite(returns[~absent])
    result["predictions"] = store.write(task["predictions"]["ref"], np.where(absent, np.nan, returns).ravel())
    return {**result, "seconds": time.perf_counter() - started}


def is_centred(architecture: str, weight_decay: float) -> bool:
    """Whether a joint network starts centred instead of quiet.

    A centred network keeps its random weights, and subtracts their forecasts from all its forecasts (Chizat et al.
    2019). Weight decay pulls weights to 0, and so would pull the forecasts of a
    centred network towards what is subtracted.
    """
    return architecture == "portfolio_lstm" and weight_decay == 0


class JointPanel(NamedTuple):
    windows: Windows
    """Over the rows of all tickers, one ticker after the other."""
    ends: Tensor
    """Shape (dates, tickers): the row on which a ticker's window ends, ABSENT if it has none."""
    labels: Labels
    """Shape (train + validate, tickers), scaled."""
    scales: Matrix
    """Shape (tickers): standard deviation of the training labels, log-return."""
    means: Tensor
    """Shape (tickers): mean of the scaled training labels."""
    level: float
    """Mean of all scaled training labels."""


def read_joint_panel(task: Message, store: ArrayStore, device: torch.device) -> JointPanel:
    """Scales each ticker by what was known when its training ended.

    Raises TaskError `constant_target`, or `insufficient_history` if there is no label to validate by.
    """
    ends, labels = store.read(task["ends"]).astype(np.int64), np.array(store.read(task["labels"]))
    train, watched = np.split(labels, [task["parts"]["train"]])
    if np.isnan(watched).all():
        raise TaskError("insufficient_history", "no ticker has a label on the dates that validate")
    scales = np.array([target_scale(column[~np.isnan(column)]) for column in train.T])
    relative = labels / scales
    values = torch.from_numpy(np.nan_to_num(relative, nan=0.0).astype(np.float32)).to(device)
    counts = [ticker["x"]["shape"][0] for ticker in task["tickers"]]
    first_rows = np.cumsum([0, *counts[:-1]], dtype=np.int64)
    # Features of the union; 0 if a ticker lacks one.
    rows = np.zeros((sum(counts), task["features"]), dtype=np.float32)
    for ticker, first in zip(task["tickers"], first_rows, strict=True):
        x = store.read(ticker["x"])
        learned = x[ticker.get("scale_from", 0) : ticker["scale_rows"]]
        scaling = fit_scaling(task["scaler"], learned, ticker.get("z_scores", 0))
        rows[first : first + len(x), ticker["columns"]] = scaled(x, scaling)
    return JointPanel(
        windows=Windows(torch.from_numpy(rows).to(device), task["lookback"]),
        ends=torch.from_numpy(np.where(ends >= 0, ends + first_rows, ABSENT)).to(device),
        labels=Labels(values, torch.from_numpy((~np.isnan(labels)).astype(np.float32)).to(device)),
        scales=scales,
        means=torch.from_numpy(np.nanmean(relative[: len(train)], axis=0).astype(np.float32)).to(device),
        level=float(np.nanmean(relative[: len(train)])),
    )


class JointObjective(Objective):
    """Dates of a joint panel, in pieces that `threads` process; the pieces depend on the task, not on the machine."""

    def __init__(
        self, network: JointNetwork, panel: JointPanel, task: Message, masks: DropoutMasks, threads: ThreadPoolExecutor
    ) -> None:
        samples, training = task["parts"]["train"], task["training"]
        super().__init__(network, samples, panel.labels, _loss(training["loss"], panel, samples))
        self._panel, self._masks, self._threads = panel, masks, threads
        self._network, self._monitor = network, training["monitor"]
        self._replicas = [self.weights.replica(network) for _ in range(SLOTS)]
        even = math.ceil(min(training["batch_size"], samples) / SLOTS)
        self._piece_dates = max(1, min(even, MAX_PIECE // panel.ends.shape[1]))
        # The forecasts of a centred network with its first weights, for each date and ticker, and the level that
        # replaces them.
        self._first, self._level = torch.zeros_like(panel.ends, dtype=torch.float32), 0.0

    def centre(self, level: float) -> None:
        """Called before training: from then on, forecasts are `level`, a scaled return, plus what training changes.

        Each part is predicted in the same way as later, so that without any change a forecast is `level` to the bit.
        """
        parts = slice(0, self.train_samples), self._validation, slice(self._validation.stop, None)
        self._first = torch.cat([self.predict(part) for part in parts])
        self._level = level

    def gradient(self, batch: Tensor, step: int) -> Tensor:
        batch = batch.to(self._panel.ends.device)
        denominator = self._loss.denominator(self.labels_of(batch))
        denominator = torch.where(denominator > 0, denominator, 1.0)  # No label in the batch: its loss is 0.
        pieces = list(enumerate(batch.split(self._piece_dates)))

        def work(slot: int) -> Tensor:
            network, gradients = self._replicas[slot]
            gradients.zero_()
            total = gradients.new_zeros(())
            for number, dates in pieces[slot::SLOTS]:
                loss = self._loss.total(self._learn(network, dates, step, number), self.labels_of(dates)) / denominator
                loss.backward()
                total += loss.detach()
            return total

        totals = list(self._threads.map(work, range(SLOTS)))
        self.weights.gradients.copy_(self._replicas[0][1])
        for _, gradients in self._replicas[1:]:
            self.weights.gradients.add_(gradients)
        return torch.stack(totals).sum()

    def _learn(self, network: JointNetwork, dates: Tensor, step: int, number: int) -> Tensor:
        """Scaled predictions under dropout of one piece of a batch."""
        ends = self._panel.ends[dates]
        present = ends != ABSENT
        cells = torch.nonzero(present.flatten()).flatten()
        masks = self._masks.draw(step, network.mask_shapes(len(cells), *ends.shape), number)
        windows = self._panel.windows.gather(ends.flatten()[cells])
        is_complete = len(cells) == present.numel()
        predictions: Tensor = network(windows, present, None if is_complete else cells, masks)
        return predictions - self._first[dates] + self._level

    def validate(self) -> dict[str, float]:
        if self._monitor != "ic":
            return super().validate()
        predictions, labels = self.predict(self._validation), self.labels_of(self._validation)
        ic = mean_ic(predictions, labels, self._panel.scales)
        return {"validation_loss": float(self._loss.mean(predictions, labels)), "validation_ic": ic}

    def predict(self, part: slice) -> Tensor:
        """Shape (dates, tickers); values of absent tickers are meaningless.

        Pieces have one size, and an absent ticker is processed like the others, so that the last bit of a forecast
        does not depend on which cells of other dates are present.
        """
        ends = self._panel.ends[part]
        if len(ends) == 0:
            return ends.new_empty(ends.shape, dtype=torch.float32)
        pieces = list(ends.split(self._piece_dates))
        missing = self._piece_dates - len(pieces[-1])
        pieces[-1] = torch.cat([pieces[-1], pieces[-1][-1:].expand(missing, -1)])
        predictions = torch.cat(list(self._threads.map(self._predict_piece, pieces)))[: len(ends)]
        return predictions - self._first[part] + self._level

    @torch.no_grad()
    def _predict_piece(self, ends: Tensor) -> Tensor:
        present = ends != ABSENT
        windows = self._panel.windows.gather(ends.flatten().clamp(min=self._panel.windows.lookback - 1))
        predictions: Tensor = self._network(windows, present, None, None)
        return predictions * present


def _loss(name: LossName, panel: JointPanel, train_samples: int) -> Loss:
    if name != "mahalanobis":
        return make_loss(name, panel.means)
    labels, known = (column[:train_samples].double().cpu().numpy() for column in panel.labels)
    return MahalanobisLoss(label_correlation(np.where(known > 0, labels, np.nan)), panel.ends.device)


def mean_ic(predictions: Tensor, labels: Labels, scales: Matrix) -> float:
    """The information coefficient: the mean over dates of the correlation of forecasts and labels across tickers.

    `predictions` (dates, tickers) and `labels` are scaled; `scales` (tickers) reverses that, because scaling by ticker
    changes the order of a date. Dates with fewer than MIN_TICKERS labels do not count; at least one date must count. A
    date on which all forecasts or all labels are equal has a correlation of 0.
    """
    forecasts = predictions.double().cpu().numpy() * scales
    targets = labels.values.double().cpu().numpy() * scales
    known = labels.known.cpu().numpy() > 0
    judged = np.flatnonzero(known.sum(axis=1) >= MIN_TICKERS)
    return float(np.mean([_correlation(forecasts[date][known[date]], targets[date][known[date]]) for date in judged]))


def _correlation(p: Matrix, y: Matrix) -> float:
    deviations = [values - values.mean() for values in (p, y)]
    sizes = [float(np.sqrt(deviation @ deviation)) for deviation in deviations]
    for values, size in zip((p, y), sizes, strict=True):
        if size <= ROUNDING * np.sqrt(len(values)) * float(np.abs(values).max()):
            return 0.0
    return float(deviations[0] @ deviations[1] / (sizes[0] * sizes[1]))
