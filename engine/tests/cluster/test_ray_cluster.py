"""The cluster of the tests itself: who is in it, who can be reached, and that it leaves nothing behind."""

import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from started_cluster import StartedCluster


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., StartedCluster]) -> Iterator[StartedCluster]:
    with start_cluster([{"name": "head", "cpus": 0}, {"name": "a"}]) as started:
        yield started


def connects(cluster: StartedCluster, host: str, port: int) -> bool:
    program = f"import socket; socket.create_connection(({host!r}, {port}), timeout=2)"
    return subprocess.run([*cluster.enter, sys.executable, "-c", program], stderr=subprocess.DEVNULL).returncode == 0


def test_the_token_is_the_callers_alone(cluster: StartedCluster) -> None:
    assert stat.S_IMODE(cluster.token_file.stat().st_mode) == 0o600
    assert cluster.token_file.read_text()


def test_the_head_is_reached_by_those_who_enter_and_its_client_port_by_loopback(cluster: StartedCluster) -> None:
    assert connects(cluster, "10.77.0.2", 10001)
    port = int(cluster.address.rpartition(":")[2])
    socket.create_connection(("127.0.0.1", port)).close()


def test_the_cluster_reaches_nothing_outside(cluster: StartedCluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as outside:
        assert not connects(cluster, "127.0.0.1", outside.getsockname()[1])
    assert not connects(cluster, "192.0.2.1", 80)


def test_a_node_is_frozen_thawed_and_killed_with_all_that_runs_on_it(cluster: StartedCluster) -> None:
    assert any("raylet" in process["command"] for process in cluster.processes("a"))
    cluster.do("freeze", "a")
    assert {process["state"] for process in cluster.processes("a")} == {"T"}
    cluster.do("thaw", "a")
    assert "T" not in {process["state"] for process in cluster.processes("a")}
    cluster.do("kill", "a")
    with pytest.raises(RuntimeError, match="KeyError: 'a'"):
        cluster.processes("a")
    cluster.add({"name": "a"})
    assert cluster.processes("a")


def test_nothing_reaches_a_node_whose_cable_is_pulled(cluster: StartedCluster) -> None:
    assert connects(cluster, "10.77.0.2", 6379)
    cluster.do("cut", "head")
    assert not connects(cluster, "10.77.0.2", 6379)
    cluster.do("restore", "head")
    assert connects(cluster, "10.77.0.2", 6379)


def test_what_its_processes_have_written_can_be_read(cluster: StartedCluster) -> None:
    assert "Ray runtime started" in cluster.do("logs", "a")["logs"]["a.out"]


@pytest.mark.cluster
def test_nothing_is_left_when_the_one_who_started_it_is_killed(tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from started_cluster import StartedCluster
with StartedCluster(Path({str(tmp_path)!r}), [{{"name": "head"}}]):
    print("started", flush=True)
    sys.stdin.read()
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as caller:
        assert caller.stdout is not None and caller.stdout.readline() == b"started\n"
        assert belonging_to(tmp_path)
        caller.send_signal(signal.SIGKILL)
        caller.wait()
    while belonging_to(tmp_path):
        pass


def belonging_to(folder: Path) -> list[str]:
    """Command lines that name `folder`: `serve` itself, whose end is that of all."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"serve" in words and str(folder).encode() in words:
            found.append(process.parent.name)
    return found
