"""Real clusters that no task may go to: one that is open to all, and one whose nodes would not give the same bytes."""

from collections.abc import Callable
from pathlib import Path

from cluster_tasks import QUICK, fit_task
from gateway_process import ENGINE, GatewayProcess
from started_cluster import StartedCluster

HEAD = {"name": "head", "cpus": 0}


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
            gateway.start(1)
            gateway.send("task", 1, fit_task(tmp_path, "quick", QUICK), 1)
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
