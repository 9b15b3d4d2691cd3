from collections.abc import Callable

import numpy as np
import pytest
import torch
from mucast_engine.networks.joint.network import JointNetwork
from network_tasks import FEATURES, JOINT, LOOKBACK, SPECS, seeded
from network_twins import twin_of
from torch import Tensor

from mucast_engine.networks.architectures import build_joint_network

DATES, TICKERS = 6, 5

Compute = Callable[[JointNetwork, Tensor, Tensor], Tensor]


def network_of(architecture: str) -> JointNetwork:
    return build_joint_network(SPECS[architecture], FEATURES, LOOKBACK, seeded(1))


def market() -> tuple[Tensor, Tensor]:
    """Windows (dates, tickers, lookback, features), and who is present; ticker 2 never is on odd dates."""
    windows = torch.randn(DATES, TICKERS, LOOKBACK, FEATURES, generator=seeded(2))
    present = torch.ones(DATES, TICKERS, dtype=torch.bool)
    present[1::2, 2] = False
    present[3, :4] = False
    return windows, present


def dense(network: JointNetwork, windows: Tensor, present: Tensor) -> Tensor:
    with torch.no_grad():
        return network(windows.flatten(0, 1), present, None, None)


def packed(network: JointNetwork, windows: Tensor, present: Tensor) -> Tensor:
    cells = torch.nonzero(present.flatten()).flatten()
    with torch.no_grad():
        return network(windows.flatten(0, 1)[cells], present, cells, None)


@pytest.mark.parametrize("compute", [dense, packed])
@pytest.mark.parametrize("architecture", JOINT)
def test_every_date_depends_only_on_its_present_tickers(architecture: str, compute: Compute) -> None:
    network, (windows, present) = network_of(architecture), market()
    twin = twin_of(network, SPECS[architecture], FEATURES, LOOKBACK)
    found = compute(network, windows, present)
    for date in range(DATES):
        expected = twin(windows[date, present[date]])
        torch.testing.assert_close(found[date, present[date]], expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("architecture", JOINT)
def test_an_absent_ticker_changes_no_other(architecture: str) -> None:
    network, (windows, present) = network_of(architecture), market()
    before = dense(network, windows, present)
    windows[~present] = 100.0
    torch.testing.assert_close(dense(network, windows, present)[present], before[present], rtol=0, atol=0)


@pytest.mark.parametrize("architecture", JOINT)
def test_a_present_ticker_moves_all_others_of_its_date_and_of_no_other_date(architecture: str) -> None:
    network, (windows, present) = network_of(architecture), market()
    before = dense(network, windows, present)
    windows[2, 0] += 1.0
    moved = (dense(network, windows, present) - before).abs()
    assert (moved[2] > 1e-5).all()
    moved[2] = 0
    assert not moved.any()


@pytest.mark.parametrize("architecture", JOINT)
def test_the_order_of_tickers_is_the_order_of_their_returns(architecture: str) -> None:
    network, (windows, present) = network_of(architecture), market()
    order = torch.from_numpy(np.random.default_rng(4).permutation(TICKERS))
    found = dense(network, windows[:, order], present[:, order])
    there = present[:, order]
    expected = dense(network, windows, present)[:, order]
    torch.testing.assert_close(found[there], expected[there], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("architecture", JOINT)
def test_tickers_with_the_same_window_get_the_same_return(architecture: str) -> None:
    network, (windows, present) = network_of(architecture), market()
    windows[:, 1] = windows[:, 0]
    found = dense(network, windows, present)
    torch.testing.assert_close(found[0, 1], found[0, 0])
    assert (found[0, 3] - found[0, 0]).abs() > 1e-4


@pytest.mark.parametrize("architecture", JOINT)
def test_the_number_of_tickers_changes_no_weight(architecture: str) -> None:
    network, (windows, present) = network_of(architecture), market()
    one = dense(network, windows[:1, :1], present[:1, :1])
    assert one.shape == (1, 1)
    twin = twin_of(network, SPECS[architecture], FEATURES, LOOKBACK)
    torch.testing.assert_close(one[0], twin(windows[0, :1]), atol=1e-6, rtol=1e-5)
