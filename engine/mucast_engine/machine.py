"""What decides the last digits besides the versions: threads, the processor, and the kernels chosen for it."""

import importlib
import os
import platform
import re
from functools import cache
from pathlib import Path

import numpy as np
import threadpoolctl

from mucast_engine.arrays import Message
from mucast_engine.libraries import kernel_level, library_versions

# The environment variables that set how many threads a library computes with.
THREAD_VARIABLES = {"openmp": "OMP_NUM_THREADS", "openblas": "OPENBLAS_NUM_THREADS", "mkl": "MKL_NUM_THREADS"}

# Characters of /proc/cpuinfo that contain its first core: the kernel queries each core, which takes a while with
# hundreds of them.
FIRST_CORE = 4096


def greeting(libraries: list[str]) -> Message:
    """All facts of this process that decide bytes, once `libraries` are imported."""
    return {
        "versions": {"python": platform.python_version(), **library_versions(libraries)},
        "threads": thread_facts(),
        "kernel_level": kernel_level(),
        "machine": machine_facts(libraries),
    }


def thread_facts() -> dict[str, int | None]:
    """How many threads each library was told to use before this process started; None if it decides by itself."""
    told = {name: os.environ.get(variable, "") for name, variable in THREAD_VARIABLES.items()}
    return {name: int(count) if count.isdecimal() else None for name, count in told.items()}


def machine_facts(libraries: list[str]) -> Message:
    """What the libraries of a job run on. It depends only on `libraries`, not on what else is imported."""
    torch_capability: str | None = None
    if "torch" in libraries:
        import torch

        torch_capability = torch.backends.cpu.get_cpu_capability()
    return {
        "processor": processor(),
        # The instruction sets beyond its baseline for which NumPy has kernels, which it omits if there are none.
        "numpy_dispatch": list(np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])),
        "torch_capability": torch_capability,
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


@cache
def blas_kernels(owners: tuple[str, ...]) -> dict[str, dict[str, str | None]]:
    """Name, version and kernel of the BLAS of each of `owners` (numpy, scipy) that brings or shares one."""
    if "scipy" in owners:
        importlib.import_module("scipy.linalg")  # Loads it.
    found: dict[str, dict[str, str | None]] = {}
    for library in threadpoolctl.threadpool_info():
        if library["user_api"] != "blas":
            continue
        # A wheel has its own BLAS folder (`numpy.libs`, `numpy/.dylibs`); any other BLAS is shared.
        folder = re.search(r"/(numpy|scipy)(\.libs|/\.dylibs)/", library["filepath"])
        for owner in owners if folder is None else (folder[1],):
            found[owner] = {
                "name": library["internal_api"],
                "version": library["version"],
                "kernel": library.get("architecture"),
            }
    return {owner: found[owner] for owner in owners if owner in found}
