"""The address of a cluster, and whether what protects it is enough for where it lies."""

import ipaddress
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from mucast_engine.cluster.fault import unavailable


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"ray://{host}:{self.port}"

    @property
    def target(self) -> str:
        """As gRPC names it."""
        return str(self).removeprefix("ray://")


# Of Ray's client server.
DEFAULT_PORT = 10001


def parse_address(text: str) -> Address:
    """Raises ClusterError where `text` is no `ray://host[:port]`."""
    try:
        parts = urlsplit(text)
        port = parts.port or DEFAULT_PORT
    except ValueError:
        parts, port = urlsplit(""), DEFAULT_PORT
    extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password
    if parts.scheme != "ray" or not parts.hostname or extra:
        raise unavailable("the engine's address must be ray://host:port, such as ray://10.0.0.1:10001")
    return Address(parts.hostname, port)


IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def resolved(host: str) -> list[IpAddress]:
    """The addresses that a name stands for, the one to be preferred first; none where no name server knows it."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # The second for what can be no name: an empty part of one, or a long one.
        return []
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


def require_token(address: Address, *, has_token: bool) -> None:
    """Raises ClusterError where there is none."""
    if not has_token:
        raise unavailable(
            f"there is no token for {address}: set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to a file with the token "
            "that the cluster was started with (RAY_AUTH_MODE=token)"
        )


def require_protection(address: Address, found: list[IpAddress], *, has_tls: bool, insecure: bool) -> None:
    """Raises ClusterError unless TLS protects the token where others could read it; `found` is where the name leads.

    `insecure` allows a cluster without both, on loopback alone: Ray runs the code of everybody who reaches it.
    """
    if insecure:
        if not all(one.is_loopback for one in found):
            raise unavailable(
                f"--engine-insecure is for a cluster on loopback alone, and {address} is elsewhere: a cluster without "
                "a token runs the code of all that reach it. Start it with RAY_AUTH_MODE=token, and set RAY_AUTH_TOKEN "
                "or RAY_AUTH_TOKEN_PATH here"
            )
        return
    if any(one.is_global for one in found) and not has_tls:
        raise unavailable(
            f"{address} is no private address, and the token would go there in the clear: set RAY_USE_TLS=1 with "
            "RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY and RAY_TLS_CA_CERT, as on the cluster"
        )
