import math

import numpy as np
import pytest
import torch
from dropout_twin import mask_twins, splitmix64
from hypothesis import given, settings
from hypothesis import strategies as st
from network_tasks import ALONE, FEATURES, LOOKBACK, SPECS, seeded
from torch import Tensor

from mucast_engine.networks.architectures import build_network
from mucast_engine.networks.dropout import DropoutMasks, StackMasks

CPU = torch.device("cpu")
SHAPES = [(5, 1, 7), (5, 3), (11,)]
MANY = 200_000
BATCH = 16


def drawn(rate: float, seed: int = 1, step: int = 0, part: int = 0, count: int = MANY) -> Tensor:
    """One flat mask."""
    masks = DropoutMasks(rate, seed, CPU).draw(step, [(count,)], part)
    assert masks is not None
    return next(masks)


def test_the_generator_of_the_twin_gives_the_first_numbers_of_splitmix64() -> None:
    # Steele, Lea, Flood: state 1234567, as printed with the reference implementation in C.
    golden = 0x9E3779B97F4A7C15
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [splitmix64(1234567 + golden * place) for place in range(1, 5)] == published


@pytest.mark.parametrize(
    ("rate", "seed", "step", "part"), [(0.1, 0, 0, 0), (0.5, 42, 3, 0), (0.999, 2**62 + 1, 10_000, 2)]
)
def test_masks_equal_those_from_plain_integers_whatever_was_drawn_before(
    rate: float, seed: int, step: int, part: int
) -> None:
    drawing = DropoutMasks(rate, seed, CPU)
    drawing.draw(7, [(5000,)])
    masks = drawing.draw(step, SHAPES, part)
    assert masks is not None
    for mask, twin in zip(masks, mask_twins(rate, seed, step, SHAPES, part), strict=True):
        assert mask.dtype == torch.float32
        torch.testing.assert_close(mask, twin, rtol=1e-6, atol=0)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.999])
def test_the_requested_share_is_dropped_and_the_rest_is_scaled_up(rate: float) -> None:
    mask = drawn(rate)
    deviation = (rate * (1 - rate) / MANY) ** 0.5
    assert (mask == 0).double().mean().item() == pytest.approx(rate, abs=4 * deviation + 1 / 65536)
    assert mask.double().mean().item() == pytest.approx(1.0, abs=4 * deviation / (1 - rate))
    assert np.isfinite(mask.numpy()).all()


@pytest.mark.parametrize("rate", [0.0, 1e-6])
def test_nothing_is_dropped_at_rate_zero(rate: float) -> None:
    assert DropoutMasks(rate, 1, CPU).draw(0, SHAPES) is None
    masks = StackMasks(rate, [1], lambda n: [(n, 3)], BATCH, CPU)
    assert masks.draw(torch.tensor(masks.starts([0])), torch.tensor([BATCH])) == []


def test_steps_parts_seeds_and_neighbours_are_independent() -> None:
    first = drawn(0.3) > 0
    others = [drawn(0.3, **other) > 0 for other in ({"step": 1}, {"part": 1}, {"seed": 2})]
    for other in [*others, *(first.roll(lag) for lag in (1, 2, 3, 4, 64, 1000))]:
        together = (first & other).double().mean().item()
        assert together == pytest.approx(0.49, abs=5 * (0.49 * 0.51 / MANY) ** 0.5)


@pytest.mark.parametrize("architecture", ALONE)
def test_every_mask_matters_to_its_sample_alone(architecture: str) -> None:
    network = build_network(SPECS[architecture], FEATURES, LOOKBACK, seeded(1))
    windows = torch.randn(40, LOOKBACK, FEATURES, generator=seeded(2))
    clean, shapes = network(windows, None), network.encoder.mask_shapes(40)
    for place in range(len(shapes)):
        masks = [torch.ones(shape) for shape in shapes]
        masks[place].select(shapes[place].index(40), 3).zero_()
        changed = (network(windows, iter(masks)) != clean).nonzero().flatten()
        assert changed.tolist() == [3], f"mask {place}"
    if architecture == "lstm":
        # A unit is dropped on all rows of a window or on none.
        assert [math.prod(shape) for shape in shapes] == [40 * 6, 40 * 5]


@pytest.mark.parametrize("architecture", ALONE)
@settings(max_examples=15, database=None)
@given(
    networks=st.lists(
        st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 1 << 40), st.integers(1, BATCH)), min_size=1, max_size=4
    ),
    rate=st.floats(0.01, 0.99),
)
def test_a_network_drops_the_same_units_in_a_stack_whatever_the_batches_beside_its_own(
    architecture: str, networks: list[tuple[int, int, int]], rate: float
) -> None:
    shapes_of = build_network(SPECS[architecture], FEATURES, LOOKBACK, None).encoder.mask_shapes
    seeds, steps, counts = zip(*networks, strict=True)
    masks = StackMasks(rate, seeds, shapes_of, BATCH, CPU)
    drawn = masks.draw(torch.tensor(masks.starts(steps)), torch.tensor(counts))
    for number, (seed, step, count) in enumerate(networks):
        own = DropoutMasks(rate, seed, CPU).draw(step, shapes_of(count))
        assert own is not None
        for mask, alone in zip(drawn, own, strict=True):
            assert torch.equal(mask[number].flatten()[: alone.numel()], alone.flatten())
