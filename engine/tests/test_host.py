"""The host and its workers as real processes, driven as the pool drives them; src/engine/pool tests both together."""

import json
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from network_tasks import ticker_task
from regressors import spec_of
from task_files import Task

from mucast_engine import worker

ENGINE = Path(__file__).parent.parent
# catboost, because its import is the shortest.
QUICK = spec_of("CatBoostRegressor", iterations=2)
ENDLESS = spec_of("CatBoostRegressor", iterations=100_000_000)

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="needs the parent-death signal")


class HostUnderTest:
    """A host process; every message it sends is kept."""

    def __init__(self, libraries: str, folder: Path, start: str) -> None:
        command = [sys.executable, "-s", "-P", "-m", "mucast_engine", "host"]
        command += ["--libraries", libraries, "--folder", str(folder), "--start", start]
        env = {**os.environ, "PYTHONPATH": str(ENGINE)}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.messages: list[dict[str, Any]] = []

    def send(self, op: str, worker: int, task: Task | str | None = None, number: int = 0) -> None:
        header = json.dumps({"op": op, "worker": worker, "id": number})
        body = task if isinstance(task, str) else json.dumps(task)
        assert self.process.stdin is not None
        self.process.stdin.write((header if task is None else f"{header}\t{body}").encode() + b"\n")
        self.process.stdin.flush()

    def wait_for(self, event: str) -> dict[str, Any]:
        """The next message of that kind."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.messages.append(json.loads(line))
            if self.messages[-1]["event"] == event:
                return self.messages[-1]
        raise AssertionError(f"the host ended without {event}: {self.messages}")

    def end_input(self) -> int:
        """Closes stdin; returns the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait()

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self.end_input()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def start_host(tmp_path: Path) -> Iterator[Callable[..., HostUnderTest]]:
    hosts: list[HostUnderTest] = []

    def start(libraries: str = "catboost", start: str = "fork") -> HostUnderTest:
        hosts.append(HostUnderTest(libraries, tmp_path, start))
        return hosts[-1]

    yield start
    for host in hosts:
        host.close()


@pytest.fixture(scope="module", params=["fork", "spawn"])
def quick_host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostUnderTest]:
    """A host for tests that need no separate one; each has its own worker and its own task ids."""
    host = HostUnderTest("catboost", tmp_path_factory.getbasetemp(), request.param)
    greeting = host.wait_for("ready")
    assert greeting["start"] == request.param
    assert {"python", "numpy", "scipy", "catboost"} <= greeting["versions"].keys()
    yield host
    assert host.end_input() == 0
    host.close()


def until_gone(pid: int) -> None:
    """Returns when the process is dead; a zombie that an init process has not yet reaped is."""
    with suppress(ProcessLookupError, FileNotFoundError):
        while not Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].startswith((" Z", " X")):
            os.sched_yield()


def test_a_worker_killed_during_a_fit_is_reported_with_its_signal_and_memory(
    quick_host: HostUnderTest, make_task: Callable[..., Task]
) -> None:
    quick_host.send("start", 61)
    pid = quick_host.wait_for("worker_started")["pid"]
    fits = [{"train": [0, 50], "predict": [50, 60]}] * 100_000
    quick_host.send("task", 61, make_task(QUICK, fits=fits), number=61)
    quick_host.wait_for("progress")
    os.kill(pid, signal.SIGKILL)
    end = quick_host.wait_for("worker_exited")
    assert (end["worker"], end["pid"], end["signal"], end["exit_code"]) == (61, pid, signal.SIGKILL, None)
    assert end["max_rss_bytes"] > 2**20
    # What is sent to it after its end is ignored.
    quick_host.send("kill", 61)
    quick_host.send("task", 61, {"task": "trial"}, number=62)
    quick_host.send("start", 63)
    assert quick_host.wait_for("worker_started")["worker"] == 63


@needs_proc
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_die_during_a_fit_if_their_host_is_killed(
    start: str, start_host: Callable[..., HostUnderTest], make_task: Callable[..., Task]
) -> None:
    host = start_host(start=start)
    pids = []
    for number in (1, 2):
        host.send("start", number)
        pids.append(host.wait_for("worker_started")["pid"])
        host.send("task", number, make_task(ENDLESS), number=number)
    host.process.kill()
    host.process.wait()
    for pid in pids:
        until_gone(pid)


def test_a_task_that_cannot_be_read_affects_no_other(quick_host: HostUnderTest, make_task: Callable[..., Task]) -> None:
    quick_host.send("start", 21)
    for body in ("{", "[" * 100_000, '{"task": "no such"}', "[]"):
        quick_host.send("task", 21, body, number=21)
        assert quick_host.wait_for("error")["code"] == "internal"
    quick_host.send("task", 21, make_task(QUICK), number=22)
    assert quick_host.wait_for("result")["id"] == 22


def test_integers_longer_than_pythons_limit_are_read(quick_host: HostUnderTest) -> None:
    quick_host.send("start", 41)
    task = {"task": "trial", "scaler": "none", "columns": 8, "estimator": QUICK}
    text = json.dumps(task).replace('"iterations": 2', f'"iterations": 1{"0" * 5000}')
    quick_host.send("task", 41, text, number=41)
    assert quick_host.wait_for("result")["id"] == 41


def test_a_host_ends_with_the_message_of_an_import_and_before_it_if_its_caller_is_gone(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "mucast_engine", "host", "--libraries", "nosuch", "--folder", str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "nosuch" in done.stderr
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        ended = subprocess.run(command, stdin=theirs, capture_output=True, text=True, env=env, check=False)
    assert (ended.returncode, ended.stderr) == (1, "")


class RecordedSocket(socket.socket):
    """Records what is sent, message by message."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(fileno=descriptor)
        self.sent: list[bytes] = []

    def sendall(self, data: Any, flags: int = 0) -> None:
        self.sent.append(bytes(data))


@pytest.mark.parametrize(
    ("kind", "seconds", "counts"), [("fit", math.inf, [4]), ("fit", 0, [1] * 4), ("epoch", math.inf, [1] * 4)]
)
def test_progress_of_fits_may_wait_for_the_answer_and_that_of_epochs_is_sent_at_once(
    kind: str,
    seconds: float,
    counts: list[int],
    make_task: Callable[..., Task],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "TELL_SECONDS", seconds)
    task = make_task(spec_of("Ridge")) if kind == "fit" else ticker_task(tmp_path, "mlp")
    ours, theirs = socket.socketpair()
    with ours, RecordedSocket(theirs.detach()) as connection:
        ours.sendall(b"7\t" + json.dumps(task).encode() + b"\n")
        ours.shutdown(socket.SHUT_WR)
        worker.serve(connection, tmp_path)
    messages = [[json.loads(line) for line in message.splitlines()] for message in connection.sent]
    assert [len(lines) for lines in messages] == counts
    lines = [line for message in messages for line in message]
    assert {line["id"] for line in lines} == {7}
    assert [line["event"] for line in lines] == ["progress"] * 3 + ["result"]
    first = 0 if kind == "fit" else 1
    assert [line[kind] for line in lines[:-1]] == [first, first + 1, first + 2]
