"""How the gateway gets its session: what has to protect the cluster, and whether the cluster lets this machine in."""

import os
import re
import socket
import time
from pathlib import Path
from typing import Any

from mucast_engine.cluster.address import Address, require_protection, require_token, resolved
from mucast_engine.cluster.credentials import CERTIFICATES, find_token, require_certificates, uses_tls
from mucast_engine.cluster.fault import ClusterError, unavailable
from mucast_engine.cluster.inspection import PLACEMENT_SECONDS
from mucast_engine.cluster.session import Session

# How long a cluster may take to answer at first.
REACHABLE_SECONDS = 30.0
# How long the cluster keeps the tasks of a gateway that it lost sight of: a short cut of the network loses nothing, and
# those of one that was killed end soon.
GRACE_SECONDS = 10
ANSWER_SECONDS = 5.0
ASK_AGAIN_SECONDS = 0.5


class Patience:
    """How long the cluster may take until it answers."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self._end

    def wait(self) -> None:
        time.sleep(ASK_AGAIN_SECONDS)


def connect(address: Address, insecure: bool, *, returns: bool = False) -> Session:
    """A session with the cluster at `address`. Blocks; raises ClusterError where it cannot be used.

    `returns`: a job has computed there before, so that its head is rather waited for than given up.
    """
    patience = Patience(PLACEMENT_SECONDS if returns else REACHABLE_SECONDS)
    has_tls = uses_tls()
    if has_tls:
        require_certificates()
    token = None if insecure else find_token()
    if not insecure:
        require_token(address, has_token=token is not None)
    place = _locate(address, patience, has_tls=has_tls, insecure=insecure)
    # Read when Ray is imported.
    os.environ["RAY_AUTH_MODE"] = "disabled" if insecure else "token"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    os.environ["RAY_CLIENT_RECONNECT_GRACE_PERIOD"] = str(GRACE_SECONDS)
    import ray

    if token is not None:
        _require_token_check(address, place, token, patience)
    _join(ray, address, place, patience, returns=returns)
    return Session(ray)


def _locate(address: Address, patience: Patience, *, has_tls: bool, insecure: bool) -> Address:
    """Where to connect. Without TLS that is an address which was judged: a name may lead elsewhere a moment later."""
    while True:
        found = resolved(address.host)
        if found:
            require_protection(address, found, has_tls=has_tls, insecure=insecure)
            if has_tls:
                return address  # Its certificate shows who answers.
            places = [Address(str(one), address.port) for one in found]
            for place in places:
                if _takes_connections(place):
                    return place
        if patience.is_over:
            raise unavailable(_unreachable(address, patience, "" if found else "no name server knows its name"))
        patience.wait()


def _takes_connections(place: Address) -> bool:
    try:
        socket.create_connection(place, ANSWER_SECONDS).close()
    except OSError:
        return False
    return True


def _require_token_check(address: Address, place: Address, token: str, patience: Patience) -> None:
    """Pings without the token first: a cluster that answers is open to everyone, and does not get the token."""
    with _channel(place) as channel:
        if _is_let_in(channel, address, patience):
            raise unavailable(
                f"{address} takes commands without a token: start the cluster with RAY_AUTH_MODE=token, or give "
                "--engine-insecure where it is on loopback"
            )
        if not _is_let_in(channel, address, patience, token):
            raise _wrong_token(address)


# Ray's client server answers a ClusterInfoRequest of type PING; bytes, since Ray's stubs are private.
PING, PING_REQUEST = "/ray.rpc.RayletDriver/ClusterInfo", b"\x08\x06"


def _is_let_in(channel: Any, address: Address, patience: Patience, token: str | None = None) -> bool:
    """Pings until there is an answer of Ray's client server itself. Raises ClusterError if none comes in time."""
    import grpc

    ping = channel.unary_unary(PING)
    metadata = [] if token is None else [("authorization", f"Bearer {token}")]
    while True:
        try:
            ping(PING_REQUEST, timeout=ANSWER_SECONDS, metadata=metadata)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNAUTHENTICATED:
                return False
            if patience.is_over:
                raise unavailable(_unreachable(address, patience, str(error.details() or ""))) from None
            patience.wait()
        else:
            return True


def _wrong_token(address: Address) -> ClusterError:
    return unavailable(f"{address} refuses the token: it is not the one that the cluster was started with")


def _channel(place: Address) -> Any:
    import grpc

    if not uses_tls():
        return grpc.insecure_channel(place.target)
    chain, key, authority = (Path(os.environ[name]).read_bytes() for name in CERTIFICATES)
    credentials = grpc.ssl_channel_credentials(certificate_chain=chain, private_key=key, root_certificates=authority)
    return grpc.secure_channel(place.target, credentials)


def _unreachable(address: Address, patience: Patience, said: str) -> str:
    last = said.split(";")[-1].strip()
    return f"{address} does not answer as Ray's client server does, within {patience.seconds:.0f} s" + (
        f": {last}" if last else ""
    )


# gRPC's handlers of a fork can crash the server process that the head starts for a client, before it is one
# (https://github.com/grpc/grpc/issues/43055): one in twenty where the head has no GRPC_ENABLE_FORK_SUPPORT=0.
# Ray's words where it has ended before the head could reach it, and after.
SERVER_CRASHED = ("Starting Ray client server failed", "Proxy failed to Connect to backend")
JOIN_ATTEMPTS = 3


def _join(ray: Any, address: Address, place: Address, patience: Patience, *, returns: bool = False) -> None:
    attempts = 0
    while True:
        attempts += 1
        try:
            ray.init(str(place), log_to_driver=False, logging_level="ERROR", namespace="mucast")
            return
        except ray.exceptions.AuthenticationError:
            raise _wrong_token(address) from None
        except (ConnectionError, RuntimeError, OSError) as error:
            said = str(error)
            # A head that has just started takes a while until all of it is there.
            may_be_early = returns and VERSIONS_DIFFER not in said and not patience.is_over
            has_crashed = any(words in said for words in SERVER_CRASHED)
            if not may_be_early and (not has_crashed or attempts == JOIN_ATTEMPTS):
                raise _refusal(address, said) from None
            patience.wait()


# Ray's words for another Ray or Python than the cluster's.
VERSIONS_DIFFER = "Version mismatch"


def _refusal(address: Address, said: str) -> ClusterError:
    if "UNAUTHENTICATED" in said or "authentication token" in said.lower():
        return _wrong_token(address)
    if VERSIONS_DIFFER in said:
        return unavailable(f"{address} runs other versions: {' '.join(said.split())[:400]}")
    return unavailable(f"{address} does not let this machine in: {_last_words(said)}")


def _last_words(said: str) -> str:
    """Of a traceback, which the head sends as it is, what its exception says."""
    _, _, trace = said.rpartition("Traceback (most recent call last):")
    exception = re.search(r"^[A-Za-z_][\w.]*: (.*)\Z", trace, re.MULTILINE | re.DOTALL) if trace != said else None
    return " ".join((exception[1] if exception else said).split())[:400]
