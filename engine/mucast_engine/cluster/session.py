"""The gateway's connection to a cluster through Ray's client: the one module that calls Ray on this side.

Ray's calls count as untyped here, and no type of theirs leaves it.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mucast_engine.cluster.address import Address, require_protection
from mucast_engine.cluster.fault import ClusterError, ConnectionLostError, unavailable

# How long a cluster may take to answer at first: one whose head was lost starts again within it.
REACHABLE_SECONDS = 30.0
# How long the cluster keeps the tasks of a gateway that it lost sight of: a short cut of the network loses nothing, and
# those of one that was killed end soon.
GRACE_SECONDS = 10

# Seconds that a node's first inspection may take: it starts Python twice and imports the libraries.
INSPECTION_SECONDS = 120.0


class Session:
    """Calls that can block say so; the others return at once. Callbacks run on a thread of Ray's."""

    def __init__(self, ray: Any) -> None:
        from ray import cloudpickle

        from mucast_engine.cluster import node, relay

        for module in (node, relay):
            cloudpickle.register_pickle_by_value(module)
        self._ray = ray
        self._run_task = ray.remote(max_retries=0)(node.run_task)
        self._inspect = ray.remote(max_retries=0, num_cpus=0)(node.inspect_node)
        self._relay_class = ray.remote(num_cpus=0)(relay.Relay)
        self._relay: Any = None
        self.version: str = ray.__version__

    def nodes(self) -> list[dict[str, Any]]:
        """Ray's own rows, dead nodes too. Blocks for a round trip."""
        rows: list[dict[str, Any]] = self._ray.nodes()
        return rows

    def start_relay(self, head: str) -> None:
        """On the head: where that is lost, so is the cluster."""
        strategy = self._on_node(head)
        self._relay = self._relay_class.options(scheduling_strategy=strategy).remote()

    def poll(self, seconds: float, done: Callable[[Any], None]) -> None:
        """Hands `done` what tasks have told, or the exception of a lost relay. Blocks until Ray has taken the call."""
        self.watch(self._relay.poll.remote(seconds), done)

    def reaches(self, address: str, port: int, done: Callable[[Any], None]) -> None:
        """Hands `done` whether the head can connect to that port. Blocks until Ray has taken the call."""
        self.watch(self._relay.reaches.remote(address, port), done)

    def inspect(self, node: str, spec: dict[str, Any], done: Callable[[Any], None]) -> None:
        """Hands `done` what `inspect_node` returns on `node`. Blocks until Ray has taken the call."""
        self.watch(self._inspect.options(scheduling_strategy=self._on_node(node)).remote(spec), done)

    def put(self, array: Any) -> Any:
        """A reference to a copy of `array` in the cluster, which lives as long as the reference. Blocks."""
        return self._ray.put(array)

    def run(self, request: dict[str, Any], values: list[Any], cpus: float, gpus: float, avoid: list[str]) -> Any:
        """Starts `run_task` with the references `values` on no node of `avoid`."""
        options: dict[str, Any] = {"num_cpus": cpus, "name": f"mucast {request['key']}"}
        if gpus:
            options["num_gpus"] = gpus
        if avoid:
            options["label_selector"] = {"ray.io/node-id": f"!in({','.join(avoid)})"}
        return self._run_task.options(**options).remote(request, self._relay, *values)

    def watch(self, task: Any, done: Callable[[Any], None]) -> None:
        """Hands `done` the answer, or the exception, and keeps `task` until then. Blocks until Ray has taken it."""
        kept = [task]

        def complete(answer: Any) -> None:
            kept.clear()
            done(answer)

        task._on_completed(complete)

    def cancel(self, task: Any) -> None:
        """Has the process of the task killed; its exception says when that is done. Blocks for a round trip."""
        self._ray.cancel(task, force=True, recursive=False)

    def close(self) -> None:
        """Leaves, and the cluster ends what this session has there. Blocks."""
        self._ray.shutdown()

    def _on_node(self, node: str) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(node_id=node, soft=False)


def connect(address: Address, insecure: bool) -> Session:
    """A session with the cluster at `address`. Blocks; raises ClusterError where it cannot be used."""
    has_tls = os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true")
    require_protection(address, has_token=_has_token(), has_tls=has_tls, insecure=insecure)
    # Read when Ray is imported.
    os.environ["RAY_AUTH_MODE"] = "disabled" if insecure else "token"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    os.environ["RAY_CLIENT_RECONNECT_GRACE_PERIOD"] = str(GRACE_SECONDS)
    import ray

    if not insecure:
        _require_closed_door(address)
        _require_accepted_token(address)
    _join(ray, address)
    return Session(ray)


