"""Certificates and tokens, looked at before anything is connected: gRPC says half a minute later what failed."""

import os
from pathlib import Path

import pytest

from mucast_engine.cluster.credentials import CERTIFICATES, TOKEN, TOKEN_FILE, find_token, require_certificates
from mucast_engine.cluster.fault import ClusterError

LOCALHOST = Path(__file__).resolve().parents[3] / "test/certificates"
CERTIFICATE, KEY = LOCALHOST / "localhost.cert.pem", LOCALHOST / "localhost.key.pem"


def look(monkeypatch: pytest.MonkeyPatch, *files: Path) -> None:
    for name, file in zip(CERTIFICATES, files, strict=True):
        monkeypatch.setenv(name, str(file))
    require_certificates()


def test_a_certificate_with_its_key_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    look(monkeypatch, CERTIFICATE, KEY, CERTIFICATE)


def test_what_is_no_certificate_or_not_its_key_is_told_by_its_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_text("-----BEGIN CERTIFICATE-----\n")
    for certificate, key in [(other, KEY), (CERTIFICATE, other), (CERTIFICATE, CERTIFICATE)]:
        with pytest.raises(ClusterError, match="name no certificate and its own key") as raised:
            look(monkeypatch, certificate, key, CERTIFICATE)
        assert raised.value.code == "engine_unavailable"
    with pytest.raises(ClusterError, match="RAY_TLS_CA_CERT names no certificate"):
        look(monkeypatch, CERTIFICATE, KEY, other)


@pytest.mark.parametrize("written", [b"", b"a-token\n"])
def test_a_pipe_with_a_writer_is_named_and_left_as_it_is(
    written: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    os.mkfifo(path)
    monkeypatch.delenv(TOKEN, raising=False)
    monkeypatch.setenv(TOKEN_FILE, str(path))
    with path.open("rb+", buffering=0) as pipe:
        pipe.write(written)
        with pytest.raises(ClusterError, match=f"the file that {TOKEN_FILE} names is a pipe or a device"):
            find_token()
        os.set_blocking(pipe.fileno(), False)
        assert pipe.read() == (written or None)
