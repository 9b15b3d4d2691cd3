"""The engine's facts about the processor, the kernels and the threads, compared with what the libraries use."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mucast_engine.machine import machine_facts, processor, thread_facts

ENGINE = Path(__file__).parent.parent
ASK = "import json; from mucast_engine.machine import machine_facts; print(json.dumps(machine_facts({libraries})))"

needs_x86 = pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="x86-64 kernels of Linux wheels"
)


def facts_of(libraries: list[str], **variables: str) -> dict[str, Any]:
    """The facts of a separate interpreter that starts with `variables`."""
    command = [sys.executable, "-c", ASK.format(libraries=libraries)]
    env = {**os.environ, **variables, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


@needs_x86
@pytest.mark.release
def test_pinned_kernels_are_reported() -> None:
    pinned = facts_of(
        ["torch", "sklearn"],
        OPENBLAS_CORETYPE="Nehalem",
        NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
        ATEN_CPU_CAPABILITY="default",
    )
    assert (pinned["numpy_dispatch"], pinned["torch_capability"]) == ([], "DEFAULT")
    assert [(owner, blas["name"], blas["kernel"]) for owner, blas in pinned["blas"].items()] == [
        ("numpy", "openblas", "Nehalem"),
        ("scipy", "openblas", "Nehalem"),
    ]


def test_facts_depend_only_on_the_libraries_of_the_job() -> None:
    few = facts_of(["catboost"])
    assert few == machine_facts(["catboost"])  # This process has imported more.
    assert few["torch_capability"] is None
    assert set(few["blas"]) <= {"numpy"}


def test_processors_by_their_own_description(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: X\n\n"
    )
    assert processor(cpuinfo) == f"{platform.machine()} GenuineIntel family 6 model 143"
    cpuinfo.write_text("processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\n")
    assert processor(cpuinfo) == f"{platform.machine()} implementer 0x41 part 0xd40"
    assert processor(tmp_path / "none").startswith(platform.machine())


def test_threads_as_requested_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "12")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    assert thread_facts() == {"openmp": 1, "openblas": 12, "mkl": None}
