"""A Ray cluster of several nodes on one Linux machine, for tests: it reaches nothing outside and leaves nothing behind.

    python ray_cluster.py serve FOLDER            a cluster, ruled by lines of JSON on stdin
    python ray_cluster.py enter PID COMMAND ...   runs a command in the cluster's network

Each node has a network namespace of its own, all are joined by a bridge, and the whole has a process tree, a /dev/shm
and a folder for temporary files of its own. The kernel throws them away with the first process: when stdin ends, when
`serve` is killed, or when its parent is gone. FOLDER gets the token (mode 600), and belongs to the caller. `python` is
one that has Ray.

The first line is the plan: {"nodes": [NodePlan, ...], "env": {...}, "token": true}, the first node being the head. Its
answer says {"address", "inside", "token_file", "enter", "nodes"}: `address` is reached from outside, by loopback alone;
`inside` if a command was put behind `enter`. Further lines, each answered by one, {"error"} if it failed:

    {"do": "add", "nodes": [NodePlan, ...]}
    {"do": "kill", "freeze", "cut", "restore" or "processes", "name": NODE}
    {"do": "signal", "name": NODE, "pid", "signal"}

`cut` and `restore` also take the name "driver", the one who comes by `address`; its "traffic" is counted, in bytes,
also what is "held" by a cut.
"""

import dataclasses
import json
import os
import secrets
import select
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import namespaces
import network
from ray_node import CLIENT_PORT, Node, NodePlan, reap
from relay import Relay

ENGINE = Path(__file__).resolve().parents[2]
TOKEN_FILE = "ray-token"
# Folders of every Linux if little lies. Sockets lie below, whose paths may have 107 characters.
_PLACES = ("/srv", "/mnt", "/media", "/opt")
_DRIVER = "driver"
_Answer = dict[str, Any]


class Cluster:
    """Its nodes by name. Addresses are 10.77.0.2 (the head), .3, ...; 10.77.0.1 is that of commands that enter."""

    def __init__(self, folder: Path, token: Path | None, listener: socket.socket, env: dict[str, str]) -> None:
        self._folder = folder
        self._env = _environment(folder, token) | env
        self._listener = listener
        self._nodes: dict[str, Node] = {}
        self._killed: dict[str, Node] = {}
        self._addresses: dict[str, str] = {}
        self._relay: Relay | None = None
        network.set_up("lo")
        network.add_bridge("nodes")
        network.set_address("nodes", "10.77.0.1")

    def start(self, plans: list[NodePlan]) -> str:
        """The first of `plans` is the head. Returns its address."""
        head = self._add(plans[0], None)
        head.wait_until_started()
        self._relay = Relay(self._listener, (head.address, CLIENT_PORT))
        self.add(plans[1:])
        return head.address

    def add(self, plans: list[NodePlan]) -> None:
        head, address = next(iter(self._addresses.items()))
        for node in [self._add(plan, None if plan.name == head else address) for plan in plans]:
            node.wait_until_started()

    def described(self) -> list[_Answer]:
        return [{"name": name, "address": node.address} for name, node in self._nodes.items()]

    def obey(self, order: _Answer) -> _Answer:
        what, name = order["do"], order.get("name")
        if what == "add":
            self.add([NodePlan(**plan) for plan in order["nodes"]])
            return {"nodes": self.described()}
        if name == _DRIVER:
            assert self._relay is not None
            if what == "traffic":
                sent, received = self._relay.sent, self._relay.received
                held = {"sent": sent.held, "received": received.held}
                return {"sent": sent.passed, "received": received.passed, "held": held}
            {"cut": self._relay.cut, "restore": self._relay.restore}[what]()
            return {}
        node = self._nodes[str(name)]
        if what == "processes":
            return {"processes": [dataclasses.asdict(process) for process in node.processes()]}
        if what == "signal":
            node.signal_process(order["pid"], order["signal"])
            return {}
        {"kill": node.kill, "freeze": node.freeze, "cut": node.cut, "restore": node.restore}[what]()
        if what == "kill":
            self._killed[str(name)] = self._nodes.pop(str(name))
        return {}

    def _add(self, plan: NodePlan, head: str | None) -> Node:
        if plan.name in self._nodes or plan.name == _DRIVER:
            raise ValueError(f"there is a node {plan.name} already")
        if plan.name in self._killed:
            self._killed.pop(plan.name).discard()
        address = self._addresses.setdefault(plan.name, f"10.77.0.{len(self._addresses) + 2}")
        self._nodes[plan.name] = Node(plan, address, self._folder, self._env, head)
        return self._nodes[plan.name]


