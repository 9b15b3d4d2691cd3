"""`python -m mucast_engine.status torch sklearn`: prints one JSON object that says which libraries can be imported."""

import json
import os
import platform
import sys

from mucast_engine.cpu_only import is_cpu_only
from mucast_engine.failure import sentence_of
from mucast_engine.libraries import import_libraries, library_versions
from mucast_engine.process import claim_stdout


def status(names: list[str]) -> dict[str, object]:
    """`{"python": version, "libraries": {name: {"version"} | {"fault"}}, "devices": [name], "cpu_only": bool}`."""
    libraries: dict[str, dict[str, str]] = {}
    for name in names:
        try:
            import_libraries([name])
            libraries |= {title: {"version": version} for title, version in library_versions([name]).items()}
        except Exception as error:  # A missing shared library is an OSError; a broken one may raise nearly anything.
            libraries[name] = {"fault": sentence_of(error)}
    answer = {"python": platform.python_version(), "libraries": libraries}
    return answer | {"devices": devices(), "cpu_only": is_cpu_only()}


def devices() -> list[str]:
    """The CUDA devices that torch sees, such as `cuda:0 NVIDIA H200`; none if torch is not imported or lacks CUDA."""
    torch = sys.modules.get("torch")
    if torch is None or is_cpu_only() or not torch.cuda.is_available():
        return []
    return [f"cuda:{index} {torch.cuda.get_device_name(index)}" for index in range(torch.cuda.device_count())]


if __name__ == "__main__":
    answers = claim_stdout()
    os.write(answers, json.dumps(status(sys.argv[1:])).encode() + b"\n")
