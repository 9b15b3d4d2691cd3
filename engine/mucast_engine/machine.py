"""What decides the last digits besides the versions: threads, the processor, and the kernels chosen for it."""

import importlib
import os
import platform
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl

from mucast_engine.arrays import Message

# The environment variables that set how many threads a library computes with.
THREAD_VARIABLES = {"openmp": "OMP_NUM_THREADS", "openblas": "OPENBLAS_NUM_THREADS", "mkl": "MKL_NUM_THREADS"}


# Characters of /proc/cpuinfo that contain its first core: the kernel queries each core, which takes a while with
# hundreds of them.
FIRST_CORE = 4096


def thread_facts() -> dict[str, int | None]:
    """How many threads each library was told to use before this process started; None if it decides by itself."""
    told = {name: os.environ.get(variable, "") for name, variable in THREAD_VARIABLES.items()}
    return {name: int(count) if count.isdecimal() else None for name, count in told.items()}


def machine_facts(libraries: list[str]) -> Message:
    """What the libraries of a job run on. It depends only on `libraries`, not on what else is imported."""
    return {
        "processor": processor(),
        "numpy_dispatch": numpy_dispatch(),
        "torch_capability": torch_capability() if "torch" in libraries else None,
        "blas": blas_kernels(("numpy", "scipy") if "sklearn" in libraries else ("numpy",)),
    }


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Architecture, vendor, family and model, such as `x86_64 AuthenticAMD family 25 model 17`.

    On Linux without these (ARM), architecture, implementer and part; elsewhere what the platform reports.
    """
    try:
        with cpuinfo.open(errors="replace") as lines:
            text = lines.read(FIRST_CORE)
    except OSError:
        return " ".join(dict.fromkeys(name for name in (platform.machine(), platform.processor()) if name))
    told = dict(re.findall(r"^(\w[\w ]*?)\s*: *(.*)$", text.split("\n\n")[0], re.MULTILINE))
    names = {"vendor_id": "", "cpu family": "family ", "model": "model "}
    names |= {"CPU implementer": "implementer ", "CPU part": "part "}
    return " ".join([platform.machine(), *(f"{title}{told[key]}" for key, title in names.items() if key in told)])


def numpy_dispatch() -> list[str]:
    """The instruction sets beyond its baseline for which NumPy has kernels, the smallest first."""
    # NumPy omits what is empty.
    return list(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))


def torch_capability() -> str:
    """The instruction set for which PyTorch has kernels, such as `AVX2`."""
    import torch

    return torch.backends.cpu.get_cpu_capability()


@cache
def blas_kernels(owners: tuple[str, ...]) -> dict[str, dict[str, str | None]]:
    """Name, version and kernel of the BLAS of each of `owners` (numpy, scipy) that brings or shares one."""
    if "scipy" in owners:
        importlib.import_module("scipy.linalg")  # Loads it.
    found: dict[str, dict[str, str | None]] = {}
    for library in threadpoolctl.threadpool_info():
        if library["user_api"] != "blas":
            continue
        for owner in _owners_of(library, owners):
            found[owner] = {
                "name": library["internal_api"],
                "version": library["version"],
                "kernel": library.get("architecture"),
            }
    return {owner: found[owner] for owner in owners if owner in found}


def _owners_of(library: dict[str, Any], owners: tuple[str, ...]) -> tuple[str, ...]:
    """A wheel has its own BLAS folder (`numpy.libs`, `numpy/.dylibs`); any other BLAS is shared."""
    for package in ("numpy", "scipy"):
        if re.search(rf"/{package}(\.libs|/\.dylibs)/", library["filepath"]):
            return (package,) if package in owners else ()
    return owners
