"""Environments for machines without a GPU: `python -m mucast_engine.cpu_only` makes its own environment one of them."""

import os
import sys
import sysconfig
from pathlib import Path

# Licences, and modules, which take no space.
KEPT_SUFFIXES = {".txt", ".py"}


def is_cpu_only() -> bool:
    """Whether this environment lacks what PyTorch needs of NVIDIA's libraries on a GPU."""
    return _marker().exists()


def make_cpu_only() -> None:
    """Removes the files of NVIDIA's packages that importing PyTorch does not open, and marks the environment.

    The loader opens what PyTorch's libraries are linked to, however indirectly, so all of that stays. The rest are
    libraries that CUDA opens at its first use of a device, headers, and code for devices.
    """
    # Unused: the import opens the libraries to keep.
    import torch  # noqa: F401

    opened = mapped_files()
    _marker().write_text("This environment has no CUDA: mucast setup --dl --cpu\n")
    for path in list(Path(sysconfig.get_path("purelib"), "nvidia").rglob("*")):
        is_content = path.is_symlink() or path.is_file()
        if is_content and path.suffix not in KEPT_SUFFIXES and os.path.realpath(path) not in opened:
            path.unlink()


def mapped_files() -> set[str]:
    """Paths of the files that this process has mapped, with links resolved; only Linux has PyTorch with CUDA."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    return {fields[5] for fields in (line.split(maxsplit=5) for line in lines) if len(fields) == 6}


def _marker() -> Path:
    return Path(sys.prefix, "mucast-cpu-only.txt")


if __name__ == "__main__":
    make_cpu_only()
