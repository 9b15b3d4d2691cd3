"""What the gateway reads of a task, which it otherwise passes on as it came."""

import json
from typing import Any

from mucast_engine.cluster.requests import TaskRequest, read_task


def ref(name: str, *shape: int) -> dict[str, Any]:
    return {"ref": name, "dtype": "<f8", "shape": list(shape), "order": "C"}


def read(task: dict[str, Any], **header: Any) -> TaskRequest:
    return read_task({"op": "task", "worker": 3, "id": 7, **header}, json.dumps(task).encode())


FIT = {"task": "fit_predict", "x": ref("x", 9, 2), "y": ref("y", 9), "fits": [], "predictions": {"ref": "p"}}


def test_a_task_of_regressors_has_two_arrays_and_one_thread() -> None:
    request = read(FIT)
    assert [array["ref"] for array in request.arrays] == ["x", "y"]
    assert (request.id, request.worker, request.kind, request.outputs) == (7, 3, "fit_predict", ["p"])
    assert (request.cpus, request.gpus) == (1, 0)
    assert json.loads(request.text) == FIT


def test_an_array_that_is_named_twice_is_sent_once() -> None:
    assert len(read({**FIT, "y": ref("x", 9, 2)}).arrays) == 1


def test_a_joint_network_has_arrays_of_every_ticker_and_its_threads() -> None:
    tickers = [{"ticker": name, "x": ref(name, 5, 2), "columns": [0, 1], "scale_rows": 3} for name in ("A", "B")]
    joint = {"task": "train_joint", "tickers": tickers, "ends": ref("e", 5, 2), "labels": ref("l", 4, 2), "threads": 4}
    request = read({**joint, "predictions": {"ref": "p"}, "device": "cpu"})
    assert [array["ref"] for array in request.arrays] == ["A", "B", "e", "l"]
    assert request.cpus == 4


def test_a_stack_writes_an_array_for_each_network_and_takes_a_gpu() -> None:
    networks = [{"task": "train_network", "x": ref(f"x{n}", 1), "predictions": {"ref": f"p{n}"}} for n in range(3)]
    request = read({"task": "train_stack", "networks": networks, "device": "cuda:0"})
    assert (request.outputs, request.gpus, len(request.arrays)) == (["p0", "p1", "p2"], 1, 3)


def test_the_header_says_what_a_task_needs() -> None:
    request = read(FIT, cpus=2, gpus=0.25, node="10.0.0.7", memory=3_000_000_000)
    assert (request.cpus, request.gpus, request.node, request.memory) == (2, 0.25, "10.0.0.7", 3_000_000_000)
    assert (read(FIT).node, read(FIT).memory) == (None, 0)
