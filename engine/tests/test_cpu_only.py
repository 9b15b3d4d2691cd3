"""Environments for CPUs only. What such an environment computes is tested in test/end-to-end/networks."""

import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
import torch

from mucast_engine import cpu_only
from mucast_engine.cpu_only import is_cpu_only, make_cpu_only, mapped_files
from mucast_engine.failure import TaskError
from mucast_engine.networks.tasks import resolve_device
from mucast_engine.status import status


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that is only a folder."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / name))
    return tmp_path


def test_a_mapped_library_licences_and_modules_stay_and_the_rest_of_cuda_goes(prefix: Path) -> None:
    libraries = prefix / "purelib" / "nvidia" / "part" / "lib"
    libraries.mkdir(parents=True)
    names = ["opened.so.1", "unopened.so.9", "device.bc", "LICENSE.txt", "__init__.py"]
    for name in names:
        np.arange(9.0).tofile(libraries / name)
    (libraries / "opened.so").symlink_to("opened.so.1")
    (libraries / "unopened.so").symlink_to("unopened.so.9")
    outside = prefix / "purelib" / "other.so"
    outside.write_bytes(b"other")

    opened = np.memmap(libraries / "opened.so", mode="r")
    assert str(libraries / "opened.so.1") in mapped_files()
    assert not is_cpu_only()
    make_cpu_only()
    assert is_cpu_only()
    left = sorted(path.name for path in libraries.iterdir())
    assert left == ["LICENSE.txt", "__init__.py", "opened.so", "opened.so.1"]
    assert outside.exists()
    del opened


@pytest.mark.parametrize("asked", ["cuda", "cuda:0", "cuda:1"])
def test_a_gpu_is_refused_even_if_the_machine_has_one(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr("mucast_engine.networks.tasks.is_cpu_only", lambda: True)
    with pytest.raises(TaskError, match=f"^{asked} is not there .*CPUs only; `mucast setup --dl` installs") as caught:
        resolve_device(asked)
    assert (caught.value.code, caught.value.data) == ("device_unavailable", {"device": asked, "cuda_devices": 0})
    assert resolve_device("auto") == resolve_device("cpu") == {"device": "cpu"}


def test_the_status_says_so_and_lists_no_device(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert not status([])["cpu_only"]
    cpu_only._marker().touch()
    answer = status([])
    assert (answer["cpu_only"], answer["devices"]) == (True, [])
