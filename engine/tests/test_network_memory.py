"""Tasks for which there is not enough memory."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mucast_engine.arrays import ArrayStore
from mucast_engine.failure import TaskError
from mucast_engine.networks import tasks

MORE_THAN_THERE_IS = 1 << 50


def on_cpu() -> None:
    torch.empty(MORE_THAN_THERE_IS)


def in_numpy() -> None:
    np.empty(MORE_THAN_THERE_IS)


def on_gpu() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory.")


@pytest.mark.parametrize("allocate", [on_cpu, in_numpy, on_gpu])
def test_a_network_that_lacks_memory_fails_with_a_clear_error(
    allocate: Callable[[], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tasks, "train_network", lambda *_: allocate())
    with pytest.raises(TaskError, match="memory of cpu does not suffice") as caught:
        tasks.run_network_task({"task": "train_network", "device": "cpu"}, ArrayStore(tmp_path), lambda _: None)
    assert caught.value.code == "fit_failed"


def test_another_fault_is_not_mistaken_for_a_lack_of_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tasks, "train_network", lambda *_: torch.zeros(2) @ torch.zeros(3))
    with pytest.raises(RuntimeError, match="size"):
        tasks.run_network_task({"task": "train_network", "device": "cpu"}, ArrayStore(tmp_path), lambda _: None)
