"""The cluster of the tests itself: it is cut off from this machine, and leaves nothing behind."""

import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from started_cluster import StartedCluster


def test_it_reaches_nothing_outside_and_is_reached_at_one_port(
    start_cluster: Callable[..., StartedCluster],
) -> None:
    with (
        start_cluster([{"name": "head", "cpus": 0}]) as cluster,
        socket.create_server(("127.0.0.1", 0)) as outside,
    ):

        def connects(host: str, port: int) -> bool:
            program = f"import socket; socket.create_connection(({host!r}, {port}), timeout=2)"
            command = [*cluster.enter, sys.executable, "-c", program]
            return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0

        assert stat.S_IMODE(cluster.token_file.stat().st_mode) == 0o600
        while not connects("10.77.0.2", 10001):  # The head starts Ray's client server last.
            pass
        assert not connects("127.0.0.1", outside.getsockname()[1])
        assert not connects("192.0.2.1", 80)
        socket.create_connection(("127.0.0.1", int(cluster.address.rpartition(":")[2]))).close()


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
