"""How a gateway gets its session: what it does before a token leaves this machine, and how long it is patient."""

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from mucast_engine.cluster import address, connect
from mucast_engine.cluster.address import Address
from mucast_engine.cluster.connect import JOIN_ATTEMPTS, SERVER_CRASHED, Patience, _join
from mucast_engine.cluster.credentials import CERTIFICATES, MAX_TOKEN_LENGTH, TOKEN, TOKEN_FILE
from mucast_engine.cluster.fault import ClusterError

ADDRESS = Address("10.0.0.1", 10001)
HEAD = Address("head.example", 10001)


class FakeRay:
    """Refuses so many connections in words of Ray's."""

    def __init__(self, refusals: int, words: str) -> None:
        self.asked = 0
        self._refusals, self._words = refusals, words

    exceptions = SimpleNamespace(AuthenticationError=PermissionError)

    def init(self, *_: Any, **__: Any) -> None:
        self.asked += 1
        if self.asked <= self._refusals:
            raise ConnectionAbortedError(f"Initialization failure from server: RuntimeError: {self._words}.")


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "ASK_AGAIN_SECONDS", 0.0)


@pytest.mark.parametrize("words", SERVER_CRASHED)
def test_a_server_process_that_crashes_at_its_start_is_asked_for_again(words: str) -> None:
    ray = FakeRay(JOIN_ATTEMPTS - 1, words)
    _join(ray, ADDRESS, ADDRESS, Patience(30.0))
    assert ray.asked == JOIN_ATTEMPTS


def test_one_that_always_crashes_is_an_unusable_cluster_and_another_refusal_is_final() -> None:
    for ray, asked in [(FakeRay(9, SERVER_CRASHED[0]), JOIN_ATTEMPTS), (FakeRay(9, "no more ports"), 1)]:
        with pytest.raises(ClusterError, match="does not let this machine in"):
            _join(ray, ADDRESS, ADDRESS, Patience(30.0))
        assert ray.asked == asked


def test_of_a_traceback_of_the_head_the_user_gets_what_its_exception_says() -> None:
    trace = (
        'Traceback (most recent call last):\n  File "/ray/proxier.py", line 780, in Datapath\n    raise RuntimeError('
    )
    ray = FakeRay(9, f"{trace}\nRuntimeError: no more\nports")
    with pytest.raises(ClusterError) as raised:
        _join(ray, ADDRESS, ADDRESS, Patience(30.0))
    assert raised.value.message == "ray://10.0.0.1:10001 does not let this machine in: no more ports."


def test_a_job_that_comes_back_waits_for_a_head_that_is_starting() -> None:
    ray = FakeRay(9, "the GCS is not there yet")
    _join(ray, ADDRESS, ADDRESS, Patience(600.0), returns=True)
    assert ray.asked == 10
    with pytest.raises(ClusterError, match="the GCS is not there"):
        _join(FakeRay(9, "the GCS is not there yet"), ADDRESS, ADDRESS, Patience(0.0), returns=True)
    with pytest.raises(ClusterError, match="runs other versions"):
        _join(FakeRay(9, "Version mismatch: Ray 2.59"), ADDRESS, ADDRESS, Patience(600.0), returns=True)


def test_only_rays_own_words_are_taken_for_other_versions() -> None:
    with pytest.raises(ClusterError, match="runs other versions"):
        _join(
            FakeRay(1, "Version mismatch: The cluster was started with: Ray: 2.59.0"), ADDRESS, ADDRESS, Patience(30.0)
        )
    with pytest.raises(ClusterError, match="does not let this machine in"):
        _join(FakeRay(1, "a conversion failed in /usr/lib/versions"), ADDRESS, ADDRESS, Patience(30.0))


# Where a name leads, one answer after the other; the last one stays.
Names = Callable[..., list[str]]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """A fake name server; connections are taken by 10.0.0.7 alone."""

    def lead(*answers: list[str]) -> list[str]:
        asked: list[str] = []

        def getaddrinfo(host: str, *_: Any, **__: Any) -> list[Any]:
            asked.append(host)
            found = answers[min(len(asked), len(answers)) - 1]
            if not found:
                raise socket.gaierror("Temporary failure in name resolution")
            return [(0, 0, 0, "", (one, 0)) for one in found]

        monkeypatch.setattr(address.socket, "getaddrinfo", getaddrinfo)
        return asked

    monkeypatch.setattr(connect, "_takes_connections", lambda place: place.host == "10.0.0.7")
    return lead


def locate(seconds: float = 30.0, *, has_tls: bool = False) -> Address:
    return connect._locate(HEAD, Patience(seconds), has_tls=has_tls, insecure=False)


def test_no_token_goes_to_a_name_that_is_not_known(names: Names) -> None:
    names([])
    with pytest.raises(ClusterError, match="no name server knows its name") as raised:
        locate(0.0)
    assert raised.value.code == "engine_unavailable"


def test_a_name_server_that_fails_for_a_moment_is_asked_again_and_what_it_says_is_judged(names: Names) -> None:
    asked = names([], ["8.8.8.8"])
    with pytest.raises(ClusterError, match="RAY_USE_TLS=1"):
        locate()
    assert len(asked) == 2
    names([], ["10.0.0.7"])
    assert locate() == Address("10.0.0.7", 10001)


