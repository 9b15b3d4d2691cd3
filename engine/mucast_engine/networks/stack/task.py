"""Task `train_stack`: the networks of many tickers at once, each as `train_network` trains it alone."""

import time
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.failure import Code, TaskError
from mucast_engine.networks.architectures import Network, network_structure, parameter_count
from mucast_engine.networks.losses import leaves_scale_open
from mucast_engine.networks.stack.memory import networks_at_once
from mucast_engine.networks.stack.network import unfused
from mucast_engine.networks.stack.objective import StackObjective
from mucast_engine.networks.stack.tickers import StackTicker, read_ticker
from mucast_engine.networks.stack.training import train_stacked
from mucast_engine.networks.training import History, finite

# Codes of errors that end one network of the stack, while the task goes on with the others.
OWN_CODES: set[Code] = {"constant_target", "diverged"}


def train_stack(task: Message, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    """Trains `networks`, which are `train_network` tasks that differ only in their ticker, its data, their member and
    block.

    Returns `results` in their order: what train_network returns, with `seconds` of all that were trained at once, or
    code, message and data if it raises. Progress is as for train_network, with the `ticker`, the `member` and the
    `block`.
    """
    torch.set_num_threads(1)
    device = torch.device(task["device"])
    if device.type == "cuda":
        torch.cuda.set_device(device)
    results: dict[int, Message] = {}
    tickers: dict[int, StackTicker] = {}
    for number, own in enumerate(task["networks"]):
        try:
            tickers[number] = read_ticker(own, store)
        except TaskError as error:
            results[number] = _failure(error)
    for numbers in _stacks(tickers, task["networks"][0]):
        own = _train([tickers[number] for number in numbers], task["networks"][0], device, store, progress)
        results |= zip(numbers, own, strict=True)
    return {"results": [results[number] for number in sorted(results)]}


def _stacks(tickers: dict[int, StackTicker], shared: Message) -> Iterator[list[int]]:
    """Indices of tickers with equally many features, as many as fit into the memory."""
    by_features: dict[int, list[int]] = {}
    for number, ticker in tickers.items():
        by_features.setdefault(ticker.rows.shape[1], []).append(number)
    for features, numbers in by_features.items():
        most = networks_at_once(
            build_structure(shared, features),
            rows=max(len(tickers[number].rows) for number in numbers),
            features=features,
            lookback=shared["lookback"],
            batch_size=shared["training"]["batch_size"],
        )
        yield from (numbers[first : first + most] for first in range(0, len(numbers), most))


def build_structure(shared: Message, features: int) -> Network:
    """A network with the shape that all of a stack share; its own weights are never read."""
    return unfused(network_structure(shared["network"], features, shared["lookback"]))


def _train(
    tickers: Sequence[StackTicker],
    shared: Message,
    device: torch.device,
    store: ArrayStore,
    progress: Callable[[Message], None],
) -> list[Message]:
    started = time.perf_counter()
    network = build_structure(shared, tickers[0].rows.shape[1])
    objective = StackObjective(
        network,
        tickers,
        lookback=shared["lookback"],
        dropout=shared["network"]["dropout"],
        training=shared["training"],
        device=device,
    )
    histories = train_stacked(objective, tickers, shared["training"], progress)
    watched = objective.predict([ticker.train for ticker in tickers], [ticker.validate for ticker in tickers])
    begins = [ticker.train + ticker.validate for ticker in tickers]
    counts = [len(ticker.ends) - begin for ticker, begin in zip(tickers, begins, strict=True)]
    rest = objective.predict(begins, counts)
    predictions = [torch.cat(parts) for parts in zip(watched, rest, strict=True)]
    is_open = leaves_scale_open(shared["training"]["loss"])
    scales = objective.prediction_scales() if is_open else [None] * len(tickers)
    common = {"parameters": parameter_count(network), "seconds": time.perf_counter() - started}
    rows = zip(tickers, histories, predictions, scales, strict=True)
    return [_result(*row, common, store) for row in rows]


def _result(
    ticker: StackTicker,
    history: History | TaskError,
    predicted: Tensor,
    scale: float | None,
    common: Message,
    store: ArrayStore,
) -> Message:
    try:
        if isinstance(history, TaskError):
            raise history
        result: Message = {**history._asdict(), **common}
        if scale is not None:
            result["prediction_scale"] = scale
            predicted = predicted.double() * scale
        returns = finite(predicted.double().cpu().numpy() * ticker.target)
        result["predictions"] = store.write(ticker.predictions, returns)
        return result
    except TaskError as error:
        return _failure(error)


def _failure(error: TaskError) -> Message:
    """The error as the result of its network. Raises it if it does not belong to that network alone."""
    if error.code not in OWN_CODES:
        raise error
    return {"code": error.code, "message": error.message, "data": error.data}
