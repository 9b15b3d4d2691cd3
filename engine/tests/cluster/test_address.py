"""Which addresses are taken, and what has to protect a cluster there."""

import pytest

from mucast_engine.cluster.address import Address, parse_address, require_protection, require_token, resolved
from mucast_engine.cluster.fault import ClusterError


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("ray://10.0.0.1:10002", "10.0.0.1:10002"),
        ("ray://head", "head:10001"),
        ("ray://head:10001/", "head:10001"),
        ("ray://[fd00::1]:10001", "[fd00::1]:10001"),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, target: str) -> None:
    assert parse_address(text).target == target


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ray://",
        "10.0.0.1:10001",
        "http://10.0.0.1",
        "ray://a:b",
        "ray://a:99999",
        "ray://user:secret@a:1",
        "ray://a/b",
    ],
)
def test_anything_else_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ClusterError) as raised:
        parse_address(text)
    assert raised.value.code == "engine_unavailable"
    assert "ray://host:port" in raised.value.message
    assert "secret" not in raised.value.message


def protection(host: str, *, has_tls: bool = False, insecure: bool = False) -> str:
    try:
        require_protection(Address(host, 10001), resolved(host), has_tls=has_tls, insecure=insecure)
    except ClusterError as error:
        return error.message
    return ""


def test_a_cluster_without_a_token_is_refused() -> None:
    with pytest.raises(ClusterError, match="RAY_AUTH_TOKEN"):
        require_token(Address("127.0.0.1", 10001), has_token=False)
    require_token(Address("127.0.0.1", 10001), has_token=True)


def test_insecure_is_for_loopback_alone() -> None:
    assert protection("127.0.0.1", insecure=True) == ""
    assert protection("::1", insecure=True) == ""
    assert "--engine-insecure is for a cluster on loopback" in protection("10.0.0.1", insecure=True)


@pytest.mark.parametrize("host", ["10.0.0.1", "192.168.1.1", "172.16.0.1", "fd00::1", "100.64.0.1"])
def test_a_token_goes_to_private_addresses_in_the_clear(host: str) -> None:
    assert protection(host) == ""


@pytest.mark.parametrize("host", ["8.8.8.8", "2001:4860:4860::8888"])
def test_a_token_goes_to_public_addresses_by_tls_alone(host: str) -> None:
    assert "RAY_USE_TLS=1" in protection(host)
    assert protection(host, has_tls=True) == ""


@pytest.mark.parametrize("host", ["head..example", ".", f"{'a' * 64}.example"])
def test_what_can_be_no_name_leads_nowhere(host: str) -> None:
    assert resolved(host) == []
