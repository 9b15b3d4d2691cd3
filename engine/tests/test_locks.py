import re
from pathlib import Path

import pytest

ENGINE = Path(__file__).parent.parent
LOCKS = ["ml", "dl", "dl-cpu", "ray", "dev", "uv", "lint"]


def pins(name: str) -> dict[str, str]:
    """Pinned version by requirement, with its environment marker."""
    text = (ENGINE / f"requirements-{name}.txt").read_text()
    lines = text.replace("\\\n", " ").splitlines()
    found = {}
    for line in lines:
        match = re.match(r"([\w.-]+)==(\S+)(?: ; (.*?))? +--hash", line)
        if match:
            found[f"{match[1]} {match[3] or ''}"] = match[2]
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_is_pinned_and_hashed_and_names_no_registry(name: str) -> None:
    text = (ENGINE / f"requirements-{name}.txt").read_text()
    requirements = [line for line in text.splitlines() if re.match(r"\w", line)]
    assert requirements
    assert len(pins(name)) == len(requirements)
    assert "://" not in text
    assert "--index" not in text


def test_each_lock_has_the_versions_of_the_smaller_one_before_it() -> None:
    assert pins("ml").items() <= pins("dl").items() <= pins("ray").items() <= pins("dev").items()
    assert pins("ml").items() <= pins("dl-cpu").items() <= pins("dl").items()
    assert pins("lint").items() <= pins("dev").items()


def test_the_classical_lock_lacks_torch_and_the_locks_of_local_jobs_lack_ray() -> None:
    libraries = {name: {requirement.split()[0] for requirement in pins(name)} for name in ["ml", "dl", "ray"]}
    assert "torch" not in libraries["ml"]
    assert "torch" in libraries["dl"]
    assert "ray" not in libraries["ml"] | libraries["dl"]
    assert "ray" in libraries["ray"]


def test_the_lock_for_cpus_lacks_only_packages_of_cuda() -> None:
    missing = {requirement.split()[0] for requirement in pins("dl").keys() - pins("dl-cpu").keys()}
    assert missing > {"triton", "nvidia-cusolver"}
    assert all(name == "triton" or name.startswith(("nvidia-", "cuda-")) for name in missing)
