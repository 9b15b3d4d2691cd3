"""A stack of networks learns what each of them learns alone, by steps that a CUDA graph can replay."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from network_tasks import ALONE, FEATURES, LOOKBACK, LOSSES, SPECS, TRAINING, run_whole, sampled, seeded, ticker_task
from task_files import Task
from torch import Tensor
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.failure import TaskError
from mucast_engine.networks.optimisers import StackOptimiser
from mucast_engine.networks.samples import read_ticker
from mucast_engine.networks.stack import network as stack_network
from mucast_engine.networks.stack import training as stack_training
from mucast_engine.networks.stack.network import bytes_kept, networks_at_once
from mucast_engine.networks.stack.training import WARM_UPS, StackObjective, build_structure, replayable
from mucast_engine.networks.tasks import run_network_task

# With 16 per batch: several batches with a shorter last one, one batch fewer, and no whole batch.
LENGTHS = {"LONG": (59, 15, 25), "FEWER": (39, 10, 5), "SHORT": (13, 4, 1)}
on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and there is none here")


def own_task(folder: Path, ticker: str, architecture: str, features: int = FEATURES, **changes: Any) -> Task:
    counts = LENGTHS[ticker]
    random = np.random.default_rng(counts)
    x = random.standard_normal((sum(counts) + LOOKBACK - 1, features)) * 3 + 1
    y = 0.004 * x[LOOKBACK - 1 :, 0] + 0.01 * random.standard_normal(sum(counts))
    own = folder / f"{len(list(folder.iterdir()))}"
    own.mkdir()
    parts = dict(zip(("train", "validate", "predict"), counts, strict=True))
    given = {"x": x, "labels": y[: counts[0] + counts[1]], "parts": parts, "ticker": ticker, **changes}
    return ticker_task(own, architecture, **given)


def own_tasks(folder: Path, architecture: str, **changes: Any) -> list[Task]:
    """One task per ticker of LENGTHS."""
    return [own_task(folder, ticker, architecture, **changes) for ticker in LENGTHS]


def stacked(networks: list[Task], store: ArrayStore) -> tuple[list[Message], list[Message]]:
    """Results and progress; the predictions of each network alone are removed."""
    for task in networks:
        Path(task["predictions"]["ref"]).unlink(missing_ok=True)
    reported: list[Message] = []
    task = {"task": "train_stack", "networks": networks, "device": networks[0]["device"]}
    return run_network_task(task, store, reported.append)["results"], reported


def assert_alike(result: Message, expected: Message, predictions: Matrix, tolerance: float = 1e-4) -> None:
    assert result["best_epoch"] == expected["best_epoch"]
    assert result["zero_validation_loss"] == pytest.approx(expected["zero_validation_loss"], rel=1e-5)
    assert result["parameters"] == expected["parameters"]
    assert result.get("prediction_scale", 0.0) == pytest.approx(expected.get("prediction_scale", 0.0), rel=tolerance)
    for epoch, other in zip(result["epochs"], expected["epochs"], strict=True):
        assert epoch == pytest.approx(other, rel=tolerance, abs=tolerance / 100)
    near = tolerance * np.abs(predictions).max(initial=0.0)
    np.testing.assert_allclose(np.load(result["predictions"]["ref"]), predictions, rtol=tolerance, atol=near)


def assert_as_alone(networks: list[Task], store: ArrayStore) -> tuple[list[Message], list[Message]]:
    """Returns the results and the progress of the stack."""
    expected = [run_whole(task, store) for task in networks]
    results, reported = stacked(networks, store)
    for result, (predictions, own, _) in zip(results, expected, strict=True):
        assert_alike(result, own, predictions)
    return results, reported


def failure(task: Task, store: ArrayStore) -> Message:
    """How a network alone fails."""
    with pytest.raises(TaskError) as raised:
        run_whole(task, store)
    return {"code": raised.value.code, "message": raised.value.message, "data": raised.value.data}


def make_objective(tasks: list[Task], store: ArrayStore) -> StackObjective:
    """The stack of `tasks`, before its first epoch."""
    return StackObjective([read_ticker(task, store) for task in tasks], tasks[0], torch.device(tasks[0]["device"]))


@pytest.mark.parametrize("optimizer", sampled(["adam", "sgd", "rmsprop"], "adam"))
@pytest.mark.parametrize("architecture", ALONE)
def test_networks_of_different_lengths_learn_and_report_as_alone(
    architecture: str, optimizer: str, tmp_path: Path, store: ArrayStore
) -> None:
    training = {"optimizer": optimizer, "learning_rate": 1e-2 if optimizer == "sgd" else 1e-3}
    tasks = own_tasks(tmp_path, architecture, training=training, spec={"dropout": 0.3}, z_scores=1)
    tasks[1] |= {"member": 2, "block": 1}
    results, reported = assert_as_alone(tasks, store)
    order = [(task["ticker"], task["member"], task.get("block")) for task in tasks]
    assert [(told["ticker"], told["member"], told.get("block")) for told in reported] == order * 3
    for place, told in enumerate(reported):
        epoch = results[place % 3]["epochs"][place // 3]
        assert told == {"epoch": place // 3 + 1, **epoch} | {name: told[name] for name in told.keys() - epoch.keys()}


@pytest.mark.parametrize("loss", sampled(LOSSES, "r2", "directional"))
def test_every_loss_equals_that_of_a_single_network(loss: str, tmp_path: Path, store: ArrayStore) -> None:
    assert_as_alone(own_tasks(tmp_path, "mlp", training={"loss": loss}), store)


def test_each_network_stops_early_for_itself(tmp_path: Path, store: ArrayStore) -> None:
    training = {"epochs": 12, "patience": 1, "learning_rate": 0.03}
    results, _ = assert_as_alone(own_tasks(tmp_path, "mlp", training=training), store)
    assert len({len(result["epochs"]) for result in results}) == len(results)


def test_tickers_with_other_features_or_beyond_the_memory_are_in_separate_stacks(
    tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths = [("LONG", 3), ("FEWER", 2), ("SHORT", 3)]
    tasks = [own_task(tmp_path, ticker, "lstm", features=width) for ticker, width in widths]
    _, reported = assert_as_alone(tasks, store)
    assert [told["ticker"] for told in reported] == ["LONG", "SHORT"] * 3 + ["FEWER"] * 3
    monkeypatch.setattr(stack_network, "STACK_BYTES", 1)
    _, reported = assert_as_alone(tasks, store)
    assert [told["ticker"] for told in reported] == ["LONG"] * 3 + ["SHORT"] * 3 + ["FEWER"] * 3


def test_a_ticker_may_have_nothing_to_predict_but_what_validates(tmp_path: Path, store: ArrayStore) -> None:
    parts = {"train": 39, "validate": 10, "predict": 0}
    usual, without = own_task(tmp_path, "FEWER", "cnn"), own_task(tmp_path, "FEWER", "cnn", parts=parts)
    (expected, result), _ = stacked([usual, without], store)
    assert result["epochs"] == expected["epochs"]
    assert result["predictions"]["shape"] == [10]


def test_a_network_that_fails_fails_as_alone_and_changes_no_other(tmp_path: Path, store: ArrayStore) -> None:
    changes: dict[str, Any] = {"spec": {"dropout": 0.2}, "scaler": "robust"}
    tasks = own_tasks(tmp_path, "mlp", **changes)
    before, _ = stacked(tasks, store)
    predicted = [np.load(result["predictions"]["ref"]) for result in before]
    outlier = np.random.default_rng(1).standard_normal((61, 3))
    outlier[20] = 1e30
    diverging = own_task(tmp_path, "FEWER", "mlp", x=outlier, **changes)
    constant = own_task(tmp_path, "FEWER", "mlp", labels=np.full(49, 0.5), **changes)
    results, reported = stacked([tasks[0], diverging, constant, tasks[2]], store)
    assert results[1:3] == [failure(task, store) for task in (diverging, constant)]
    assert [result["code"] for result in results[1:3]] == ["diverged", "constant_target"]
    assert {told["ticker"] for told in reported} == {"LONG", "SHORT"}
    for number, result in ((0, results[0]), (2, results[3])):
        assert result["epochs"] == before[number]["epochs"]
        np.testing.assert_array_equal(np.load(result["predictions"]["ref"]), predicted[number])


@pytest.mark.parametrize("architecture", sampled(ALONE, "lstm"))
def test_weights_that_are_nan_stay_in_their_network(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    tasks = own_tasks(tmp_path, architecture, spec={"dropout": 0.2})
    sound, broken = make_objective(tasks, store), make_objective(tasks, store)
    with torch.no_grad():
        broken._network.values[1] = torch.nan
    for _ in range(2):
        for expected, losses in zip(sound.epoch([True] * 3), broken.epoch([True] * 3), strict=True):
            assert math.isnan(losses[1])
            assert losses[::2] == expected[::2]


def test_predictions_that_cannot_be_written_end_the_task(tmp_path: Path, store: ArrayStore) -> None:
    nowhere = {"ref": str(tmp_path / "missing" / "predictions.npy")}
    with pytest.raises(TaskError) as raised:
        stacked([own_task(tmp_path, "SHORT", "mlp") | {"predictions": nowhere}], store)
    assert raised.value.code == "output_failed"


PYTORCHS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD, "rmsprop": torch.optim.RMSprop}


@pytest.mark.parametrize(("grad_clip", "weight_decay"), [(0.0, 0.1), (6.0, 0.0)])
@pytest.mark.parametrize("optimizer", PYTORCHS)
def test_each_network_moves_as_pytorch_moves_it_and_waits_unchanged(
    optimizer: str, grad_clip: float, weight_decay: float
) -> None:
    own = {"optimizer": optimizer, "grad_clip": grad_clip, "weight_decay": weight_decay, "learning_rate": 0.01}
    random, steps, networks = seeded(3), 30, 3
    first = torch.randn(networks, 40, generator=random)
    gradients = torch.randn(steps, networks, 40, generator=random)
    active = torch.rand(steps, networks, generator=random) < 0.7
    values = first.clone().requires_grad_()
    stack = StackOptimiser(values, TRAINING | own)
    for step in range(steps):
        waiting = values.detach()[~active[step]]
        stack.step(gradients[step].masked_fill(~active[step][:, None], torch.nan), active[step])
        assert torch.equal(values.detach()[~active[step]], waiting)
    for network in range(networks):
        weights = torch.nn.Parameter(first[network].clone())
        plain = PYTORCHS[optimizer]([weights], lr=0.01, weight_decay=weight_decay)
        for gradient in gradients[active[:, network], network]:
            weights.grad = gradient.clone()
            if grad_clip > 0:
                torch.nn.utils.clip_grad_norm_([weights], grad_clip)
            plain.step()
        torch.testing.assert_close(values.detach()[network], weights.detach())


DEFAULTS: dict[str, dict[str, Any]] = {
    "lstm": {"hidden_dims": [64, 32], "dropout": 0.2},
    "mlp": {"hidden_dims": [128, 64], "dropout": 0.2},
    "cnn": {"filters": [32, 64], "dropout": 0.2},
    "transformer": {"d_model": 64, "nhead": 4, "dim_feedforward": 256, "dropout": 0.1},
}


@pytest.mark.parametrize("architecture", ALONE)
def test_64_networks_of_the_default_size_fit_fewer_large_ones_and_at_least_one(architecture: str) -> None:
    shared = {"network": SPECS[architecture] | DEFAULTS[architecture], "lookback": 20}

    def most(rows: int = 2_500, batch_size: int = 64) -> int:
        return networks_at_once(build_structure(shared, 30), rows=rows, features=30, lookback=20, batch_size=batch_size)

    assert most() >= 64
    assert max(most(rows=250_000), most(batch_size=1_024)) < most()
    assert most(rows=100_000_000) == 1


def test_the_bytes_of_a_pass_equal_what_autograd_keeps() -> None:
    """For an mlp: its input, and for each hidden layer the output of the ReLU, its mask, and their product."""
    shared = {"network": SPECS["mlp"] | {"hidden_dims": [9, 5]}, "lookback": 4}
    assert bytes_kept(build_structure(shared, 3), (1, 8, 4, 3)) == 4 * 8 * (12 + 3 * (9 + 5))


class Recording(TorchDispatchMode):
    """The operations of a call, each with its input and output tensors."""

    def __init__(self) -> None:
        super().__init__()
        self._operations: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = operation(*args, **(kwargs or {}))
        assert all(isinstance(leaf, Tensor | None) for leaf in tree_leaves(given)), f"{operation} asks for a number"
        self._operations.append((operation, args, kwargs or {}, given))
        return given

    @torch.no_grad()
    def replay(self) -> None:
        """On the same tensors, except results of operations, which later operations recompute."""
        made: dict[int, Any] = {}

        def now(value: Any) -> Any:
            return made.get(id(value), value)

        for operation, args, kwargs, given in self._operations:
            again = operation(*tree_map(now, args), **tree_map(now, kwargs))
            made.update(zip(map(id, tree_leaves(given)), tree_leaves(again), strict=True))


def recorded(work: Callable[[], None], _: torch.device) -> Callable[[], None]:
    """A fake of a CUDA graph: the operations of one call, without the Python between."""
    for _ in range(WARM_UPS):
        work()
    recording = Recording()
    with recording:
        work()
    return recording.replay


@pytest.mark.parametrize("architecture", sampled(ALONE, "lstm"))
def test_a_recorded_step_can_be_replayed(
    architecture: str, tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are more warm-up calls than an epoch has steps."""
    tasks = own_tasks(tmp_path, architecture, spec={"dropout": 0.2}, training={"weight_decay": 0.1, "batch_size": 32})
    called = make_objective(tasks, store)
    monkeypatch.setattr(stack_training, "replayable", recorded)
    replayed = make_objective(tasks, store)
    for running in ([True, True, True], [True, False, True]):
        assert replayed.epoch(running) == called.epoch(running)


