"""Where the client sends its key, and where the key must not appear."""

from __future__ import annotations

import logging
import pickle
import socket
import ssl
import threading
import traceback
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest
from fakes import JOB, KEY, URL, FakeService, no_answer, problem

from mucast_client import ApiError, Client, ConnectionLostError, RequestRefusedError


@pytest.mark.parametrize(
    "url",
    [
        "https://mucast.example.com",
        "https://mucast.example.com/below/",
        "http://127.0.0.1:8080",
        "http://127.8.9.1",
        "http://localhost:8080/",
        "http://[::1]:8080",
    ],
)
def test_accepts_https_and_http_to_this_machine(url: str) -> None:
    assert repr(Client(url, KEY)) == f"Client({url.rstrip('/')!r})"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://mucast.example.com", "use https for mucast.example.com"),
        ("http://10.0.0.1:8080", "use https for 10.0.0.1"),
        ("http://localhost.example.com", "use https"),
        ("http://0.0.0.0:8080", "use https"),
        ("ftp://mucast.example.com", "must begin with https://"),
        ("mucast.example.com", "must begin with https://"),
        ("https://ann:hunter2@mucast.example.com", "must not contain a user or a password"),
        ("https://mucast.example.com?key=hunter2", "neither a query nor a fragment"),
        ("https://mucast.example.com:port", "is invalid"),
    ],
)
def test_refuses_other_addresses_without_repeating_a_secret(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        Client(url, KEY)
    assert "hunter2" not in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["", f"{KEY}\n", f"{KEY}\r\nx: y", "two words", "ключ"])
def test_refuses_a_key_that_no_header_can_carry_without_repeating_it(key: str) -> None:
    with pytest.raises(ValueError, match="visible ASCII") as caught:
        Client(URL, key)
    assert caught.value.args == ("the key must consist of visible ASCII characters, without spaces or line ends",)


def test_sends_the_key_and_never_shows_it(
    fake: Callable[..., FakeService], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    service = fake(problem("forbidden", 403), no_answer)
    client = service.client
    for error in (RequestRefusedError, ConnectionLostError):
        with pytest.raises(error) as caught:
            client.submit("run_ml_job", **JOB)
        shown = "".join(traceback.format_exception(caught.value))
        assert "secret" not in shown + repr(caught.value)
    assert service.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = repr(client) + repr(vars(client)) + repr(vars(client._connection)) + repr(service.requests[0].headers)
    assert "secret" not in shown + caplog.text + "".join(capsys.readouterr())


def test_no_proxy_of_the_environment_sees_requests_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as proxy, socket.create_server(("127.0.0.1", 0)) as service:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        monkeypatch.setenv("NO_PROXY", "")

        def answer() -> None:
            connection, _ = service.accept()
            with connection:
                seen.append(connection.recv(65_536))
                connection.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with Client(f"http://127.0.0.1:{service.getsockname()[1]}", KEY) as client:
            client.delete_blob("feature_engine_1.json")
        thread.join()
    assert seen[0].startswith(b"DELETE /data/feature_engine_1.json HTTP/1.1\r\n")


def test_trusts_the_authority_of_ssl_cert_file_on_this_machine_too(monkeypatch: pytest.MonkeyPatch) -> None:
    certificates = Path(__file__).parents[3] / "test/certificates"
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "localhost.cert.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates / "localhost.cert.pem", certificates / "localhost.key.pem")

    class Answer(BaseHTTPRequestHandler):
        def do_DELETE(self) -> None:  # a name of http.server
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with Client(f"https://localhost:{server.server_port}", KEY) as client:
            client.delete_blob("feature_engine_1.json")
        thread.join()


def test_follows_no_redirect_and_names_its_target_without_the_query(fake: Callable[..., FakeService]) -> None:
    target = "https://ann:hunter2@elsewhere.example/login?token=hunter2"
    service = fake(lambda _: httpx.Response(302, headers={"location": target}, content=iter([b""])))
    with pytest.raises(ApiError, match=r"redirect to https://elsewhere\.example/login, which") as caught:
        service.client.attach("one")
    assert "hunter2" not in str(caught.value)
    assert len(service.requests) == 1


def test_errors_survive_pickling(fake: Callable[..., FakeService]) -> None:
    with pytest.raises(RequestRefusedError) as caught:
        fake(problem("not_found", 404)).client.attach("one")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.code, copy.status, copy.advice) == (
        "not_found: this is not_found\nDo something else.",
        "not_found",
        404,
        "Do something else.",
    )
