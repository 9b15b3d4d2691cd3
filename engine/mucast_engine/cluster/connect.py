"""The connection to a cluster: what has to protect it, and whether the cluster admits this machine."""

import ipaddress
import os
import re
import socket
import time
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

# Codes of the caller's errors.
FaultCode = Literal["engine_unavailable", "engine_crashed"]


class ClusterError(Exception):
    """The cluster cannot be used; the caller shows code, message and data to the user. None contains a token."""

    def __init__(self, message: str, code: FaultCode = "engine_unavailable", **data: Any) -> None:
        super().__init__(message)
        self.message, self.code, self.data = message, code, data


class UnreachableError(Exception):
    """The cluster does not answer, or not yet; the message says why, and may be empty."""


# Pauses between attempts, and the time limit of each question.
AGAIN_SECONDS = 0.5
ANSWER_SECONDS = 5.0
CERTIFICATES = ("RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")
# In bytes. It is part of one header, and gRPC accepts headers of 8 KiB for sure.
MAX_TOKEN_LENGTH = 4_096
# The cluster keeps the tasks of a gateway that it lost for so long: a short cut of the network loses nothing, and the
# tasks of a gateway that was killed end soon.
GRACE_SECONDS = 10

Place = tuple[str, int]


def connect(url: str, insecure: bool, seconds: float) -> Any:
    """Connects to the cluster at `url` and returns the module `ray`; the cluster may take `seconds` to answer.

    `insecure` allows a cluster without a token on loopback. Blocks. Raises ClusterError if the cluster cannot be used.
    """
    parts = urlsplit(url)
    address = (parts.hostname or "", parts.port or 10001)
    token = None if insecure else find_token(url)
    # Ray reads these when it is imported.
    os.environ["RAY_AUTH_MODE"] = "disabled" if insecure else "token"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    os.environ["RAY_CLIENT_RECONNECT_GRACE_PERIOD"] = str(GRACE_SECONDS)
    until = time.monotonic() + seconds
    while True:
        try:
            place = locate(url, address, insecure)
            require_token_check(url, place, token)
            return _join(url, place)
        except UnreachableError as error:
            if time.monotonic() > until:
                why = f": {error}" if str(error) else ""
                message = f"{url} does not answer as Ray's client server does, within {seconds:.0f} s{why}"
                raise ClusterError(message) from None
            time.sleep(AGAIN_SECONDS)


def uses_tls() -> bool:
    """As Ray reads it."""
    return os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true")


def find_token(url: str) -> str:
    """The token, from where Ray reads it. Raises ClusterError, which does not show it, if there is none."""
    source, text = "RAY_AUTH_TOKEN", os.environb.get(b"RAY_AUTH_TOKEN", b"").strip()
    if not text:
        path = os.environ.get("RAY_AUTH_TOKEN_PATH")
        source = "RAY_AUTH_TOKEN_PATH" if path else "~/.ray/auth_token"
        try:
            text = (Path(path) if path else Path.home() / ".ray" / "auth_token").read_bytes().strip()
        except OSError as error:
            raise ClusterError(
                f"there is no token for {url} ({source}: {error.strerror}): set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH "
                "to a file with the token that the cluster was started with (RAY_AUTH_MODE=token)"
            ) from None
    if not re.fullmatch(rb"[!-~]{1,%d}" % MAX_TOKEN_LENGTH, text):
        raise ClusterError(
            f"{source} has no token: that is one line of at most {MAX_TOKEN_LENGTH:,} printable ASCII characters "
            "without a space, such as `openssl rand -hex 32` prints",
            variable=source,
        )
    return text.decode()


