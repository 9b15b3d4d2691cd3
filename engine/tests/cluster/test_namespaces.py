import errno

import namespaces
import pytest


def test_where_no_namespace_can_be_had_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *_: object) -> None:
        raise OSError(errno.EPERM, f"{name}: Operation not permitted")

    # A system that refuses cannot be had on purpose, so the kernel's answer is a fake.
    monkeypatch.setattr(namespaces, "_call", refuse)
    with pytest.raises(namespaces.NamespaceError, match=r"unshare: Operation not permitted: .*Run as root.*sysctl"):
        namespaces.isolate()
    with pytest.raises(namespaces.NamespaceError, match=r"mount: Operation not permitted: .*Run as root.*sysctl"):
        namespaces.own_mounts("/srv")
