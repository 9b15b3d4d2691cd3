"""The host and its workers as real processes, driven as the pool drives them."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from regressors import NAMES, REGRESSORS, spec_of
from task_files import Task, values_of

from mucast_engine.arrays import Matrix

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
        self.say(header if task is None else f"{header}\t{body}")

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
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


@pytest.fixture
def start_host(tmp_path: Path) -> Iterator[Callable[..., HostUnderTest]]:
    hosts: list[HostUnderTest] = []

    def start(libraries: str = "catboost", start: str = "fork") -> HostUnderTest:
        hosts.append(HostUnderTest(libraries, tmp_path, start))
        return hosts[-1]

    yield start
    for host in hosts:
        with suppress(BrokenPipeError):
            host.end_input()
        assert host.process.stdout is not None
        host.process.stdout.close()


@pytest.fixture(scope="module")
def quick_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, HostUnderTest]]:
    """Hosts by how they start workers, for tests that need no separate host.

    Each such test has its own worker and its own task ids. The hosts work until their input ends.
    """
    hosts = {start: HostUnderTest("catboost", tmp_path_factory.getbasetemp(), start) for start in ("fork", "spawn")}
    yield hosts
    for host in hosts.values():
        assert host.end_input() == 0
        assert host.process.stdout is not None
        host.process.stdout.close()


@pytest.fixture
def quick_host(quick_hosts: dict[str, HostUnderTest]) -> HostUnderTest:
    return quick_hosts["fork"]


def until_gone(pid: int) -> None:
    """Returns when the process is dead; a zombie that an init process has not yet reaped is."""
    with suppress(ProcessLookupError, FileNotFoundError):
        while not Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].startswith((" Z", " X")):
            os.sched_yield()


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_it_greets_with_versions_and_works(
    start: str, quick_hosts: dict[str, HostUnderTest], make_task: Callable[..., Task]
) -> None:
    host = quick_hosts[start]
    before = len(host.messages)
    host.send("start", 4)
    host.send("task", 4, make_task(QUICK), number=9)
    result = host.wait_for("result")
    assert result["id"] == 9
    greeting = host.messages[0]
    assert greeting["event"] == "ready"
    assert greeting["start"] == start
    assert {"python", "numpy", "scipy", "catboost"} <= greeting["versions"].keys()
    assert [message["fit"] for message in host.messages[before:] if message["event"] == "progress"] == [0, 1, 2]


@pytest.mark.release
def test_every_library_fits_in_forked_workers_even_after_one_was_killed_in_a_host_that_had_imported_others(
    start_host: Callable[..., HostUnderTest], make_task: Callable[..., Task]
) -> None:
    host = start_host("sklearn,xgboost,lightgbm")
    host.wait_for("ready")
    for name in ("RandomForestRegressor", "XGBRegressor", "LGBMRegressor", "CatBoostRegressor"):
        library, regressor, params = REGRESSORS[NAMES.index(name)]
        host.say(json.dumps({"op": "import", "libraries": [library]}))
        greeting = host.wait_for("ready")
        own = {"scikit-learn" if library == "sklearn" else library}
        assert greeting["versions"].keys() == {"python", "numpy", "scipy", "scikit-learn"} | own
        assert greeting["start"] == "fork"
        task = make_task(spec_of(name))
        predicted = [predictions_of(host, worker, task) for worker in (1, 2)]
        host.send("kill", 1)
        assert host.wait_for("worker_exited")["signal"] == signal.SIGKILL
        predicted.append(predictions_of(host, 3, task))
        # A host imports only while it has no worker.
        for worker in (2, 3):
            host.send("kill", worker)
            host.wait_for("worker_exited")
        x, y = np.load(task["x"]["ref"]), np.load(task["y"]["ref"])
        expected = regressor(**params).fit(x[:200], y[:200]).predict(x[200:240])
        for values in predicted:
            np.testing.assert_array_equal(values[:40], expected)


def predictions_of(host: HostUnderTest, worker: int, task: Task) -> Matrix:
    """The predictions of a task, which a new worker runs."""
    host.send("start", worker)
    host.send("task", worker, task, number=worker)
    return values_of(host.wait_for("result")["result"]["predictions"])


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_worker_killed_during_a_fit_is_reported_with_its_signal_and_memory(
    start: str, quick_hosts: dict[str, HostUnderTest], make_task: Callable[..., Task]
) -> None:
    host = quick_hosts[start]
    host.send("start", 61)
    pid = host.wait_for("worker_started")["pid"]
    fits = [{"train": [0, 50], "predict": [50, 60]}] * 100_000
    host.send("task", 61, make_task(QUICK, fits=fits), number=61)
    host.wait_for("progress")
    os.kill(pid, signal.SIGKILL)
    end = host.wait_for("worker_exited")
    assert (end["worker"], end["pid"], end["signal"], end["exit_code"]) == (61, pid, signal.SIGKILL, None)
    assert end["max_rss_bytes"] > 2**20


@needs_proc
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_die_during_a_fit_if_their_host_is_killed(
    start: str, start_host: Callable[..., HostUnderTest], make_task: Callable[..., Task]
) -> None:
    host = start_host(start=start)
    pids = []
    for worker in (1, 2):
        host.send("start", worker)
        pids.append(host.wait_for("worker_started")["pid"])
        host.send("task", worker, make_task(ENDLESS), number=worker)
    host.process.kill()
    host.process.wait()
    for pid in pids:
        until_gone(pid)


@needs_proc
def test_workers_end_during_a_fit_when_the_input_has_ended(
    start_host: Callable[..., HostUnderTest], make_task: Callable[..., Task]
) -> None:
    host = start_host()
    host.send("start", 1)
    pid = host.wait_for("worker_started")["pid"]
    host.send("task", 1, make_task(ENDLESS), number=1)
    assert host.end_input() == 0
    assert not Path(f"/proc/{pid}").exists()


def test_output_of_libraries_does_not_reach_the_messages(
    quick_host: HostUnderTest, make_task: Callable[..., Task]
) -> None:
    quick_host.send("start", 11)
    quick_host.send("task", 11, make_task(spec_of("CatBoostRegressor", verbose=True)), number=11)
    assert quick_host.wait_for("result")["id"] == 11


@pytest.mark.parametrize(("number", "body"), [(21, "{"), (22, "[" * 100_000), (23, '{"task": "no such"}'), (24, "[]")])
def test_a_task_that_cannot_be_read_affects_no_other(
    number: int, body: str, quick_host: HostUnderTest, make_task: Callable[..., Task]
) -> None:
    quick_host.send("start", number)
    quick_host.send("task", number, body, number=number)
    assert quick_host.wait_for("error")["code"] == "internal"
    quick_host.send("task", number, make_task(QUICK), number=number + 10)
    assert quick_host.wait_for("result")["id"] == number + 10


def test_integers_longer_than_pythons_limit_are_read(quick_host: HostUnderTest) -> None:
    quick_host.send("start", 41)
    task = {"task": "trial", "scaler": "none", "columns": 8, "estimator": QUICK}
    text = json.dumps(task).replace('"iterations": 2', f'"iterations": 1{"0" * 5000}')
    quick_host.send("task", 41, text, number=41)
    assert quick_host.wait_for("result")["id"] == 41


def test_messages_for_an_ended_worker_are_ignored(quick_host: HostUnderTest) -> None:
    quick_host.send("kill", 52)
    quick_host.send("task", 52, {"task": "trial"}, number=52)
    quick_host.send("start", 51)
    assert quick_host.wait_for("worker_started")["worker"] == 51


def test_a_library_that_cannot_be_imported_ends_the_host_with_its_message(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "mucast_engine", "host", "--libraries", "nosuch", "--folder", str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "nosuch" in done.stderr


def test_a_host_whose_caller_is_already_gone_ends_before_it_imports(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "mucast_engine", "host", "--libraries", "nosuch", "--folder", str(tmp_path)]
    ours, theirs = socket.socketpair()
    ours.close()
    env = {**os.environ, "PYTHONPATH": str(ENGINE)}
    ended = subprocess.run(command, stdin=theirs, capture_output=True, env=env, check=False)
    theirs.close()
    # An import of `nosuch` would have been reported on stdout.
    assert (ended.returncode, ended.stdout) == (1, b"")
