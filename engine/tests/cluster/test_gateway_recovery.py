"""What a gateway does by itself about a real cluster that is not as it should be: no task is told to be lost."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from cluster_tasks import ENDLESS, QUICK, fit_task
from gateway_process import GatewayProcess, Message, with_limits
from regressors import spec_of
from started_cluster import StartedCluster
from task_files import save

HEAD = {"name": "head", "cpus": 0}
LOSING = (str(Path(__file__).with_name("losing_gateway.py")), "10.77.0.4", "2")
# So long that the gateway alone can find a node frozen.
RAY_WAITS = {"RAY_health_check_failure_threshold": "1000"}


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., StartedCluster]) -> Iterator[StartedCluster]:
    with start_cluster([HEAD, {"name": "a"}, {"name": "b"}], env=RAY_WAITS) as started:
        yield started


def give(gateway: GatewayProcess, folder: Path, worker: int, estimator: Message, name: str = "") -> None:
    gateway.send("start", worker)
    gateway.send("task", worker, fit_task(folder, name or f"p{worker}", estimator), worker)


def commands(cluster: StartedCluster, node: str) -> list[str]:
    return [one["command"] for one in cluster.processes(node)]


def busy_engines(cluster: StartedCluster, node: str) -> list[int]:
    """The engine processes of tasks that run there."""
    found = cluster.processes(node)
    parents = [f"--parent {one['pid']}" for one in found if one["command"].startswith("ray::mucast")]
    return [one["pid"] for one in found if one["command"].endswith(tuple(parents))]


def test_a_task_for_a_node_that_froze_unseen_is_done_elsewhere(cluster: StartedCluster, tmp_path: Path) -> None:
    limits = with_limits(DELAYED_SECONDS=1, STUCK_SECONDS=15)
    with GatewayProcess(tmp_path, "catboost", *cluster.arguments, program=limits, **cluster.env) as gateway:
        gateway.wait_for("ready")
        cluster.do("freeze", "b")
        try:
            for worker in (1, 2):
                give(gateway, tmp_path, worker, ENDLESS)
            waiting = gateway.wait_for("delayed")["id"]
            lost = gateway.wait_for("slots", slots=1)["lost"]
            assert lost == [{"name": "10.77.0.4", "reason": "it does not answer"}]
            gateway.send("kill", 3 - waiting)
            assert gateway.wait_for("worker_exited")["worker"] == 3 - waiting
            # On a busy machine it may be taken back and sent more than once before the free node begins it.
            while not any(command.startswith(f"ray::mucast {waiting}.") for command in commands(cluster, "a")):
                assert gateway.process.poll() is None
                time.sleep(0.1)
        finally:
            cluster.do("thaw", "b")
        assert gateway.wait_for("slots", slots=2)["added"] == ["10.77.0.4"]


def test_a_slow_task_is_begun_a_second_time_and_leaves_the_same_bytes(cluster: StartedCluster, tmp_path: Path) -> None:
    """Its engine process is stopped; its supervisor goes on, so that it is not taken to be lost."""
    slow = spec_of("CatBoostRegressor", iterations=1000)
    with GatewayProcess(tmp_path, "catboost", *cluster.arguments, **cluster.env) as gateway:
        gateway.wait_for("ready")
        give(gateway, tmp_path, 1, slow, "first")
        assert gateway.wait_for_answer(1)["event"] == "result"
        give(gateway, tmp_path, 2, slow, "second")
        while not (stopped := [(node, pid) for node in ("a", "b") for pid in busy_engines(cluster, node)]):
            assert gateway.process.poll() is None
            time.sleep(0.02)
        [(node, pid)] = stopped
        cluster.do("signal", node, pid=pid, signal=signal.SIGSTOP)
        other = "b" if node == "a" else "a"
        assert gateway.wait_for_answer(2)["event"] == "result"
        assert [message.get("fit") for message in gateway.messages if message.get("id") == 2] == [0, 1, 2, None]
        assert (tmp_path / "second.npy").read_bytes() == (tmp_path / "first.npy").read_bytes()
        assert any("mucast_engine node" in command for command in commands(cluster, other))
        while busy_engines(cluster, node):
            time.sleep(0.1)


def test_arrays_that_were_lost_with_a_node_are_put_again(
    start_cluster: Callable[..., StartedCluster], tmp_path: Path
) -> None:
    """Larger than what Ray keeps with its owner."""
    x = save(tmp_path, "x.npy", np.random.default_rng(1).standard_normal((6000, 5)))
    y = save(tmp_path, "y.npy", np.random.default_rng(2).standard_normal(6000))
    with (
        start_cluster([HEAD, {"name": "a"}, {"name": "b"}]) as losing,
        GatewayProcess(tmp_path, "catboost", *losing.arguments, program=LOSING, **losing.env) as gateway,
    ):
        gateway.wait_for("ready")
        for worker, node in ((1, "10.77.0.4"), (2, "10.77.0.3")):
            gateway.send("start", worker)
            gateway.send("task", worker, fit_task(tmp_path, f"p{worker}", QUICK, x=x, y=y), worker, node=node)
            assert gateway.wait_for_answer(worker)["event"] == "result"
            if worker == 1:
                losing.do("kill", "b")
                gateway.wait_for("slots", slots=1)


def test_a_cluster_without_a_core_is_waited_for(start_cluster: Callable[..., StartedCluster], tmp_path: Path) -> None:
    with start_cluster([HEAD]) as empty:
        limits = with_limits(DELAYED_SECONDS=1, PLACEMENT_SECONDS=2)
        with GatewayProcess(tmp_path, "catboost", *empty.arguments, program=limits, **empty.env) as gateway:
            assert "has a core for tasks yet" in gateway.wait_for("delayed")["message"]
            failed = gateway.wait_for("failed")
        assert (failed["code"], failed["data"]) == ("engine_unavailable", {"cpus": 1})
        assert failed["message"].endswith("has a core for tasks, for 2 s; it has 10.77.0.2 with 0 cores")
        limits = with_limits(DELAYED_SECONDS=1)
        with GatewayProcess(tmp_path, "catboost", *empty.arguments, program=limits, **empty.env) as gateway:
            give(gateway, tmp_path, 1, QUICK)
            gateway.wait_for("delayed")
            empty.add({"name": "a"})
            assert gateway.wait_for("ready")["slots"] == 1
            assert gateway.wait_for_answer(1)["event"] == "result"


def test_as_many_tasks_with_a_gpu_run_as_there_are_gpus(
    start_cluster: Callable[..., StartedCluster], tmp_path: Path
) -> None:
    """Ray counts them; no device is needed for that."""
    nodes = [HEAD, {"name": "a", "cpus": 3, "gpus": 2}, {"name": "b", "cpus": 2}]
    limits = with_limits(DELAYED_SECONDS=3)
    with (
        start_cluster(nodes) as gpus,
        GatewayProcess(tmp_path, "catboost", *gpus.arguments, program=limits, **gpus.env) as gateway,
    ):
        assert gateway.wait_for("ready")["slots"] == 5
        for worker in (1, 2, 3):
            gateway.send("start", worker)
            gateway.send("task", worker, fit_task(tmp_path, f"p{worker}", ENDLESS), worker, gpus=1)
        waiting = gateway.wait_for("delayed")
        assert "a core and 1 GPUs" in waiting["message"]
        while len(busy_engines(gpus, "a")) < 2:
            time.sleep(0.1)
        assert busy_engines(gpus, "b") == []
        running = [worker for worker in (1, 2, 3) if worker != waiting["id"]]
        gateway.send("kill", running[0])
        gateway.wait_for("worker_exited", worker=running[0])
        give(gateway, tmp_path, 4, QUICK)
        assert gateway.wait_for_answer(4)["event"] == "result"
        while len(busy_engines(gpus, "a")) < 2:
            time.sleep(0.1)
        assert busy_engines(gpus, "b") == []
