import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from network_tasks import ALONE, FEATURES, JOINT, LOOKBACK, PARTS, SPECS, TICKERS, make, run_whole, seeded

from mucast_engine.arrays import ArrayStore
from mucast_engine.networks.architectures import build_joint_network, build_network, parameter_count

# The caller limits networks by these counts, and its own tests read the same file.
CASES = json.loads((Path(__file__).parents[2] / "test" / "cases" / "network-sizes.json").read_text())["cases"]


def lstm(features: int, widths: list[int]) -> int:
    """Four gates of one matrix on the input, one on the state and two biases."""
    return sum(4 * to * (before + to + 2) for before, to in itertools.pairwise([features, *widths]))


def attention(d: int, wide: int) -> int:
    """Query, key, value and output; in and out of the feed-forward part; two norms."""
    return 4 * (d * d + d) + (d * wide + wide) + (wide * d + d) + 2 * (2 * d)


def transformer(spec: dict[str, Any], features: int, lookback: int) -> int:
    d, wide = spec["d_model"], spec["dim_feedforward"]
    return (features * d + d) + lookback * d + spec["num_layers"] * attention(d, wide) + 2 * d


def counted(spec: dict[str, Any], features: int, lookback: int) -> int:
    """The number of parameters of a network, by its description; each ends in a read-out of its width and a bias."""
    match spec["architecture"]:
        case "lstm":
            return lstm(features, spec["hidden_dims"]) + spec["hidden_dims"][-1] + 1
        case "portfolio_lstm":
            width = spec["hidden_dims"][-1]
            return lstm(features, spec["hidden_dims"]) + (2 * width * width + width) + width + 1
        case "mlp":
            widths = [lookback * features, *spec["hidden_dims"], 1]
            return sum(before * to + to for before, to in itertools.pairwise(widths))
        case "cnn":
            before, length, total = features, lookback, 0
            for filters in spec["filters"]:
                total += before * spec["kernel_size"] * filters + filters
                before, length = filters, length // spec["pool_size"]
            return total + before * length + 1
        case "transformer":
            return transformer(spec, features, lookback) + spec["d_model"] + 1
        case "portfolio_transformer":
            d = spec["d_model"]
            return transformer(spec, features, lookback) + attention(d, spec["dim_feedforward"]) + 2 * d + d + 1
        case name:
            raise ValueError(f"nothing counts the numbers of {name!r} by hand")


def test_every_network_has_as_many_parameters_as_its_description_says() -> None:
    assert {case["network"]["architecture"] for case in CASES} == set(SPECS)
    for case in CASES:
        spec, features, lookback = case["network"], case["features"], case["lookback"]
        build = build_joint_network if spec["architecture"] in JOINT else build_network
        found = parameter_count(build(spec, features, lookback, seeded(1)))
        assert (found, case["parameters"]) == (counted(spec, features, lookback),) * 2


@pytest.mark.parametrize("architecture", [*ALONE, *JOINT])
def test_a_task_counts_the_numbers_that_were_learned_and_forecasts_every_sample(
    architecture: str, tmp_path: Path, store: ArrayStore
) -> None:
    training = {"epochs": 1, "patience": 1}
    predicted, result, reported = run_whole(make(tmp_path, architecture, training=training), store)
    assert result["parameters"] == counted(SPECS[architecture], FEATURES, LOOKBACK)
    assert predicted.shape == ((PARTS["validate"] + PARTS["predict"]) * (TICKERS if architecture in JOINT else 1),)
    assert np.unique(predicted[~np.isnan(predicted)]).size > 20
    assert ([update["epoch"] for update in reported], result["best_epoch"]) == ([1], 1)
    assert result["epochs"] == [{name: reported[0][name] for name in ("train_loss", "validation_loss")}]
