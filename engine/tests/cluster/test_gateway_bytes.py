"""Tasks on a real cluster of two nodes: the answers and the bytes of a local host. Whole jobs are in test/cluster."""

from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from cluster_tasks import NODES, fit_task
from gateway_process import GatewayProcess, Message
from network_tasks import joint_task, ticker_task
from regressors import NAMES, spec_of
from started_cluster import StartedCluster
from task_files import Task, values_of


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., StartedCluster]) -> Iterator[StartedCluster]:
    with start_cluster(NODES) as started:
        yield started


class Twins:
    """A gateway and a local host, in one work folder."""

    def __init__(self, gateway: GatewayProcess, host: GatewayProcess, folder: Path) -> None:
        self.gateway, self.host, self.folder = gateway, host, folder
        self.greeting, self.local = gateway.wait_for("ready"), host.wait_for("ready")
        for side in (gateway, host):
            side.send("start", 1)
        self._number = 0

    def answer(self, task: Task) -> Message:
        """The answer without its times and arrays. Both have the same, the same progress and the same bytes."""
        self._number += 1
        found = [self._one(side, task) for side in (self.gateway, self.host)]
        assert found[0] == found[1]
        return found[0][0]

    def _one(self, side: GatewayProcess, task: Task) -> tuple[Message, list[Message], list[bytes]]:
        side.send("task", 1, task, self._number)
        answer = side.wait_for_answer(self._number)
        progress = [timeless(one) for one in side.messages if one["event"] == "progress" and one["id"] == self._number]
        result = answer.get("result", {})
        # A host hands over few predictions in its answer, and a gateway writes them to their file.
        arrays = [one.pop("predictions") for one in (result, *result.get("results", [])) if "predictions" in one]
        predicted = [values_of(array).tobytes() for array in arrays]
        for array in arrays:
            if "ref" in array:
                Path(array["ref"]).unlink()
        return timeless(answer), progress, predicted


def timeless(message: Any) -> Any:
    """Without how long it took."""
    if isinstance(message, list):
        return [timeless(one) for one in message]
    if isinstance(message, dict):
        return {name: timeless(value) for name, value in message.items() if name != "seconds"}
    return message


def twins(cluster: StartedCluster, folder: Path, libraries: str) -> Iterator[Twins]:
    with (
        GatewayProcess(folder, libraries, *cluster.arguments, **cluster.env) as gateway,
        GatewayProcess(folder, libraries, role="host") as host,
    ):
        yield Twins(gateway, host, folder)


@pytest.fixture(scope="module")
def regressors(cluster: StartedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    yield from twins(cluster, tmp_path_factory.mktemp("regressors"), "sklearn,xgboost,lightgbm,catboost")


@pytest.fixture(scope="module")
def networks(cluster: StartedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    yield from twins(cluster, tmp_path_factory.mktemp("networks"), "torch")


def test_the_greeting_is_that_of_a_host_and_tells_the_cluster(cluster: StartedCluster, regressors: Twins) -> None:
    told, local = regressors.greeting, regressors.local
    for name in ("versions", "threads", "kernel_level", "machine"):
        assert told[name] == local[name]
    assert (told["start"], told["slots"]) == ("cluster", 2)
    nodes = told["cluster"].pop("nodes")
    assert sorted((node["name"], node["cpus"]) for node in nodes) == [("10.77.0.3", 1), ("10.77.0.4", 1)]
    variables = told["cluster"].pop("variables")
    assert variables["RAY_health_check_period_ms"] == "1000"
    assert told["cluster"] == {"address": cluster.address, "ray": version("ray")}


@pytest.mark.parametrize("name", NAMES)
def test_a_regressor(regressors: Twins, name: str) -> None:
    assert regressors.answer(fit_task(regressors.folder, name, spec_of(name)))["event"] == "result"


def test_a_trial_and_what_it_refuses(regressors: Twins) -> None:
    trial = {"task": "trial", "estimator": spec_of("Ridge"), "scaler": "standard", "columns": 3}
    assert regressors.answer(trial)["event"] == "result"
    assert regressors.answer({**trial, "estimator": spec_of("Ridge", alpha=-1)})["code"] == "invalid_model_params"


def test_an_array_that_is_gone(regressors: Twins) -> None:
    task = fit_task(regressors.folder, "gone", spec_of("Ridge"), seed=9)
    Path(task["x"]["ref"]).unlink()
    assert regressors.answer(task)["code"] == "output_failed"


def test_a_device_a_network_a_stack_and_a_joint_network_that_asks_for_more_cores_than_a_node_has(
    networks: Twins,
) -> None:
    assert networks.answer({"task": "device", "device": "auto"})["result"]["device"] == "cpu"
    tasks = []
    for ticker in ("AAA", "BBB"):
        own = networks.folder / ticker
        own.mkdir()
        tasks.append(ticker_task(own, "lstm", ticker=ticker))
    joint = {**joint_task(networks.folder, "portfolio_transformer"), "threads": 4}
    for task in (tasks[0], {"task": "train_stack", "networks": tasks, "device": "cpu"}, joint):
        assert networks.answer(task)["event"] == "result"
