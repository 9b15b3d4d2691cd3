"""How many networks are in a stack depends on what one of them needs."""

from typing import Any

import pytest
from network_tasks import ALONE, SPECS

from mucast_engine.networks.stack.memory import bytes_kept, networks_at_once
from mucast_engine.networks.stack.task import build_structure

SIZE = {"rows": 2_500, "features": 30, "lookback": 20, "batch_size": 64}
DEFAULTS: dict[str, dict[str, Any]] = {
    "lstm": {"hidden_dims": [64, 32], "dropout": 0.2},
    "mlp": {"hidden_dims": [128, 64], "dropout": 0.2},
    "cnn": {"filters": [32, 64], "dropout": 0.2},
    "transformer": {"d_model": 64, "nhead": 4, "dim_feedforward": 256, "dropout": 0.1},
}


def most(architecture: str, spec: dict[str, Any] | None = None, **changes: int) -> int:
    shared = {"network": SPECS[architecture] | (spec or {}), "lookback": SIZE["lookback"]}
    size = SIZE | changes
    return networks_at_once(build_structure(shared, size["features"]), **size)


@pytest.mark.parametrize("architecture", ALONE)
def test_64_networks_of_the_default_size_fit(architecture: str) -> None:
    assert most(architecture, DEFAULTS[architecture]) >= 64


def test_a_network_beyond_the_bound_is_still_trained() -> None:
    assert most("mlp", rows=100_000_000) == 1


@pytest.mark.parametrize("changes", [{"rows": 250_000}, {"batch_size": 1_024}])
def test_larger_tickers_and_batches_make_smaller_stacks(changes: dict[str, int]) -> None:
    assert most("lstm", **changes) < most("lstm")


def test_the_bytes_of_a_pass_equal_what_autograd_keeps() -> None:
    """For an mlp: its input, and for each hidden layer the output of the ReLU, its mask, and their product."""
    shared = {"network": SPECS["mlp"] | {"hidden_dims": [9, 5]}, "lookback": 4}
    structure = build_structure(shared, 3)
    weights = sum(weight.numel() for weight in structure.parameters())
    n = 8
    assert bytes_kept(structure, weights, (1, n, 4, 3)) == 4 * n * (12 + 3 * (9 + 5))
