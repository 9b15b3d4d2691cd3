"""Which addresses and keys the client accepts."""

from __future__ import annotations

import ipaddress
import re

import httpx


def service_url(text: str) -> str:
    """The URL of a service, without a slash at its end.

    Raises ValueError unless it is https, or http to this machine: a key must not cross a network in clear text.
    """
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise ValueError(f"the URL of the service is invalid: {error}") from None
    # The text may contain a password, so no message repeats it.
    if url.userinfo:
        raise ValueError("the URL of the service must not contain a user or a password; pass the key as `key`")
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("the URL of the service must begin with https://")
    if url.query or url.fragment:
        raise ValueError("the URL of the service must have neither a query nor a fragment")
    if url.scheme == "http" and not is_loopback(url.host):
        raise ValueError(f"http is allowed only on this machine; use https for {url.host}")
    return str(url).rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether a host name or an address always means this machine. Does not ask DNS."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def authorization(key: str | None) -> dict[str, str]:
    """The header of an API key or an access token. Raises ValueError, without the key, if no header can carry it."""
    if key is None:
        return {}
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ValueError("the key must consist of visible ASCII characters, without spaces or line ends")
    return {"authorization": f"Bearer {key}"}
