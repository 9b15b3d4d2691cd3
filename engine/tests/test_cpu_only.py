"""Environments for CPUs only. What such an environment computes is tested in test/end-to-end/networks."""

import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
import torch

from mucast_engine.cpu_only import is_cpu_only, make_cpu_only
from mucast_engine.failure import TaskError
from mucast_engine.networks.tasks import resolve_device
from mucast_engine.status import status


def test_it_keeps_mapped_libraries_licences_and_modules_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / name))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    libraries = tmp_path / "purelib" / "nvidia" / "part" / "lib"
    libraries.mkdir(parents=True)
    for name in ("opened.so.1", "unopened.so.9", "device.bc", "LICENSE.txt", "__init__.py"):
        np.arange(9.0).tofile(libraries / name)
    (libraries / "opened.so").symlink_to("opened.so.1")
    (libraries / "unopened.so").symlink_to("unopened.so.9")
    outside = tmp_path / "purelib" / "other.so"
    outside.write_bytes(b"other")
    opened = np.memmap(libraries / "opened.so", mode="r")
    assert not is_cpu_only()
    make_cpu_only()
    left = sorted(path.name for path in libraries.iterdir())
    assert left == ["LICENSE.txt", "__init__.py", "opened.so", "opened.so.1"]
    assert outside.exists()
    del opened

    answer = status([])
    assert (is_cpu_only(), answer["cpu_only"], answer["devices"]) == (True, True, [])
    with pytest.raises(TaskError, match=r"^cuda:1 is not there .*CPUs only; `mucast setup --dl` installs") as caught:
        resolve_device("cuda:1")
    assert (caught.value.code, caught.value.data) == (
        "device_unavailable",
        {"device": "cuda:1", "cuda_devices": 0},
    )
    assert resolve_device("auto") == resolve_device("cpu") == {"device": "cpu"}