def _has_token() -> bool:
    """Whether there is one, where Ray looks for it; it is not read here."""
    if os.environ.get("RAY_AUTH_TOKEN", "").strip():
        return True
    named = os.environ.get("RAY_AUTH_TOKEN_PATH")
    return (Path(named) if named else Path.home() / ".ray" / "auth_token").is_file()


def _require_closed_door(address: Address) -> None:
    """Asks for an answer without a token: a cluster that gives one is open to all, and gets no token from here."""
    import grpc

    deadline = time.monotonic() + REACHABLE_SECONDS
    with _bare_channel(address) as channel:
        while True:
            try:
                _ping(channel)
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.UNAUTHENTICATED:
                    return
                if time.monotonic() > deadline:
                    raise unavailable(_unreachable(address, error)) from None
                time.sleep(0.5)
            else:
                raise unavailable(
                    f"{address} takes commands without a token: start the cluster with RAY_AUTH_MODE=token, or give "
                    "--engine-insecure where it is on loopback"
                )


def _require_accepted_token(address: Address) -> None:
    import grpc
    from ray._private.grpc_utils import init_grpc_channel

    channel = init_grpc_channel(address.target)  # It adds the token.
    try:
        _ping(channel)
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAUTHENTICATED:
            raise _wrong_token(address) from None
        raise unavailable(_unreachable(address, error)) from None
    finally:
        channel.close()


def _ping(channel: Any) -> None:
    """Answered by Ray's client server itself."""
    from ray.core.generated import ray_client_pb2, ray_client_pb2_grpc

    request = ray_client_pb2.ClusterInfoRequest(type=ray_client_pb2.ClusterInfoType.PING)
    ray_client_pb2_grpc.RayletDriverStub(channel).ClusterInfo(request, timeout=5)


def _wrong_token(address: Address) -> ClusterError:
    return unavailable(f"{address} refuses the token: it is not the one that the cluster was started with")


def _bare_channel(address: Address) -> Any:
    import grpc
    from ray._common.tls_utils import load_certs_from_env

    if os.environ.get("RAY_USE_TLS", "0").lower() not in ("1", "true"):
        return grpc.insecure_channel(address.target)
    chain, key, authority = load_certs_from_env()
    credentials = grpc.ssl_channel_credentials(certificate_chain=chain, private_key=key, root_certificates=authority)
    return grpc.secure_channel(address.target, credentials)


def _unreachable(address: Address, error: Any) -> str:
    said = str(error.details() or "").split(";")[-1].strip()
    return f"{address} does not answer as Ray's client server does, within {REACHABLE_SECONDS:.0f} s" + (
        f": {said}" if said else ""
    )


# gRPC's handlers of a fork can crash the server process that the head starts for a client, before it is one
# (https://github.com/grpc/grpc/issues/43055): one in twenty where the head has no GRPC_ENABLE_FORK_SUPPORT=0.
SERVER_CRASHED = "Starting Ray client server failed"
JOIN_ATTEMPTS = 3


def _join(ray: Any, address: Address) -> None:
    for attempt in range(1, JOIN_ATTEMPTS + 1):
        try:
            ray.init(str(address), log_to_driver=False, logging_level="ERROR", namespace="mucast")
            return
        except ray.exceptions.AuthenticationError:
            raise _wrong_token(address) from None
        except (ConnectionError, RuntimeError, OSError) as error:
            if SERVER_CRASHED not in str(error) or attempt == JOIN_ATTEMPTS:
                raise _refusal(address, str(error)) from None


def _refusal(address: Address, said: str) -> ClusterError:
    if "UNAUTHENTICATED" in said or "authentication token" in said.lower():
        return _wrong_token(address)
    if "Version mismatch" in said or "version" in said.lower():
        return unavailable(f"{address} runs other versions: {' '.join(said.split())[:400]}")
    return unavailable(f"{address} does not let this machine in: {' '.join(said.split())[:400]}")


def lost(error: object) -> ConnectionLostError:
    return ConnectionLostError(" ".join(str(error).split())[:400])
