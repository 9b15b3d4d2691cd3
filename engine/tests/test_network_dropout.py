import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from dropout_twin import mask_twins, splitmix64
from network_tasks import ALONE, FEATURES, JOINT, LOOKBACK, SPECS, TICKERS, seeded
from torch import Tensor

from mucast_engine.networks.architectures import Network, build_joint_network, build_network
from mucast_engine.networks.dropout import DropoutMasks, Masks

CPU = torch.device("cpu")
SHAPES = [(5, 1, 7), (5, 3), (11,)]
MANY = 200_000


def drawn(rate: float, seed: int = 1, step: int = 0, part: int = 0, count: int = MANY) -> Tensor:
    """One flat mask."""
    masks = DropoutMasks(rate, seed, CPU).draw(step, [(count,)], part)
    assert masks is not None
    return next(masks)


def test_the_generator_gives_the_first_numbers_of_splitmix64() -> None:
    # Steele, Lea, Flood: state 1234567, as printed with the reference implementation in C.
    golden = 0x9E3779B97F4A7C15
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [splitmix64(1234567 + golden * place) for place in range(1, 5)] == published


@pytest.mark.parametrize("rate", [0.1, *(pytest.param(rate, marks=pytest.mark.release) for rate in (0.5, 0.999))])
@pytest.mark.parametrize(("seed", "step", "part"), [(0, 0, 0), (42, 3, 0), (2**62 + 1, 10_000, 2)])
def test_masks_equal_those_from_plain_integers(rate: float, seed: int, step: int, part: int) -> None:
    masks = DropoutMasks(rate, seed, CPU).draw(step, SHAPES, part)
    assert masks is not None
    for mask, twin in zip(masks, mask_twins(rate, seed, step, SHAPES, part), strict=True):
        assert mask.dtype == torch.float32
        torch.testing.assert_close(mask, twin, rtol=1e-6, atol=0)


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5, 0.9, 0.999])
def test_the_requested_share_is_dropped_and_the_rest_is_scaled_up(rate: float) -> None:
    mask = drawn(rate)
    deviation = (rate * (1 - rate) / MANY) ** 0.5
    assert (mask == 0).double().mean().item() == pytest.approx(rate, abs=4 * deviation + 1 / 65536)
    assert mask.double().mean().item() == pytest.approx(1.0, abs=4 * deviation / (1 - rate))
    assert mask.unique().tolist() == pytest.approx([0.0, 1 / (1 - rate)], rel=0.02 if rate > 0.99 else 1e-4)


@pytest.mark.parametrize("rate", [0.0, 1e-6])
def test_nothing_is_dropped_at_rate_zero(rate: float) -> None:
    assert DropoutMasks(rate, 1, CPU).draw(0, SHAPES) is None


@pytest.mark.parametrize("other", [{"step": 1}, {"part": 1}, {"seed": 2}])
def test_steps_parts_and_seeds_draw_independent_masks(other: dict[str, int]) -> None:
    first, second = (mask > 0 for mask in (drawn(0.3), drawn(0.3, **other)))
    together = (first & second).double().mean().item()
    assert together == pytest.approx(0.49, abs=5 * (0.49 * 0.51 / MANY) ** 0.5)


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 64, 1000])
def test_neighbours_in_a_mask_are_independent(lag: int) -> None:
    kept = (drawn(0.3) > 0).double() - 0.7
    correlation = (kept[lag:] * kept[:-lag]).mean().item() / 0.21
    assert correlation == pytest.approx(0.0, abs=5 * MANY**-0.5)


def test_a_step_draws_the_same_whatever_was_drawn_before() -> None:
    masks = DropoutMasks(0.5, 9, CPU)
    for step, count in [(0, 1), (7, 5000), (1, 3)]:
        masks.draw(step, [(count,)])
    again = masks.draw(3, [(1000,)])
    assert again is not None
    torch.testing.assert_close(next(again), drawn(0.5, seed=9, step=3, count=1000), rtol=0, atol=0)


def given_masks(shapes: list[tuple[int, ...]]) -> Iterator[Tensor]:
    return iter([torch.ones(shape) for shape in shapes])


def alone(architecture: str, n: int) -> tuple[Network, Tensor]:
    network = build_network(SPECS[architecture], FEATURES, LOOKBACK, seeded(1))
    return network, torch.randn(n, LOOKBACK, FEATURES, generator=seeded(2))


@pytest.mark.parametrize("architecture", ALONE)
def test_a_network_uses_every_mask_it_requests_and_ones_change_nothing(architecture: str) -> None:
    network, windows = alone(architecture, 6)
    masks = given_masks(network.mask_shapes(6))
    torch.testing.assert_close(network(windows, masks), network(windows, None), rtol=0, atol=0)
    assert next(masks, None) is None


@pytest.mark.parametrize("architecture", JOINT)
@pytest.mark.parametrize("packed", [True, False])
def test_a_joint_network_uses_every_mask_it_requests_and_ones_change_nothing(architecture: str, packed: bool) -> None:
    network = build_joint_network(SPECS[architecture], FEATURES, LOOKBACK, seeded(1))
    present = torch.ones(2, TICKERS, dtype=torch.bool)
    present[0, 1] = not packed
    cells = torch.nonzero(present.flatten()).flatten()
    windows = torch.randn(len(cells), LOOKBACK, FEATURES, generator=seeded(2))
    places = cells if packed else None

    def predicted(masks: Masks) -> Tensor:
        return network(windows, present, places, masks)

    masks = given_masks(network.mask_shapes(len(cells), 2, TICKERS))
    torch.testing.assert_close(predicted(masks), predicted(None), rtol=0, atol=0)
    assert next(masks, None) is None


@pytest.mark.parametrize("architecture", ALONE)
def test_every_mask_matters_to_some_sample(architecture: str) -> None:
    network, windows = alone(architecture, 40)
    clean, shapes = network(windows, None), network.mask_shapes(40)
    for place in range(len(shapes)):
        masks = [torch.ones(shape) for shape in shapes]
        masks[place].select(shapes[place].index(40), 3).zero_()
        changed = (network(windows, iter(masks)) != clean).nonzero().flatten()
        assert changed.tolist() == [3], f"mask {place}"


def test_a_unit_of_an_lstm_is_dropped_on_all_rows_of_a_window_or_on_none() -> None:
    network, _ = alone("lstm", 4)
    assert [math.prod(shape) for shape in network.mask_shapes(4)] == [4 * 6, 4 * 5]


def test_all_but_dropped_at_a_rate_of_one_in_a_thousand_stays_finite() -> None:
    mask = drawn(0.999, count=1000)
    assert np.isfinite(mask.numpy()).all()
    assert mask.max() <= 1001