@pytest.mark.parametrize("architecture", sampled(ALONE, "lstm"))
def test_a_step_stays_on_its_device_and_waits_for_no_number(
    architecture: str, tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On fake CUDA tensors without numbers, which refuse operands from elsewhere; a backward pass needs CUDA."""
    tasks = own_tasks(tmp_path, architecture, spec={"dropout": 0.2}, training={"weight_decay": 0.1}, device="cuda:0")
    monkeypatch.setattr(stack_training, "replayable", lambda work, _: work)
    monkeypatch.setattr(torch.autograd, "grad", lambda _, values: (torch.zeros_like(values),))
    with FakeTensorMode(allow_non_fake_inputs=True):
        objective = make_objective(tasks, store)
        objective._batches.plan([True, True, True])
        objective._work_step()
        objective._work_validation()
        assert objective._train_losses.device == torch.device("cuda:0")
        with pytest.raises(DataDependentOutputException):
            objective._train_losses.tolist()


def test_on_the_cpu_work_is_called_directly() -> None:
    def work() -> None:
        raise AssertionError("called before it was asked for")

    assert replayable(work, torch.device("cpu")) is work


@on_cuda
@pytest.mark.parametrize("architecture", ALONE)
def test_a_stack_on_cuda_learns_what_its_networks_learn_on_the_cpu(
    architecture: str, tmp_path: Path, store: ArrayStore
) -> None:
    tasks = own_tasks(tmp_path, architecture, spec={"dropout": 0.2})
    expected = [run_whole(task, store) for task in tasks]
    results, _ = stacked([task | {"device": "cuda:0"} for task in tasks], store)
    for result, (predictions, own, _) in zip(results, expected, strict=True):
        assert_alike(result, own, predictions, tolerance=1e-3)


@on_cuda
@pytest.mark.parametrize("architecture", ALONE)
def test_a_replayed_step_on_cuda_is_the_step_and_waits_for_nothing(
    architecture: str, tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = own_tasks(tmp_path, architecture, spec={"dropout": 0.2}, device="cuda:0")
    replayed = make_objective(tasks, store)
    monkeypatch.setattr(stack_training, "replayable", lambda work, _: work)
    called = make_objective(tasks, store)
    for running in ([True, True, True], [True, False, True]):
        for own, other in zip(replayed.epoch(running), called.epoch(running), strict=True):
            assert own == pytest.approx(other, rel=1e-4)
    torch.cuda.set_sync_debug_mode("error")
    try:
        called._work_step()
        called._work_validation()
    finally:
        torch.cuda.set_sync_debug_mode("default")