def _environment(folder: Path, token: Path | None) -> dict[str, str]:
    """That of all nodes: nothing of the caller's but where programs are."""
    env = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    env |= {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONPATH": str(ENGINE), "PYTHONUNBUFFERED": "1"}
    env |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    # Without the second one a start of a client's server on the head crashes now and then: grpc issue 43055.
    env |= {"RAY_USAGE_STATS_ENABLED": "0", "GRPC_ENABLE_FORK_SUPPORT": "0"}
    # As the image has them: when Ray counts a node as lost.
    env |= {"RAY_health_check_period_ms": "1000", "RAY_health_check_timeout_ms": "3000"}
    env |= {"RAY_health_check_failure_threshold": "5"}
    env |= {"RAY_grpc_client_keepalive_time_ms": "10000", "RAY_grpc_client_keepalive_timeout_ms": "15000"}
    # A busy machine takes longer than Ray waits.
    env |= {"RAY_raylet_start_wait_time_s": "840", "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "240"}
    # Ray runs tasks at nice 15 by default: beside other work of the machine, their imports would take minutes.
    env |= {"RAY_worker_niceness": "0"}
    if token is None:
        return env | {"RAY_AUTH_MODE": "disabled"}
    return env | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}


def serve(folder: Path) -> None:
    """Runs a cluster until stdin ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    namespaces.isolate()
    namespaces.die_with_parent(signal.SIGKILL)
    child = os.fork()
    if child != 0:
        _, status = os.waitpid(child, 0)
        sys.exit(abs(os.waitstatus_to_exitcode(status)))
    namespaces.die_with_parent(signal.SIGKILL)
    # /proc is still that of the process tree outside.
    enter = [sys.executable, "-s", str(Path(__file__).resolve()), "enter", Path("/proc/self").readlink().name]
    place = next(place for place in map(Path, _PLACES) if place.is_dir() and not any(place.iterdir()))
    namespaces.own_mounts(str(place))
    place.chmod(0o700)
    orders = _lines()
    plan = json.loads(next(orders))
    token = _write_token(folder, place) if plan.get("token", True) else None
    cluster = Cluster(place, token, listener, plan.get("env", {}))
    head = cluster.start([NodePlan(**node) for node in plan["nodes"]])
    _answer(
        {
            "address": f"ray://127.0.0.1:{listener.getsockname()[1]}",
            "inside": f"ray://{head}:{CLIENT_PORT}",
            "token_file": str(folder / TOKEN_FILE),
            "enter": enter,
            "nodes": cluster.described(),
        }
    )
    for line in orders:
        try:
            _answer(cluster.obey(json.loads(line)))
        except Exception as error:
            _answer({"error": f"{type(error).__name__}: {error}"})
    # The end of the first process of a tree is that of all.
    os._exit(0)


def _write_token(folder: Path, place: Path) -> Path:
    """The caller's file, and one of the nodes', which cannot see every folder of the caller's."""
    token = secrets.token_hex(32)
    for path in (folder / TOKEN_FILE, place / TOKEN_FILE):
        path.touch(0o600)
        path.write_text(token)
    return place / TOKEN_FILE


def _lines() -> Iterator[str]:
    """Those of stdin. While none comes, what was started and has ended is waited for, as the first process has to."""
    text = b""
    while True:
        while b"\n" in text:
            line, _, text = text.partition(b"\n")
            yield line.decode()
        reap()
        if select.select([0], [], [], 0.2)[0]:
            more = os.read(0, 1 << 16)
            if not more:
                return
            text += more


def _answer(answer: _Answer) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    if arguments[0] == "enter":
        namespaces.enter(int(arguments[1]))
        os.execvp(arguments[2], arguments[2:])
    try:
        serve(Path(arguments[1]).resolve())
    except Exception as error:
        _answer({"error": f"{type(error).__name__}: {error}"})
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
