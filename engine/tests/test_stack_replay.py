"""What a CUDA graph requires of a step, shown without CUDA; on CUDA itself if it is available."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from mucast_engine.networks.stack.objective import WARM_UPS, replayable
from network_tasks import ALONE, sampled
from stack_tasks import alone, assert_alike, make_objective, own_tasks, stacked
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from mucast_engine.arrays import ArrayStore
from mucast_engine.networks.stack import objective as stack_objective

CPU = torch.device("cpu")
on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and there is none here")


class Recording(TorchDispatchMode):
    """The operations of a call, each with its input and output tensors."""

    def __init__(self) -> None:
        super().__init__()
        self._operations: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = operation(*args, **(kwargs or {}))
        assert all(isinstance(leaf, torch.Tensor | None) for leaf in tree_leaves(given)), (
            f"{operation} asks for a number"
        )
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
    """A stand-in for a CUDA graph: the operations of one call, without the Python between."""
    for _ in range(WARM_UPS):
        work()
    recording = Recording()
    with recording:
        work()
    return recording.replay


def test_a_step_that_reads_a_number_cannot_be_recorded() -> None:
    values = torch.arange(3.0)
    with pytest.raises(AssertionError, match="asks for a number"), Recording():
        values.sum().item()


@pytest.mark.parametrize("architecture", sampled(ALONE, "lstm"))
def test_a_recorded_step_can_be_replayed(
    architecture: str, tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are more warm-up calls than an epoch has steps."""
    tasks = own_tasks(tmp_path, architecture, spec={"dropout": 0.2}, training={"weight_decay": 0.1, "batch_size": 32})
    called = make_objective(tasks, store)
    monkeypatch.setattr(stack_objective, "replayable", recorded)
    replayed = make_objective(tasks, store)
    for running in ([True, True, True], [True, False, True]):
        assert replayed.epoch(running) == called.epoch(running)


@pytest.mark.parametrize("architecture", sampled(ALONE, "lstm"))
def test_a_step_stays_on_its_device_and_waits_for_no_number(
    architecture: str, tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On fake CUDA tensors without numbers, which refuse operands from elsewhere; a backward pass needs CUDA."""
    tasks = own_tasks(tmp_path, architecture, spec={"dropout": 0.2}, training={"weight_decay": 0.1}, device="cuda:0")
    monkeypatch.setattr(stack_objective, "replayable", lambda work, _: work)
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

    assert replayable(work, CPU) is work


@on_cuda
@pytest.mark.parametrize("architecture", ALONE)
def test_a_stack_on_cuda_learns_what_its_networks_learn_on_the_cpu(
    architecture: str, tmp_path: Path, store: ArrayStore
) -> None:
    tasks = own_tasks(tmp_path, architecture, spec={"dropout": 0.2})
    expected = [alone(task, store) for task in tasks]
    results, _ = stacked([task | {"device": "cuda:0"} for task in tasks], store)
    for result, (own, predictions, _) in zip(results, expected, strict=True):
        assert_alike(result, own, predictions, tolerance=1e-3)


@on_cuda
@pytest.mark.parametrize("architecture", ALONE)
def test_a_replayed_step_on_cuda_is_the_step(
    architecture: str, tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = own_tasks(tmp_path, architecture, spec={"dropout": 0.2}, device="cuda:0")
    replayed = make_objective(tasks, store)
    monkeypatch.setattr(stack_objective, "replayable", lambda work, _: work)
    called = make_objective(tasks, store)
    for running in ([True, True, True], [True, False, True]):
        for own, other in zip(replayed.epoch(running), called.epoch(running), strict=True):
            assert own == pytest.approx(other, rel=1e-4)


@on_cuda
def test_a_step_on_cuda_waits_for_nothing(tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack_objective, "replayable", lambda work, _: work)
    objective = make_objective(own_tasks(tmp_path, "lstm", device="cuda:0"), store)
    objective._work_step()
    torch.cuda.set_sync_debug_mode("error")
    try:
        objective._work_step()
        objective._work_validation()
    finally:
        torch.cuda.set_sync_debug_mode("default")
