"""Batches of dates in pieces, each processed by one thread; the pieces depend on the request, not on the machine."""

import math
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

import torch
from torch import Tensor

from mucast_engine.networks.dropout import DropoutMasks
from mucast_engine.networks.joint.ic import mean_ic
from mucast_engine.networks.joint.network import JointNetwork
from mucast_engine.networks.joint.panel import ABSENT, JointPanel
from mucast_engine.networks.losses import Labels, Loss, loss_of_zero, prediction_scale
from mucast_engine.networks.training import MonitorName, largest_loss
from mucast_engine.networks.weights import FlatWeights

# A batch is divided into at least about this many pieces, so that as many threads find work. Each slot adds up the
# gradients of every SLOTS-th piece, and the slots are added up in order, whichever thread was first.
SLOTS = 4
# Maximum number of cells (dates x tickers) in one piece, which bounds the memory of a large panel.
MAX_PIECE = 2_048


class JointObjective:
    """Dates of a joint panel. A context manager, because it owns threads."""

    def __init__(
        self,
        *,
        network: JointNetwork,
        panel: JointPanel,
        train_samples: int,
        batch_size: int,
        loss: Loss,
        monitor: MonitorName,
        masks: DropoutMasks,
        threads: int,
    ) -> None:
        self.weights = FlatWeights(network)
        self.train_samples = train_samples
        self._panel, self._loss, self._masks = panel, loss, masks
        self._network, self._monitor = network, monitor
        self._validation_part = slice(train_samples, len(panel.labels.values))
        self.largest_loss = largest_loss(panel.labels.values)
        self._replicas = [self.weights.replica(network) for _ in range(SLOTS)]
        tickers = panel.ends.shape[1]
        even = math.ceil(min(batch_size, train_samples) / SLOTS)
        self._piece_dates = max(1, min(even, MAX_PIECE // tickers))
        # The forecasts of a centred network with its first weights, for each date and ticker, and the level that
        # replaces them.
        self._first, self._level = torch.zeros_like(panel.ends, dtype=torch.float32), 0.0
        self._threads = ThreadPoolExecutor(
            max(1, min(threads, SLOTS)), initializer=torch.set_num_threads, initargs=(1,)
        )

    def __enter__(self) -> "JointObjective":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._threads.shutdown(cancel_futures=True)

    def centre(self, level: float) -> None:
        """Called before training: from then on, forecasts are `level`, a scaled return, plus what training changes.

        Each part is predicted in the same way as later, so that without any change a forecast is `level` to the bit.
        """
        fitted = self._validation_part.stop
        parts = slice(0, self.train_samples), self._validation_part, slice(fitted, None)
        self._first = torch.cat([self.predict(part) for part in parts])
        self._level = level

    def gradient(self, batch: Tensor, step: int) -> Tensor:
        batch = batch.to(self._panel.ends.device)
        denominator = self._loss.denominator(self._labels(batch))
        denominator = torch.where(denominator > 0, denominator, 1.0)  # No label in the batch: its loss is 0.
        pieces = list(enumerate(batch.split(self._piece_dates)))
        slots = [pieces[slot::SLOTS] for slot in range(SLOTS)]

        def work(slot: int) -> Tensor:
            network, gradients = self._replicas[slot]
            gradients.zero_()
            total = gradients.new_zeros(())
            for number, piece in slots[slot]:
                total += self._piece_gradient(network, piece, step, number, denominator)
            return total

        totals = list(self._threads.map(work, range(SLOTS)))
        self.weights.gradients.copy_(self._replicas[0][1])
        for _, gradients in self._replicas[1:]:
            self.weights.gradients.add_(gradients)
        return torch.stack(totals).sum()

    def _piece_gradient(
        self, network: JointNetwork, dates: Tensor, step: int, number: int, denominator: Tensor
    ) -> Tensor:
        ends = self._panel.ends[dates]
        present = ends != ABSENT
        cells = torch.nonzero(present.flatten()).flatten()
        masks = self._masks.draw(step, network.mask_shapes(len(cells), *ends.shape), number)
        windows = self._panel.windows.gather(ends.flatten()[cells])
        is_complete = len(cells) == present.numel()
        predictions = network(windows, present, None if is_complete else cells, masks)
        predictions = predictions - self._first[dates] + self._level
        loss = self._loss.total(predictions, self._labels(dates)) / denominator
        loss.backward()
        return loss.detach()

    def _labels(self, dates: Tensor) -> Labels:
        return Labels(self._panel.labels.values[dates], self._panel.labels.known[dates])

    def validate(self) -> dict[str, float]:
        predictions, labels = self._validation()
        record = {"validation_loss": float(self._loss.total(predictions, labels) / self._loss.denominator(labels))}
        if self._monitor == "ic":
            record["validation_ic"] = mean_ic(predictions, labels, self._panel.scales)
        return record

    def zero_validation_loss(self) -> float:
        return loss_of_zero(self._loss, self._watched())

    def prediction_scale(self) -> float:
        return prediction_scale(*self._validation())

    def _validation(self) -> tuple[Tensor, Labels]:
        return self.predict(self._validation_part), self._watched()

    def _watched(self) -> Labels:
        return Labels(*(column[self._validation_part] for column in self._panel.labels))

    def predict(self, part: slice) -> Tensor:
        """Scaled predictions (dates, tickers) of a part of the dates; values of absent tickers are meaningless.

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
