"""Where a real cluster runs tasks: on nodes that are there, can hold them and give the same bytes."""

import time
from collections.abc import Callable
from pathlib import Path

from cluster_tasks import ENDLESS, HEAD, NODES, QUICK, fit_task, working
from gateway_process import ENGINE, GatewayProcess, Message, with_limits
from started_cluster import StartedCluster


def give(gateway: GatewayProcess, folder: Path, worker: int, estimator: Message, **needs: float) -> None:
    gateway.send("start", worker)
    gateway.send("task", worker, fit_task(folder, f"p{worker}", estimator), worker, **needs)


def test_a_job_begins_without_a_node_that_died_a_moment_before(
    start_cluster: Callable[..., StartedCluster], tmp_path: Path
) -> None:
    with start_cluster(NODES) as cluster:
        cluster.do("kill", "b")
        with GatewayProcess(tmp_path, "catboost", *cluster.arguments, **cluster.env) as gateway:
            assert [node["name"] for node in gateway.wait_for("ready")["cluster"]["nodes"]] == ["10.77.0.3"]
            give(gateway, tmp_path, 1, QUICK)
            assert gateway.wait_for_answer(1)["event"] == "result"


def test_a_job_whose_last_node_is_lost_ends_with_its_name(
    start_cluster: Callable[..., StartedCluster], tmp_path: Path
) -> None:
    limits = with_limits(PLACEMENT_SECONDS=2)
    with (
        start_cluster([HEAD, {"name": "a"}]) as cluster,
        GatewayProcess(tmp_path, "catboost", *cluster.arguments, program=limits, **cluster.env) as gateway,
    ):
        gateway.wait_for("ready")
        give(gateway, tmp_path, 1, ENDLESS)
        while not working(cluster, "a"):
            time.sleep(0.1)
        cluster.do("kill", "a")
        failed = gateway.wait_for("failed")
        assert failed["code"] == "engine_unavailable"
        assert failed["message"].endswith("needs a core, for 2 s (10.77.0.3: the node was lost)")


def test_a_cluster_without_a_core_is_waited_for(start_cluster: Callable[..., StartedCluster], tmp_path: Path) -> None:
    with start_cluster([HEAD]) as empty:
        limits = with_limits(PLACEMENT_SECONDS=2)
        with GatewayProcess(tmp_path, "catboost", *empty.arguments, program=limits, **empty.env) as gateway:
            failed = gateway.wait_for("failed")
        assert (failed["code"], failed["data"]["cpus"]) == ("engine_unavailable", 1)
        assert failed["message"].endswith("can hold a task that needs a core, for 2 s")
        limits = with_limits(DELAYED_SECONDS=1)
        with GatewayProcess(tmp_path, "catboost", *empty.arguments, program=limits, **empty.env) as gateway:
            assert "waits for a node that has a core" in gateway.wait_for("delayed")["message"]
            empty.add({"name": "a"})
            assert gateway.wait_for("ready")["slots"] == 1
            give(gateway, tmp_path, 1, QUICK)
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
            give(gateway, tmp_path, worker, ENDLESS, gpus=1)
        waiting = gateway.wait_for("delayed")
        assert "a core and 1 GPUs" in waiting["message"]
        while len(working(gpus, "a")) < 2:
            time.sleep(0.1)
        assert working(gpus, "b") == []
        running = [worker for worker in (1, 2, 3) if worker != waiting["id"]]
        gateway.send("kill", running[0])
        gateway.wait_for("worker_exited", worker=running[0])
        give(gateway, tmp_path, 4, QUICK)
        assert gateway.wait_for_answer(4)["event"] == "result"
        while len(working(gpus, "a")) < 2:
            time.sleep(0.1)
        assert working(gpus, "b") == []


def test_a_cluster_without_a_token_is_refused_unless_it_is_on_loopback(
    start_cluster: Callable[..., StartedCluster], tmp_path: Path
) -> None:
    with start_cluster([HEAD, {"name": "a"}], token=False) as cluster:
        with GatewayProcess(tmp_path, "catboost", *cluster.arguments, RAY_AUTH_TOKEN="a" * 64) as gateway:
            failed = gateway.wait_for("failed")
            assert failed["code"] == "engine_unavailable"
            assert "takes commands without a token" in failed["message"]
        with GatewayProcess(tmp_path, "catboost", *cluster.arguments, "--insecure") as gateway:
            gateway.wait_for("ready")
            give(gateway, tmp_path, 1, QUICK)
            assert gateway.wait_for_answer(1)["event"] == "result"


def test_a_node_with_another_version_of_a_library_is_refused_by_name(
    start_cluster: Callable[..., StartedCluster], tmp_path: Path
) -> None:
    """What it has installed says another version; the library itself is the same."""
    metadata = tmp_path / "catboost-0.9.9.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: catboost\nVersion: 0.9.9\n")
    other = {"name": "b", "env": {"PYTHONPATH": f"{tmp_path}:{ENGINE}"}}
    with (
        start_cluster([HEAD, {"name": "a"}]) as cluster,
        GatewayProcess(tmp_path, "catboost", *cluster.arguments, **cluster.env) as gateway,
    ):
        gateway.wait_for("ready")
        cluster.add(other)
        late = gateway.wait_for("slots")
        assert (late["slots"], late["added"], late["lost"][0]["name"]) == (1, [], "10.77.0.4")
        assert "it would not give the same bytes: it has catboost 0.9.9 instead of" in late["lost"][0]["reason"]
        with GatewayProcess(tmp_path, "catboost", *cluster.arguments, **cluster.env) as next_gateway:
            failed = next_gateway.wait_for("failed")
        assert failed["code"] == "engine_unavailable"
        assert "10.77.0.4 has catboost 0.9.9 instead of" in failed["message"]
        assert failed["data"]["nodes"] == ["10.77.0.4"]
