"""Interfaces of a network namespace, by the kernel's own calls: a bare machine may lack iproute2."""

import errno
import fcntl
import os
import socket
import struct

_SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK, _SIOCSIFHWADDR = 0x8914, 0x8916, 0x891C, 0x8924
_SIOCBRADDBR, _SIOCBRADDIF = 0x89A0, 0x89A2
_ETHERNET = 1
_UP = 0x1
_RTM_NEWLINK = 16
_REQUEST, _ACK, _EXCLUSIVE, _CREATE = 0x1, 0x4, 0x200, 0x400
_NLMSG_ERROR = 2
_IFLA_IFNAME, _IFLA_LINKINFO, _IFLA_NET_NS_PID = 3, 18, 19
_IFLA_INFO_KIND, _IFLA_INFO_DATA, _VETH_INFO_PEER = 1, 2, 1
_NO_LINK = struct.pack("BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0)


def set_up(interface: str, up: bool = True) -> None:
    """Switches an interface on, or off: what is sent to it is lost then, and its sender gets no error."""
    _ioctl(_SIOCSIFFLAGS, struct.pack("16sH14x", interface.encode(), _UP if up else 0))


def set_address(interface: str, address: str) -> None:
    """Gives it an IPv4 address in a network of 255 (/24), and switches it on."""
    for request, value in [(_SIOCSIFADDR, address), (_SIOCSIFNETMASK, "255.255.255.0")]:
        name = struct.pack("16sHH4s8x", interface.encode(), socket.AF_INET, 0, socket.inet_aton(value))
        _ioctl(request, name)
    set_up(interface)


def set_hardware_address(interface: str, address: str) -> None:
    """Makes it one that follows from the IPv4 `address`, so that the next machine of that address is found at once."""
    hardware = b"\x02\x00" + socket.inet_aton(address)
    _ioctl(_SIOCSIFHWADDR, struct.pack("16sH6s8x", interface.encode(), _ETHERNET, hardware))


def add_bridge(name: str) -> None:
    _ioctl(_SIOCBRADDBR, name.encode() + b"\0")


def add_to_bridge(bridge: str, interface: str) -> None:
    _ioctl(_SIOCBRADDIF, struct.pack("16si12x", bridge.encode(), socket.if_nametoindex(interface)))


def add_cable(name: str, far_name: str, far_pid: int) -> None:
    """A pair of interfaces: `name` here, `far_name` in the network of process `far_pid`."""
    far = _NO_LINK + _attribute(_IFLA_IFNAME, far_name.encode() + b"\0")
    far += _attribute(_IFLA_NET_NS_PID, struct.pack("I", far_pid))
    kind = _attribute(_IFLA_INFO_KIND, b"veth")
    link = kind + _attribute(_IFLA_INFO_DATA, _attribute(_VETH_INFO_PEER, far))
    body = _NO_LINK + _attribute(_IFLA_IFNAME, name.encode() + b"\0") + _attribute(_IFLA_LINKINFO, link)
    _netlink(_RTM_NEWLINK, _CREATE | _EXCLUSIVE, body)


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def _netlink(kind: int, flags: int, body: bytes) -> None:
    header = struct.pack("IHHII", 16 + len(body), kind, _REQUEST | _ACK | flags, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.send(header + body)
        answer = link.recv(65_536)
    _, answered = struct.unpack_from("IH", answer)
    number = -struct.unpack_from("i", answer, 16)[0] if answered == _NLMSG_ERROR else errno.EPROTO
    if number != 0:
        raise OSError(number, f"a pair of interfaces: {os.strerror(number)}")


def _ioctl(request: int, argument: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, request, argument)
