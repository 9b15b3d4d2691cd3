"""One node of a cluster of tests: a network of its own, and in it what `ray start` starts.

`python ray_node.py PLAN` is the first process of a node. It says when it has its network, waits until the other end of
its cable is there (a line on stdin), and becomes `ray start`.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import namespaces
import network

MEGABYTE = 2**20
GCS_PORT, CLIENT_PORT = 6379, 10001
# Far more than a node takes on a busy machine.
SECONDS_TO_START = 900
_LOG_TAIL = 4_000
# Where a process finds the limits of the container that it is in.
CGROUP = "/sys/fs/cgroup"
MEASURE_SECONDS = 0.1

_cables = itertools.count()
_first_processes: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class NodePlan:
    """What a node is to have. `env` comes on top of the variables of all nodes."""

    name: str
    cpus: int = 1
    gpus: int = 0
    memory: int = 1024 * MEGABYTE
    """Bytes that its tasks may reserve; Ray does not hold them to it."""
    store: int = 100 * MEGABYTE
    """Bytes of its object store, 75 MiB at least."""
    memory_limit: int = 0
    """Bytes that its processes may hold together, as the cgroup of a container says it; 0 for none."""
    python: str = sys.executable
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Process:
    """A process of a node. Its pid is one of the cluster's own process tree."""

    pid: int
    state: str
    """A letter of proc(5): `T` is stopped."""
    command: str


class Node:
    """A node that runs. The head is the one without a `head`, whose address the others are given."""

    def __init__(self, plan: NodePlan, address: str, folder: Path, env: dict[str, str], head: str | None) -> None:
        self.plan = plan
        self.address = address
        self._near_cable = f"cable{next(_cables)}"
        self._output = folder / f"{plan.name}.out"
        self._folder = folder / plan.name
        self._output.unlink(missing_ok=True)
        command = _ray_start(plan, address, self._folder, head)
        first = {
            "address": address,
            "command": command,
            "env": env | plan.env,
            "output": str(self._output),
            "memory_limit": plan.memory_limit,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-s", __file__, json.dumps(first)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
        )
        _first_processes.append(self._process)
        assert self._process.stdin is not None and self._process.stdout is not None
        if self._process.stdout.readline() != b"isolated\n":
            raise RuntimeError(f"the node {plan.name} has got no network")
        its_network = Path(f"/proc/{self._process.pid}/ns/net")
        self._network = its_network.readlink()
        # Keeps it when its processes are gone: it refuses what they were connected to, as a machine that runs on does.
        self._kept_network = os.open(its_network, os.O_RDONLY)
        network.add_cable(self._near_cable, "nodes", "eth0", self._process.pid)
        self._process.stdin.write(b"connected\n")
        self._process.stdin.close()
        if plan.memory_limit > 0:
            threading.Thread(target=self._measure_memory, daemon=True).start()

    def wait_until_started(self) -> None:
        """Returns when Ray's processes run and the head knows of the node."""
        until = time.monotonic() + SECONDS_TO_START
        while "Ray runtime started" not in self._said():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the node {self.plan.name} did not start: {self._said()[-_LOG_TAIL:]}")
            time.sleep(0.05)

    def processes(self) -> list[Process]:
        """All that run in its network, stopped ones too."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "ns/net").readlink() != self._network:
                    continue
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                words = (folder / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            except OSError:
                continue  # It has just ended.
            if state not in "ZX":
                found.append(Process(int(folder.name), state, b" ".join(words).decode(errors="replace")))
        return found

    def kill(self) -> None:
        """Kills everything on it. Its network runs on, and refuses; a node that is cut before has lost its power."""
        while alive := self.processes():
            self._signal(alive, signal.SIGKILL)
            time.sleep(0.01)
        self._process.wait()

    def discard(self) -> None:
        """Gives up the network of one that was killed, before another gets its address."""
        self.cut()
        os.close(self._kept_network)

    def freeze(self) -> None:
        """Stops every process on it. Its connections stay, and it answers nothing."""
        while running := [process for process in self.processes() if process.state != "T"]:
            self._signal(running, signal.SIGSTOP)
            time.sleep(0.01)

    def cut(self) -> None:
        """Pulls its cable: what it sends and what is sent to it is lost."""
        network.set_up(self._near_cable, up=False)

    def restore(self) -> None:
        network.set_up(self._near_cable)

    def signal_process(self, pid: int, number: int) -> None:
        self._signal([process for process in self.processes() if process.pid == pid], number)

    def _measure_memory(self) -> None:
        """Keeps the file up to date in which a cgroup tells what its processes hold."""
        place = Path(f"/proc/{self._process.pid}/root{CGROUP}/memory.current")
        while self._process.poll() is None:
            held = sum(_held_by(process.pid) for process in self.processes())
            with suppress(OSError):  # The node has just ended.
                place.write_text(f"{held:020}\n")
            time.sleep(MEASURE_SECONDS)

    def _said(self) -> str:
        return self._output.read_text(errors="replace") if self._output.exists() else ""

    @staticmethod
    def _signal(processes: list[Process], number: int) -> None:
        for process in processes:
            try:
                os.kill(process.pid, number)
            except ProcessLookupError:
                continue  # It has just ended.


def reap() -> None:
    """Waits for what has ended, as the first process of a tree has to: much of it was started by others."""
    for process in _first_processes[:]:
        if process.poll() is not None:
            _first_processes.remove(process)
    own = {process.pid for process in _first_processes}
    with suppress(ChildProcessError):  # There is none at all.
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)) and ended.si_pid not in own:
            os.waitpid(ended.si_pid, 0)


def _ray_start(plan: NodePlan, address: str, folder: Path, head: str | None) -> list[str]:
    command = [plan.python, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
    if head is None:
        command += ["--head", f"--port={GCS_PORT}", f"--ray-client-server-port={CLIENT_PORT}"]
        command += ["--include-dashboard=false", "--no-monitor"]
    else:
        command += [f"--address={head}:{GCS_PORT}"]
    command += [f"--node-ip-address={address}", f"--node-name={plan.name}", f"--temp-dir={folder}"]
    command += [f"--num-cpus={plan.cpus}", f"--num-gpus={plan.gpus}", f"--memory={plan.memory}"]
    return [*command, f"--object-store-memory={plan.store}", "--include-log-monitor=false"]


def _limit_memory(limit: int) -> None:
    """Fakes the cgroup of a container of so many bytes: the files that Ray reads, and no kernel that holds to them."""
    namespaces.mount("tmpfs", CGROUP)
    for name, content in {"memory.max": limit, "memory.current": 0, "memory.stat": NO_CACHE}.items():
        (Path(CGROUP) / name).write_text(f"{content}\n")


NO_CACHE = "inactive_file 0\nactive_file 0"


def _held_by(pid: int) -> int:
    """Bytes of memory that a process has, files that it maps aside."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0  # It has just ended.
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def _become_node(first: dict[str, object]) -> None:
    namespaces.unshare(namespaces.NEWNET | namespaces.NEWNS)
    sys.stdout.write("isolated\n")
    sys.stdout.flush()
    if sys.stdin.readline() != "connected\n":
        sys.exit(1)
    if first["memory_limit"]:
        _limit_memory(int(str(first["memory_limit"])))
    network.set_up("lo")
    network.set_hardware_address("eth0", str(first["address"]))
    network.set_address("eth0", str(first["address"]))
    output = os.open(str(first["output"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    command, env = first["command"], first["env"]
    assert isinstance(command, list) and isinstance(env, dict)
    os.execvpe(command[0], command, env)


if __name__ == "__main__":
    _become_node(json.loads(sys.argv[1]))
