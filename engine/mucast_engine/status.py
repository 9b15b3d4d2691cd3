"""`python -m mucast_engine.status`: one JSON object that tells which libraries can be imported."""

import json
import os
import platform

from mucast_engine.failure import sentence_of
from mucast_engine.libraries import DISTRIBUTIONS, import_libraries, library_versions
from mucast_engine.process import claim_stdout


def status() -> dict[str, object]:
    """`{"python": version, "libraries": {name: {"version"} | {"fault"}}}`."""
    libraries: dict[str, dict[str, str]] = {}
    for name in DISTRIBUTIONS:
        try:
            import_libraries([name])
            libraries |= {title: {"version": version} for title, version in library_versions([name]).items()}
        except Exception as error:  # A missing shared library is an OSError, a broken one nearly anything.
            libraries[name] = {"fault": sentence_of(error)}
    return {"python": platform.python_version(), "libraries": libraries}


if __name__ == "__main__":
    answers = claim_stdout()
    os.write(answers, json.dumps(status()).encode() + b"\n")
