"""A network drops the same units in a stack as alone, whatever the sizes of the batches beside its own."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from network_tasks import ALONE, FEATURES, LOOKBACK, SPECS, seeded

from mucast_engine.networks.architectures import build_network
from mucast_engine.networks.dropout import DropoutMasks
from mucast_engine.networks.stack.masks import StackMasks

CPU = torch.device("cpu")
BATCH = 16


@pytest.mark.parametrize("architecture", ALONE)
@settings(max_examples=15, deadline=None, database=None)
@given(
    networks=st.lists(
        st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 1 << 40), st.integers(1, BATCH)), min_size=1, max_size=4
    ),
    rate=st.floats(0.01, 0.99),
)
def test_masks_equal_those_of_each_single_network(
    architecture: str, networks: list[tuple[int, int, int]], rate: float
) -> None:
    network = build_network(SPECS[architecture], FEATURES, LOOKBACK, seeded(1))
    seeds, steps, counts = zip(*networks, strict=True)
    masks = StackMasks(rate, seeds, network.mask_shapes, BATCH, CPU)
    drawn = masks.draw(torch.tensor(masks.starts(steps)), torch.tensor(counts))
    for number, (seed, step, count) in enumerate(networks):
        own = DropoutMasks(rate, seed, CPU).draw(step, network.mask_shapes(count))
        assert own is not None
        for mask, alone in zip(drawn, own, strict=True):
            assert torch.equal(mask[number].flatten()[: alone.numel()], alone.flatten())


def test_nothing_is_drawn_if_nothing_is_dropped() -> None:
    masks = StackMasks(0.0, [1], lambda n: [(n, 3)], BATCH, CPU)
    assert masks.draw(torch.tensor(masks.starts([0])), torch.tensor([BATCH])) == []
