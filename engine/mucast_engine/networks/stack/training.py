"""Task `train_stack`: the networks of many tickers at once, each as `train_network` trains it alone."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.failure import Code, TaskError
from mucast_engine.networks.architectures import Network, build_network, parameter_count
from mucast_engine.networks.dropout import StackMasks
from mucast_engine.networks.losses import SCALE_IS_OPEN, Labels, prediction_scale
from mucast_engine.networks.optimisers import FlatWeights, StackOptimiser
from mucast_engine.networks.samples import Ticker, read_ticker
from mucast_engine.networks.stack.network import StackedNetwork, networks_at_once, stacked_losses, unfused
from mucast_engine.networks.stack.samples import Part, StackBatches, StackSamples
from mucast_engine.networks.training import Course, History, finite, largest_loss

# Codes of errors that end one network of the stack, while the task goes on with the others.
OWN_CODES: set[Code] = {"constant_target", "diverged"}
# Calls before a CUDA graph is recorded, as many as PyTorch's own make_graphed_callables uses.
WARM_UPS = 3


def train_stack(task: Message, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    """Trains `networks`, which are `train_network` tasks that differ only in their ticker, its data, their member and
    block.

    Returns `results` in their order: what train_network returns, with `seconds` of all that were trained at once, or
    code, message and data if it raises. Progress is as for train_network, with the `ticker`, the `member` and the
    `block`.
    """
    torch.set_num_threads(1)
    device, shared = torch.device(task["device"]), task["networks"][0]
    if device.type == "cuda":
        torch.cuda.set_device(device)
    results: dict[int, Message] = {}
    by_features: dict[int, dict[int, Ticker]] = {}
    for number, own in enumerate(task["networks"]):
        try:
            ticker = read_ticker(own, store)
            by_features.setdefault(ticker.rows.shape[1], {})[number] = ticker
        except TaskError as error:
            results[number] = _failure(error)
    for features, tickers in by_features.items():
        most = networks_at_once(
            build_structure(shared, features),
            rows=max(len(ticker.rows) for ticker in tickers.values()),
            features=features,
            lookback=shared["lookback"],
            batch_size=shared["training"]["batch_size"],
        )
        for first in range(0, len(tickers), most):
            numbers = list(tickers)[first : first + most]
            trained = _train([tickers[number] for number in numbers], shared, device, store, progress)
            results |= zip(numbers, trained, strict=True)
    return {"results": [results[number] for number in sorted(results)]}


def build_structure(shared: Message, features: int) -> Network:
    """A network with the shape that all of a stack share; its own weights are never read."""
    return unfused(build_network(shared["network"], features, shared["lookback"], None))


def _train(
    tickers: Sequence[Ticker],
    shared: Message,
    device: torch.device,
    store: ArrayStore,
    progress: Callable[[Message], None],
) -> list[Message]:
    """The results of networks that are trained at once."""
    started = time.perf_counter()
    objective = StackObjective(tickers, shared, device)
    courses = train_courses(objective, tickers, shared["training"], progress)
    zero_losses = objective.zero_validation_losses()
    watched = objective.predict([ticker.train for ticker in tickers], [ticker.validate for ticker in tickers])
    begins = [ticker.train + ticker.validate for ticker in tickers]
    rest = objective.predict(begins, [len(t.ends) - begin for t, begin in zip(tickers, begins, strict=True)])
    is_open = shared["training"]["loss"] in SCALE_IS_OPEN
    scales = objective.prediction_scales() if is_open else [None] * len(tickers)
    seconds, results = time.perf_counter() - started, []
    for ticker, course, zero_loss, scale, *parts in zip(
        tickers, courses, zero_losses, scales, watched, rest, strict=True
    ):
        try:
            if course.failure is not None:
                raise course.failure
            result: Message = {**History(course.epochs, course.best_epoch, zero_loss)._asdict(), "seconds": seconds}
            result["parameters"] = parameter_count(ticker.network)
            predicted = torch.cat(parts).double().cpu().numpy()
            if scale is not None:
                result["prediction_scale"] = scale
                predicted = predicted * scale
            result["predictions"] = store.write(ticker.predictions, finite(predicted * ticker.target))
            results.append(result)
        except TaskError as error:
            results.append(_failure(error))
    return results


def _failure(error: TaskError) -> Message:
    """The error as the result of its network. Raises it if it does not belong to that network alone."""
    if error.code not in OWN_CODES:
        raise error
    return {"code": error.code, "message": error.message, "data": error.data}


def train_courses(
    objective: "StackObjective",
    tickers: Sequence[Ticker],
    training: dict[str, Any],
    progress: Callable[[Message], None],
) -> list[Course]:
    """Trains the networks of `tickers` (S) until the last has stopped; each keeps the weights of its best epoch."""

    def course_of(ticker: Ticker) -> Course:
        name = {"ticker": ticker.name, "member": ticker.member, **({"block": ticker.block} if ticker.block > 0 else {})}
        return Course(
            training, largest_loss(torch.from_numpy(ticker.labels)), lambda update: progress({**name, **update})
        )

    courses = [course_of(ticker) for ticker in tickers]
    while any(running := [course.running for course in courses]):
        losses = zip(courses, *objective.epoch(running), strict=True)
        improved = [
            course.running and course.improves({"train_loss": trained, "validation_loss": validated})
            for course, trained, validated in losses
        ]
        objective.keep(improved)
    objective.restore()
    return courses


class StackObjective:
    """One step and one validation of the networks of `tickers` (S), on tensors with fixed addresses."""

    def __init__(self, tickers: Sequence[Ticker], shared: Message, device: torch.device) -> None:
        training = shared["training"]
        network = build_structure(shared, tickers[0].rows.shape[1])
        values = torch.stack([FlatWeights(ticker.network).values for ticker in tickers]).to(device)
        self._network = StackedNetwork(network, values)
        self._samples = StackSamples(tickers, shared["lookback"], device)
        batch = min(training["batch_size"], max(ticker.train for ticker in tickers))
        seeds = [ticker.dropout_seed for ticker in tickers]
        self._masks = StackMasks(shared["network"]["dropout"], seeds, network.encoder.mask_shapes, batch, device)
        self._batches = StackBatches(tickers, training["batch_size"], self._masks.starts, device)
        self._optimiser = StackOptimiser(self._network.values, training)
        self._loss = training["loss"]
        self._trains = torch.tensor([ticker.train for ticker in tickers], device=device)
        self._means = torch.stack([torch.from_numpy(t.labels[: t.train]).mean() for t in tickers]).to(device)
        self._validation = self._samples.part([t.train for t in tickers], [t.validate for t in tickers])
        self._positions = torch.arange(batch, device=device)
        self._train_losses = torch.zeros(len(tickers), dtype=torch.float64, device=device)
        self._validation_losses = torch.zeros(len(tickers), device=device)
        self._best = self._network.values.detach().clone()
        self._average = self._best.clone()
        self._last = torch.zeros_like(self._best)
        self._average_steps = torch.tensor([[1 / count] for count in self._batches.counts], device=device)
        self._step = replayable(self._work_step, device)
        self._validate = replayable(self._work_validation, device)

    def epoch(self, running: Sequence[bool]) -> tuple[list[float], list[float]]:
        """One epoch of the networks that are `running` (S): their training and validation losses (S)."""
        self._batches.plan(running)
        self._train_losses.zero_()
        for _ in range(self._batches.steps):
            self._step()
        self._validate()
        return self._train_losses.tolist(), self._validation_losses.tolist()

    def keep(self, improved: Sequence[bool]) -> None:
        """Stores the current weights of networks that have `improved` (S) as their best."""
        rows = torch.tensor(improved, device=self._best.device)[:, None]
        self._best.copy_(torch.where(rows, self._average, self._best))

    @torch.no_grad()
    def restore(self) -> None:
        """Restores the best weights of every network."""
        self._network.values.copy_(self._best)

    def predict(self, begins: Sequence[int], counts: Sequence[int]) -> list[Tensor]:
        """Scaled predictions of `counts` (S) samples of each network from `begins` (S) on."""
        predictions = self._predict(self._samples.part(begins, counts))
        return [row[:count] for row, count in zip(predictions, counts, strict=True)]

    def zero_validation_losses(self) -> list[float]:
        """Validation losses (S) of the forecast 0."""
        labels = self._samples.labels(*self._validation)
        losses = stacked_losses(self._loss, torch.zeros_like(labels.values), labels, self._means)
        return (losses + 0.0).tolist()  # directional gives -0.0.

    def prediction_scales(self) -> list[float]:
        predictions, labels = self._predict(self._validation), self._samples.labels(*self._validation)
        rows = zip(predictions, *labels, strict=True)
        return [prediction_scale(row, Labels(values, known)) for row, values, known in rows]

    def _work_step(self) -> None:
        samples, counts, starts = self._batches.next()
        known = (self._positions < counts[:, None]).to(torch.float32)
        predictions = self._network(self._samples.windows(samples), self._masks.draw(starts, counts))
        losses = stacked_losses(self._loss, predictions, self._samples.labels(samples, known), self._means)
        (gradients,) = torch.autograd.grad(losses.sum(), self._network.values)
        active = counts > 0
        self._optimiser.step(gradients, active)
        # Weights that explode in the last batch of an epoch leave its loss unchanged.
        self._train_losses += (losses.detach() * (counts / self._trains)).masked_fill(~active, 0.0)
        steps = self._average_steps.masked_fill(~active[:, None], 0.0)
        self._average.lerp_(self._network.values.detach(), steps.expand_as(self._average))

    @torch.no_grad()
    def _work_validation(self) -> None:
        """With the averaged weights; training continues from the last ones."""
        self._last.copy_(self._network.values)
        self._network.values.copy_(self._average)
        labels = self._samples.labels(*self._validation)
        losses = stacked_losses(self._loss, self._predict(self._validation), labels, self._means)
        self._validation_losses.copy_(losses)
        self._network.values.copy_(self._last)

    @torch.no_grad()
    def _predict(self, part: Part) -> Tensor:
        """Shape (S, n), in pieces of one size, as for a network alone."""
        pieces = part.samples.split(self._samples.piece, dim=1)
        return torch.cat([self._network(self._samples.windows(piece), []) for piece in pieces], dim=1)


def replayable(work: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """`work` itself, or on CUDA a replay of it.

    `work` reads and writes tensors with fixed addresses, never waits for the device, and may be called a few times as a
    warm-up. The current CUDA device is `device`.
    """
    if device.type != "cuda":
        return work
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UPS):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay
