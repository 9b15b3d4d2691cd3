"""What has to be there before a token leaves this machine."""

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from mucast_engine.cluster import connect
from mucast_engine.cluster.connect import CERTIFICATES, ClusterError, UnreachableError, locate

URL = "ray://head.example:10001"
PLACE = ("head.example", 10001)
TOKEN = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*CERTIFICATES, "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_USE_TLS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def lead_to(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A fake name server, in a fake network in which every address accepts connections but 10.0.0.6."""

    def create_connection(place: tuple[str, int], _: float) -> socket.socket:
        if place[0] == "10.0.0.6":
            raise OSError
        return socket.socket()

    def lead(*addresses: str) -> None:
        def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
            if not addresses:
                raise socket.gaierror
            return [(0, 0, 0, "", (one, 0)) for one in addresses]

        monkeypatch.setattr(connect.socket, "getaddrinfo", getaddrinfo)

    monkeypatch.setattr(connect.socket, "create_connection", create_connection)
    return lead


def test_a_private_address_is_connected_to_and_not_its_name(lead_to: Callable[..., None]) -> None:
    for address in ("10.0.0.1", "192.168.1.1", "172.16.0.1", "fd00::1", "100.64.0.1"):
        lead_to("10.0.0.6", address)
        assert locate(URL, PLACE, False) == (address, 10001)
    for addresses in ([], ["10.0.0.6"]):  # A head that does not listen may come later.
        lead_to(*addresses)
        with pytest.raises(UnreachableError):
            locate(URL, PLACE, False)


def test_a_public_address_requires_tls(lead_to: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    lead_to("10.0.0.1", "8.8.8.8")
    with pytest.raises(ClusterError, match="RAY_USE_TLS=1"):
        locate(URL, PLACE, False)
    monkeypatch.setenv("RAY_USE_TLS", "1")
    assert locate(URL, PLACE, False) == PLACE


def test_insecure_is_for_loopback_alone(lead_to: Callable[..., None]) -> None:
    lead_to("127.0.0.1", "::1")
    assert locate(URL, PLACE, True) == ("127.0.0.1", 10001)
    lead_to("127.0.0.1", "10.0.0.1")
    with pytest.raises(ClusterError, match="--engine-insecure is for a cluster on loopback"):
        locate(URL, PLACE, True)


class Head:
    """A fake of Ray's client server: it answers who has `token`, or everyone."""

    def __init__(self, token: str | None) -> None:
        self.seen: list[str | None] = []
        self._token = token
        self.server = grpc.server(ThreadPoolExecutor(1))
        method = grpc.unary_unary_rpc_method_handler(self._answer)
        handlers = grpc.method_handlers_generic_handler("ray.rpc.RayletDriver", {"ClusterInfo": method})
        self.server.add_generic_rpc_handlers((handlers,))
        self.place = ("127.0.0.1", self.server.add_insecure_port("127.0.0.1:0"))
        self.server.start()

    def _answer(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self.seen.append(dict(context.invocation_metadata()).get("authorization"))
        if self._token is not None and self.seen[-1] != f"Bearer {self._token}":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "no")
        return b""


@pytest.fixture
def heads() -> Iterator[tuple[Head, Head]]:
    started = (Head(None), Head(TOKEN))
    yield started
    for head in started:
        head.server.stop(None)


def test_a_cluster_that_is_open_to_all_does_not_get_the_token(heads: tuple[Head, Head]) -> None:
    is_open, guarded = heads
    with pytest.raises(ClusterError, match="takes commands without a token"):
        connect.require_token_check(URL, is_open.place, TOKEN)
    assert is_open.seen == [None]
    connect.require_token_check(URL, is_open.place, None)
    connect.require_token_check(URL, guarded.place, TOKEN)
    with pytest.raises(ClusterError, match="refuses the token"):
        connect.require_token_check(URL, guarded.place, "another")
    with pytest.raises(ClusterError, match="wants a token"):
        connect.require_token_check(URL, guarded.place, None)


def test_a_cluster_that_does_not_answer_is_asked_until_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def is_away(*_: Any) -> Any:
        asked.append("")
        raise UnreachableError("it is busy")

    monkeypatch.setattr(connect, "locate", is_away)
    monkeypatch.setattr(connect, "AGAIN_SECONDS", 0.01)
    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
    with pytest.raises(ClusterError, match="does not answer as Ray's client server does, within 0 s: it is busy"):
        connect.connect(URL, False, 0.1)
    assert len(asked) > 1


def test_a_token_comes_from_where_ray_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ClusterError, match="set RAY_AUTH_TOKEN"):
        connect.find_token(URL)
    own, named = tmp_path / ".ray" / "auth_token", tmp_path / "token"
    own.parent.mkdir()
    own.write_text("own\n")
    assert connect.find_token(URL) == "own"
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(named))
    with pytest.raises(ClusterError, match=r"there is no token .*\(RAY_AUTH_TOKEN_PATH: No such file"):
        connect.find_token(URL)
    named.write_text("named\n")
    assert connect.find_token(URL) == "named"
    monkeypatch.setenv("RAY_AUTH_TOKEN", " given ")
    assert connect.find_token(URL) == "given"


@pytest.mark.parametrize("text", [b"secret\nsecret", b"secret secret", b"\xffsecret", b"secret" * 1_000])
def test_what_no_cluster_can_have_as_a_token_is_refused_without_showing_it(
    text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", os.fsdecode(text))
    with pytest.raises(ClusterError, match="RAY_AUTH_TOKEN has no token") as raised:
        connect.find_token(URL)
    assert "cret" not in str(raised.value)


def test_a_certificate_that_cannot_be_read_is_reported_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match="RAY_TLS_CA_CERT is not set"):
        connect.read_certificate("RAY_TLS_CA_CERT")
    monkeypatch.setenv("RAY_TLS_CA_CERT", "/missing")
    with pytest.raises(ClusterError, match="RAY_TLS_CA_CERT names no readable file: No such file"):
        connect.read_certificate("RAY_TLS_CA_CERT")