def locate(url: str, address: Place, insecure: bool) -> Place:
    """The place to connect to; without TLS, an address that was judged, since a name may lead elsewhere a moment later.

    Raises ClusterError if the token could be read on its way, or if an `insecure` cluster is not on loopback: Ray runs
    the code of everybody who reaches it. Raises UnreachableError.
    """
    host, port = address
    try:
        found = {
            str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        }
    except (OSError, UnicodeError):
        raise UnreachableError("no name server knows its name") from None
    addresses = [ipaddress.ip_address(one) for one in sorted(found)]
    if insecure and not all(one.is_loopback for one in addresses):
        raise ClusterError(
            f"--engine-insecure is for a cluster on loopback alone, and {url} is elsewhere: a cluster without a token "
            "runs the code of all that reach it. Start it with RAY_AUTH_MODE=token, and set RAY_AUTH_TOKEN or "
            "RAY_AUTH_TOKEN_PATH here"
        )
    if uses_tls():
        return address  # Its certificate shows who answers.
    if any(one.is_global for one in addresses):
        raise ClusterError(
            f"{url} is no private address, and the token would go there in plain text: set RAY_USE_TLS=1 with "
            "RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY and RAY_TLS_CA_CERT, as on the cluster"
        )
    for one in addresses:
        try:
            socket.create_connection((str(one), port), ANSWER_SECONDS).close()
        except OSError:
            continue
        return str(one), port
    raise UnreachableError("it accepts no connection")


def require_token_check(url: str, place: Place, token: str | None) -> None:
    """Asks without the token first: a cluster that answers is open to everyone, and does not get the token."""
    with _channel(place) as channel:
        is_open = _answers(channel, [])
        if is_open and token is not None:
            raise ClusterError(
                f"{url} takes commands without a token: start the cluster with RAY_AUTH_MODE=token, or give "
                "--engine-insecure if it is on loopback"
            )
        if not is_open and token is None:
            raise ClusterError(f"{url} wants a token, and --engine-insecure sends none")
        if not is_open and not _answers(channel, [("authorization", f"Bearer {token}")]):
            raise ClusterError(f"{url} refuses the token: it is not the one that the cluster was started with")


def _channel(place: Place) -> Any:
    import grpc

    if not uses_tls():
        return grpc.insecure_channel(_target(place))
    chain, key, authority = (read_certificate(name) for name in CERTIFICATES)
    credentials = grpc.ssl_channel_credentials(certificate_chain=chain, private_key=key, root_certificates=authority)
    return grpc.secure_channel(_target(place), credentials)


def read_certificate(name: str) -> bytes:
    try:
        return Path(os.environ[name]).read_bytes()
    except (KeyError, OSError) as error:
        why = "is not set" if isinstance(error, KeyError) else f"names no readable file: {error.strerror}"
        raise ClusterError(f"RAY_USE_TLS=1 needs {', '.join(CERTIFICATES)}, and {name} {why}", variable=name) from None


def _target(place: Place) -> str:
    host, port = place
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _answers(channel: Any, metadata: list[tuple[str, str]]) -> bool:
    """Whether Ray's client server answers a ClusterInfoRequest of type PING (as bytes: Ray's stubs are private)."""
    import grpc

    try:
        channel.unary_unary("/ray.rpc.RayletDriver/ClusterInfo")(b"\x08\x06", timeout=ANSWER_SECONDS, metadata=metadata)
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAUTHENTICATED:
            return False
        raise UnreachableError(str(error.details() or "").split(";")[-1].strip()) from None
    return True


def _join(url: str, place: Place) -> Any:
    """Most failures are tried again: a head that has just started takes a while, and without GRPC_ENABLE_FORK_SUPPORT=0
    the server process that it starts for a client sometimes crashes (https://github.com/grpc/grpc/issues/43055).
    """
    import ray

    try:
        ray.init(f"ray://{_target(place)}", log_to_driver=False, logging_level="ERROR", namespace="mucast")
    except (ConnectionError, RuntimeError, OSError) as error:
        if "Version mismatch" in str(error):
            raise ClusterError(f"{url} runs other versions: {' '.join(str(error).split())[:400]}") from None
        # The head sends tracebacks; the last line is what the exception says.
        raise UnreachableError(str(error).strip().split("\n")[-1][:400]) from None
    return ray