def test_without_tls_the_address_that_was_judged_is_connected_to_and_not_the_name(names: Names) -> None:
    names(["10.0.0.6", "10.0.0.7"])
    assert locate() == Address("10.0.0.7", 10001)
    names(["10.0.0.7", "8.8.8.8"])
    with pytest.raises(ClusterError, match="is no private address"):
        locate()
    assert locate(has_tls=True) == HEAD


class SlowServer:
    """Answers a ping as Ray's client server does, at first too late."""

    def __init__(self, late: int) -> None:
        self.asked = 0
        self._late = late
        self._server = grpc.server(ThreadPoolExecutor(1))
        method = grpc.unary_unary_rpc_method_handler(self._answer)
        handlers = grpc.method_handlers_generic_handler("ray.rpc.RayletDriver", {"ClusterInfo": method})
        self._server.add_generic_rpc_handlers((handlers,))
        self.target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def _answer(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self.asked += 1
        if self.asked <= self._late:
            context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "it is busy")
        return b""

    def stop(self) -> None:
        self._server.stop(None)


@pytest.fixture
def slow_server() -> Iterator[SlowServer]:
    server = SlowServer(2)
    yield server
    server.stop()


def test_a_head_that_answers_too_late_at_first_is_asked_again(slow_server: SlowServer) -> None:
    with grpc.insecure_channel(slow_server.target) as channel:
        assert connect._is_let_in(channel, ADDRESS, Patience(60.0))
    assert slow_server.asked == 3


def test_a_head_that_does_not_answer_in_time_is_told_with_its_words(slow_server: SlowServer) -> None:
    with (
        grpc.insecure_channel(slow_server.target) as channel,
        pytest.raises(ClusterError, match="does not answer as Ray's client server does, within 0 s: it is busy"),
    ):
        connect._is_let_in(channel, ADDRESS, Patience(0.0))


def refusal(monkeypatch: pytest.MonkeyPatch, **variables: str) -> ClusterError:
    for name in (*CERTIFICATES, TOKEN_FILE, TOKEN, "RAY_USE_TLS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ClusterError) as raised:
        connect.connect(Address("127.0.0.1", 1), insecure=False)
    assert raised.value.code == "engine_unavailable"
    return raised.value


def test_a_file_that_cannot_be_read_is_told_by_its_variable_before_anything_is_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing, there = str(tmp_path / "missing"), str(tmp_path)
    error = refusal(monkeypatch, RAY_AUTH_TOKEN_PATH=missing)
    assert error.message == "the file that RAY_AUTH_TOKEN_PATH names cannot be read: No such file or directory"
    assert error.data == {"variable": "RAY_AUTH_TOKEN_PATH"}
    error = refusal(monkeypatch, RAY_USE_TLS="1", RAY_AUTH_TOKEN="a" * 64)
    assert error.message.startswith("RAY_TLS_SERVER_CERT is not set, and RAY_USE_TLS=1 needs")
    error = refusal(monkeypatch, RAY_USE_TLS="true", RAY_TLS_SERVER_CERT=there)
    assert error.message == "the file that RAY_TLS_SERVER_CERT names cannot be read: Is a directory"


@pytest.mark.parametrize("variable", [TOKEN_FILE, "RAY_TLS_SERVER_CERT"])
def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    tls = {} if variable == TOKEN_FILE else {"RAY_USE_TLS": "1"}
    error = refusal(monkeypatch, **tls, **{variable: str(pipe)})
    assert error.message.startswith(f"the file that {variable} names is a pipe or a device, and Ray reads it more than")


@pytest.mark.parametrize("text", [b"", b"\n \n"])
def test_an_empty_file_holds_no_token(text: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "token"
    path.write_bytes(text)
    error = refusal(monkeypatch, RAY_AUTH_TOKEN_PATH=str(path))
    assert error.message == "the file that RAY_AUTH_TOKEN_PATH names holds no token: it is empty"
    own = tmp_path / ".ray" / "auth_token"
    own.parent.mkdir()
    own.write_bytes(text)
    assert refusal(monkeypatch, HOME=str(tmp_path)).message == "~/.ray/auth_token holds no token: it is empty"


@pytest.mark.parametrize(
    "text", [b"secret\nsecret", b"secret secret", b"secret\0", "s\u00e9cret".encode(), b"\xffsecret", b"secret" * 1_000]
)
def test_what_no_cluster_can_have_as_a_token_is_refused_without_showing_it(
    text: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "token"
    path.write_bytes(text)
    errors = [refusal(monkeypatch, RAY_AUTH_TOKEN_PATH=str(path))]
    if b"\0" not in text:  # No variable can hold it.
        errors.append(refusal(monkeypatch, RAY_AUTH_TOKEN=os.fsdecode(text)))
    for error in errors:
        assert f"holds no token: that is one line of at most {MAX_TOKEN_LENGTH:,} printable" in error.message
        assert "cret" not in f"{error.message} {error.data}"
