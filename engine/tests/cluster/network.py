"""Interfaces of a network namespace, by iproute2."""

import os
import subprocess


def set_up(interface: str, up: bool = True) -> None:
    """Switches an interface on, or off: what is sent to it is lost then, and its sender gets no error."""
    _ip("link", "set", interface, "up" if up else "down")


def set_address(interface: str, address: str) -> None:
    """Gives it an IPv4 address in a network of 255 (/24), and switches it on."""
    _ip("address", "add", f"{address}/24", "dev", interface)
    set_up(interface)


def set_hardware_address(interface: str, address: str) -> None:
    """Makes it one that follows from the IPv4 `address`, so that the next machine of that address is found at once."""
    hardware = ":".join(f"{int(part):02x}" for part in (2, 0, *address.split(".")))
    _ip("link", "set", interface, "address", hardware)


def add_bridge(name: str) -> None:
    _ip("link", "add", name, "type", "bridge")


def add_cable(name: str, bridge: str, far_name: str, far_pid: int) -> None:
    """A pair of interfaces: `name` here, at `bridge`, and `far_name` in the network of process `far_pid`."""
    _ip("link", "add", name, "type", "veth", "peer", "name", far_name, "netns", str(far_pid))
    _ip("link", "set", name, "master", bridge, "up")


def _ip(*arguments: str) -> None:
    # Users other than root may lack the folder of `ip`.
    subprocess.run(["ip", *arguments], check=True, env={"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"})
