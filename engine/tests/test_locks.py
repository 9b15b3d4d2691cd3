import re
from pathlib import Path

import pytest

ENGINE = Path(__file__).parent.parent


def pins(name: str) -> dict[str, str]:
    """Pinned version by requirement, with its environment marker."""
    lines = (ENGINE / f"requirements-{name}.txt").read_text().replace("\\\n", " ").splitlines()
    matches = [re.match(r"([\w.-]+)==(\S+)(?: ; (.*?))? +--hash", line) for line in lines]
    return {f"{match[1]} {match[3] or ''}": match[2] for match in matches if match}


@pytest.mark.parametrize("name", ["ml", "dl", "dl-cpu", "ray", "dev", "uv", "lint"])
def test_every_requirement_is_pinned_and_hashed_and_names_no_registry(name: str) -> None:
    text = (ENGINE / f"requirements-{name}.txt").read_text()
    requirements = [line for line in text.splitlines() if re.match(r"\w", line)]
    assert len(pins(name)) == len(requirements) > 0
    assert "://" not in text
    assert "--index" not in text


def test_each_lock_has_the_versions_of_the_smaller_one_before_it() -> None:
    assert pins("ml").items() <= pins("dl").items() <= pins("ray").items() <= pins("dev").items()
    assert pins("ml").items() <= pins("dl-cpu").items() <= pins("dl").items()
    assert pins("lint").items() <= pins("dev").items()


def test_a_lock_has_torch_cuda_and_ray_only_where_they_are_needed() -> None:
    names = {name: {requirement.split()[0] for requirement in pins(name)} for name in ["ml", "dl", "dl-cpu", "ray"]}
    assert {name for name in names if "torch" in names[name]} == {"dl", "dl-cpu", "ray"}
    assert {name for name in names if "ray" in names[name]} == {"ray"}
    missing = names["dl"] - names["dl-cpu"]
    assert missing > {"triton", "nvidia-cusolver"}
    assert all(name == "triton" or name.startswith(("nvidia-", "cuda-")) for name in missing)
