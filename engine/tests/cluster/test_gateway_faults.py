"""What fails on a real cluster, and what the pool is told."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from cluster_tasks import ENDLESS, HEAD, NODES, QUICK, fit_task, working
from gateway_process import GatewayProcess
from regressors import spec_of
from started_cluster import StartedCluster
from task_files import save

# Of a matrix of 120 MB, which the put of is under way for a while.
LARGE_ROWS = 3_000_000
WRONG = "0123456789abcdef" * 4
# A few seconds.
SLOW = spec_of("CatBoostRegressor", iterations=1000)
ADDRESSES = {"a": "10.77.0.3", "b": "10.77.0.4"}


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., StartedCluster]) -> Iterator[StartedCluster]:
    with start_cluster(NODES) as started:
        yield started


@pytest.fixture
def gateway(cluster: StartedCluster, tmp_path: Path) -> Iterator[GatewayProcess]:
    until_none_works(cluster)  # Of the test before.
    with GatewayProcess(tmp_path, "catboost", *cluster.arguments, **cluster.env) as process:
        process.wait_for("ready")
        yield process


def busy_node(cluster: StartedCluster, names: Iterable[str] = ADDRESSES) -> str:
    """Where a task runs, once one does."""
    while True:
        for name in names:
            if working(cluster, name):
                return name
        time.sleep(0.1)


def begin_endless(cluster: StartedCluster, gateway: GatewayProcess, folder: Path, worker: int = 1) -> str:
    """Gives the worker a task without end; the name of the node that it runs on."""
    gateway.start(worker)
    gateway.send("task", worker, fit_task(folder, "endless", ENDLESS), 100 + worker)
    return busy_node(cluster)


def assert_works(gateway: GatewayProcess, folder: Path, worker: int = 50) -> None:
    gateway.start(worker)
    gateway.send("task", worker, fit_task(folder, f"quick{worker}", QUICK), worker)
    assert gateway.wait_for_answer(worker)["event"] == "result"


def until_none_works(cluster: StartedCluster) -> None:
    while any(working(cluster, node) for node in ADDRESSES):
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("arguments", "token", "words"),
    [([], "", "set RAY_AUTH_TOKEN"), ([], WRONG, "refuses the token"), (["--insecure"], "", "wants a token")],
)
def test_who_has_no_token_of_the_cluster_is_refused(
    cluster: StartedCluster, tmp_path: Path, arguments: list[str], token: str, words: str
) -> None:
    env = {"RAY_AUTH_TOKEN": token, "HOME": str(tmp_path)}
    with GatewayProcess(tmp_path, "catboost", *cluster.arguments, *arguments, **env) as process:
        failed = process.wait_for("failed")
    assert failed["code"] == "engine_unavailable"
    assert words in failed["message"]
    assert WRONG not in str(failed)


def test_a_canceled_task_leaves_nothing_that_runs_also_if_no_node_has_it_yet(
    cluster: StartedCluster, gateway: GatewayProcess, tmp_path: Path
) -> None:
    """The first while it runs, some while nodes begin them, and the last while its array is put."""
    node = begin_endless(cluster, gateway, tmp_path, 7)
    gateway.send("kill", 7)
    assert gateway.wait_for("worker_exited", worker=7)["reason"] == "it was canceled"
    assert working(cluster, node) == []
    for worker in range(1, 7):
        gateway.start(worker)
        task = fit_task(tmp_path, "endless", ENDLESS)
        if worker == 6:
            task["x"] = save(tmp_path, "large.npy", np.zeros((LARGE_ROWS, 5)))
        gateway.send("task", worker, task, 100 + worker)
    for worker in range(1, 7):
        gateway.send("kill", worker)
    # One that a busy machine ends after more than three seconds is told before it has ended.
    ends = [gateway.wait_for("worker_exited")["reason"].partition(";")[0] for _ in range(6)]
    assert ends == ["it was canceled"] * 6
    until_none_works(cluster)
    assert_works(gateway, tmp_path)


def lose_process(cluster: StartedCluster, node: str) -> None:
    for pid in working(cluster, node):
        cluster.do("signal", node, pid=pid, signal=signal.SIGKILL)


LOSSES: dict[str, Callable[[StartedCluster, str], object]] = {
    "its process": lose_process,
    "its node": lambda cluster, node: cluster.do("kill", node),
    "the network of its node": lambda cluster, node: cluster.do("cut", node),
    "a node that freezes": lambda cluster, node: cluster.do("freeze", node),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_task_runs_again_and_leaves_the_same_bytes(
    cluster: StartedCluster, gateway: GatewayProcess, tmp_path: Path, loss: str
) -> None:
    gateway.start(1, 2)
    gateway.send("task", 1, fit_task(tmp_path, "first", SLOW), 101)
    first = gateway.wait_for_answer(101)["result"]["predictions"]
    gateway.send("task", 2, fit_task(tmp_path, "second", SLOW), 102)
    node = busy_node(cluster)
    for pid in working(cluster, node):  # So that it cannot end before it is lost.
        cluster.do("signal", node, pid=pid, signal=signal.SIGSTOP)
    LOSSES[loss](cluster, node)
    try:
        assert gateway.wait_for_answer(102)["result"]["predictions"] == first
        told = [message for message in gateway.messages if message.get("id") == 102]
        assert [message["fit"] for message in told if "fit" in message] == [0, 1, 2]
        if "process" not in loss:
            assert ADDRESSES[node] in lost_nodes(gateway)
    finally:
        if "process" not in loss:
            replace(cluster, node)
            gateway.wait_for("slots", slots=2)


def replace(cluster: StartedCluster, node: str) -> None:
    """Starts a lost node again."""
    with contextlib.suppress(RuntimeError):  # Some losses have killed it.
        cluster.do("kill", node)
    cluster.add({"name": node})


def lost_nodes(gateway: GatewayProcess) -> list[str]:
    """Of those that were reported, the addresses; a node that came in place of another has part of its id behind."""
    while not (found := [one for one in gateway.messages if one["event"] == "slots" and one["lost"]]):
        gateway.wait_for("slots")
    return [node["name"].split()[0] for one in found for node in one["lost"]]


def test_a_task_that_is_lost_twice_ends_its_slot(
    cluster: StartedCluster, gateway: GatewayProcess, tmp_path: Path
) -> None:
    gateway.start(1)
    gateway.send("task", 1, fit_task(tmp_path, "endless", ENDLESS), 101)
    with ThreadPoolExecutor(1) as reading:
        exited = reading.submit(gateway.wait_for, "worker_exited", worker=1)
        while not exited.done():
            for node in ADDRESSES:
                with contextlib.suppress(RuntimeError):  # Its processes end between the list and the signal.
                    lose_process(cluster, node)
            time.sleep(0.1)
    told = exited.result()
    assert (told["reason"], told["attempts"]) == ("its process was killed, or its node was lost", 2)
    assert_works(gateway, tmp_path)


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_gateway_that_ends_leaves_nothing_that_runs(cluster: StartedCluster, tmp_path: Path, is_killed: bool) -> None:
    """Where mucast is killed, the end of its input is all that the gateway sees of it."""
    with GatewayProcess(tmp_path, "catboost", *cluster.arguments, **cluster.env) as process:
        process.wait_for("ready")
        begin_endless(cluster, process, tmp_path)
        if is_killed:
            process.process.kill()
        else:
            assert process.end_input() == 0
        until_none_works(cluster)


def test_a_short_cut_of_the_network_costs_nothing(
    cluster: StartedCluster, gateway: GatewayProcess, tmp_path: Path
) -> None:
    begin_endless(cluster, gateway, tmp_path)
    cluster.do("cut", "driver")
    while not all(cluster.do("traffic", "driver")["held"].values()):
        time.sleep(0.1)
    cluster.do("restore", "driver")
    assert_works(gateway, tmp_path)
    gateway.send("kill", 1)
    assert gateway.wait_for("worker_exited", worker=1)["reason"] == "it was canceled"


def test_a_node_that_comes_gives_slots_and_one_that_is_killed_takes_them(
    cluster: StartedCluster, gateway: GatewayProcess, tmp_path: Path
) -> None:
    cluster.add({"name": "c"})
    assert gateway.wait_for("slots", added=["10.77.0.5"])["slots"] == 3
    cluster.do("kill", "c")
    told = gateway.wait_for("slots", slots=2)
    assert told["lost"] == [{"name": "10.77.0.5", "reason": "the node was lost"}]
    assert_works(gateway, tmp_path)


def test_a_head_that_is_lost_or_cut_off_ends_the_gateway(
    start_cluster: Callable[..., StartedCluster], tmp_path: Path
) -> None:
    with start_cluster([HEAD, {"name": "a"}]) as lost:
        for loss, name in [("cut", "driver"), ("kill", "head")]:
            with GatewayProcess(tmp_path, "catboost", *lost.arguments, **lost.env) as process:
                process.wait_for("ready")
                process.start(1)
                process.send("task", 1, fit_task(tmp_path, "endless", ENDLESS), 101)
                busy_node(lost, ["a"])
                lost.do(loss, name)
                assert process.process.wait() == 3
            if loss == "cut":
                lost.do("restore", name)
