"""Every kind of task on a real cluster of two nodes: the answers and the bytes of a local host."""

from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from cluster_tasks import fit_task
from gateway_process import GatewayProcess, Message
from network_tasks import ALONE, JOINT, joint_task, ticker_task
from regressors import NAMES, spec_of
from started_cluster import StartedCluster
from task_files import Task, values_of

NODES = [{"name": "head", "cpus": 0}, {"name": "a"}, {"name": "b"}]
LIBRARIES = "sklearn,xgboost,lightgbm,catboost"


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

    def both(self, task: Task) -> list[tuple[Message, list[Message], bytes]]:
        """Of the cluster, then of the host: the answer, the progress and the predictions' bytes.

        A host hands over few predictions in its answer, and a gateway writes them to their file.
        """
        self._number += 1
        return [self._one(side, task) for side in (self.gateway, self.host)]

    def _one(self, side: GatewayProcess, task: Task) -> tuple[Message, list[Message], bytes]:
        predictions = Path(task.get("predictions", {"ref": self.folder / "none"})["ref"])
        predictions.unlink(missing_ok=True)
        side.send("task", 1, task, self._number)
        answer = side.wait_for_answer(self._number)
        progress = [timeless(one) for one in side.messages if one["event"] == "progress" and one["id"] == self._number]
        handed_over = answer.get("result", {}).pop("predictions", None)
        return timeless(answer), progress, values_of(handed_over).tobytes() if handed_over else b""


def timeless(message: Message) -> Message:
    """Without how long it took."""
    if "result" in message:
        return {**message, "result": timeless(message["result"])}
    return {name: value for name, value in message.items() if name != "seconds"}


def twins(cluster: StartedCluster, folder: Path, libraries: str) -> Iterator[Twins]:
    with (
        GatewayProcess(folder, libraries, *cluster.arguments, **cluster.env) as gateway,
        GatewayProcess(folder, libraries, role="host") as host,
    ):
        yield Twins(gateway, host, folder)


@pytest.fixture(scope="module")
def regressors(cluster: StartedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    yield from twins(cluster, tmp_path_factory.mktemp("regressors"), LIBRARIES)


@pytest.fixture(scope="module")
def networks(cluster: StartedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    yield from twins(cluster, tmp_path_factory.mktemp("networks"), "torch")


def assert_equal(found: list[tuple[Message, list[Message], bytes]], event: str, progress: int) -> Message:
    (answer, told, predictions), (local_answer, local_told, local_predictions) = found
    assert answer == local_answer
    assert predictions == local_predictions
    assert told == local_told
    assert (answer["event"], len(told), bool(predictions)) == (event, progress, progress > 0)
    return answer


def test_the_greeting_is_that_of_a_host_and_tells_the_cluster(cluster: StartedCluster, regressors: Twins) -> None:
    told, local = regressors.greeting, regressors.local
    assert {name: told[name] for name in ("versions", "threads", "kernel_level", "machine")} == {
        name: local[name] for name in ("versions", "threads", "kernel_level", "machine")
    }
    assert (told["start"], told["slots"]) == ("cluster", 2)
    nodes = told["cluster"].pop("nodes")
    assert sorted((node["name"], node["cpus"]) for node in nodes) == [("10.77.0.3", 1), ("10.77.0.4", 1)]
    variables = told["cluster"].pop("variables")
    assert variables["RAY_health_check_period_ms"] == "1000"
    assert told["cluster"] == {"address": cluster.address, "ray": version("ray")}


@pytest.mark.parametrize("name", NAMES)
def test_a_regressor(regressors: Twins, name: str) -> None:
    assert_equal(regressors.both(fit_task(regressors.folder, name, spec_of(name))), "result", 3)


def test_a_trial(regressors: Twins) -> None:
    trial = {"task": "trial", "estimator": spec_of("Ridge"), "scaler": "standard", "columns": 3}
    assert_equal(regressors.both(trial), "result", 0)


def test_an_argument_that_the_library_refuses(regressors: Twins) -> None:
    trial = {"task": "trial", "estimator": spec_of("Ridge", alpha=-1), "scaler": "standard", "columns": 3}
    assert assert_equal(regressors.both(trial), "error", 0)["code"] == "invalid_model_params"


def test_an_array_that_is_gone(regressors: Twins) -> None:
    task = fit_task(regressors.folder, "gone", spec_of("Ridge"), seed=9)
    Path(task["x"]["ref"]).unlink()
    assert assert_equal(regressors.both(task), "error", 0)["code"] == "output_failed"


@pytest.mark.parametrize("architecture", ALONE)
def test_a_network_of_a_ticker(networks: Twins, architecture: str) -> None:
    assert_equal(networks.both(ticker_task(networks.folder, architecture)), "result", 3)


@pytest.mark.parametrize("architecture", JOINT)
def test_a_joint_network_that_asks_for_more_cores_than_a_node_has(networks: Twins, architecture: str) -> None:
    task = joint_task(networks.folder, architecture)
    assert_equal(networks.both({**task, "threads": 4}), "result", 2)


def test_a_stack_of_networks(networks: Twins) -> None:
    tasks = []
    for ticker in ("AAA", "BBB"):
        own = networks.folder / ticker
        own.mkdir()
        tasks.append(ticker_task(own, "lstm", ticker=ticker))
    stack = {"task": "train_stack", "networks": tasks, "device": "cpu"}
    outputs = [Path(task["predictions"]["ref"]) for task in tasks]
    found = []
    for side in (networks.gateway, networks.host):
        side.send("task", 1, stack, 1000)
        side.wait_for_answer(1000)
        found.append([output.read_bytes() for output in outputs])
        for output in outputs:
            output.unlink()
    assert found[0] == found[1]


def test_the_device(networks: Twins) -> None:
    assert assert_equal(networks.both({"task": "device", "device": "auto"}), "result", 0)["result"]["device"] == "cpu"
