"""Layers and first weights. That the networks compute what PyTorch's own layers do is shown by their training."""

import math

import numpy as np
import pytest
import torch
from network_tasks import ALONE, FEATURES, JOINT, LOOKBACK, SPECS, seeded
from torch import Tensor, nn

from mucast_engine.networks.architectures import build_joint_network, build_network, start_quietly
from mucast_engine.networks.encoders import CnnEncoder


def windows_of(n: int, lookback: int = LOOKBACK) -> Tensor:
    return torch.randn(n, lookback, FEATURES, generator=seeded(2))


def plain_block(x: Tensor, layer: nn.Conv1d, pool: int) -> list[list[float]]:
    """One window (rows, features) through a convolution, ReLU and a pool, number by number."""
    weight, bias = layer.weight.detach().double(), layer.bias.detach().double()
    kernel, rows = weight.shape[2], len(x)
    found = []
    for row in range(rows):
        sums = [float(b) for b in bias]
        for place in range(kernel):
            seen = row + place - kernel // 2
            if 0 <= seen < rows:
                for out in range(len(sums)):
                    sums[out] += float(weight[out, :, place] @ x[seen].double())
        found.append([max(0.0, value) for value in sums])
    newest_first = [found[max(0, end - pool) : end] for end in range(rows, pool - 1, -pool)]
    return [[max(column) for column in zip(*rows, strict=True)] for rows in reversed(newest_first)]


@pytest.mark.parametrize(("lookback", "kernel", "pool"), [(9, 3, 2), (10, 4, 3), (10, 7, 1), (9, 1, 3), (9, 2, 1)])
def test_a_convolution_keeps_the_length_and_pools_end_on_the_last_row(lookback: int, kernel: int, pool: int) -> None:
    encoder = CnnEncoder(FEATURES, lookback, [3, 4], kernel, pool)
    windows = windows_of(2, lookback)
    for window, encoded in zip(windows, encoder(windows, None), strict=True):
        x = window
        for layer in encoder.layers:
            x = torch.tensor(plain_block(x, layer, pool))
        assert encoded.shape == (encoder.width,) == (x.numel(),)
        np.testing.assert_allclose(encoded.tolist(), x.flatten().tolist(), atol=1e-6)


@pytest.mark.parametrize("architecture", ALONE)
def test_the_order_of_a_windows_rows_matters(architecture: str) -> None:
    network = build_network(SPECS[architecture], FEATURES, LOOKBACK, seeded(1))
    windows = windows_of(5)
    turned = torch.cat([windows[:, :-1].flip(1), windows[:, -1:]], dim=1)
    assert ((network(turned, None) - network(windows, None)).abs() > 1e-4).all()


@pytest.mark.parametrize("architecture", [*ALONE, *JOINT])
def test_first_weights_depend_only_on_the_seed(architecture: str) -> None:
    build = build_joint_network if architecture in JOINT else build_network

    def first_weights(seed: int) -> dict[str, Tensor]:
        torch.rand(3)
        return build(SPECS[architecture], FEATURES, LOOKBACK, seeded(seed)).state_dict()

    one, same, other = first_weights(1), first_weights(1), first_weights(2)
    assert all(torch.equal(one[name], same[name]) for name in one)
    drawn = [name for name in one if "norm" not in name and "bias_" not in name]
    assert not any(torch.equal(one[name], other[name]) for name in drawn)


@pytest.mark.parametrize("architecture", ALONE)
def test_first_weights_of_layers_are_orthogonal_and_as_large_as_those_of_pytorch(architecture: str) -> None:
    spec = {**SPECS[architecture], "d_model": 64, "dim_feedforward": 128, "filters": [40, 50], "hidden_dims": [80, 60]}
    network = build_network(spec, 20, LOOKBACK, seeded(1))
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear | nn.Conv1d)]
    assert layers
    for layer in layers:
        rows = layer.weight.detach().flatten(1)
        # PyTorch's are uniform within this bound either way, with a variance of a third of its square.
        bound = 1 / math.sqrt(rows.shape[1])
        assert layer.bias.abs().max() <= bound
        assert rows.square().mean().item() == pytest.approx(bound**2 / 3)
        short = rows if rows.shape[0] <= rows.shape[1] else rows.T
        size = short.square().sum(1).mean()
        torch.testing.assert_close(short @ short.T, size * torch.eye(len(short)), atol=1e-5, rtol=1e-4)


def test_an_lstm_starts_with_orthogonal_recurrent_weights_and_forgetting_gates() -> None:
    network = build_network(SPECS["lstm"], FEATURES, LOOKBACK, seeded(1))
    for layer in network.encoder.layers:
        width = layer.hidden_size
        for gate in layer.weight_hh_l0.split(width):
            torch.testing.assert_close(gate @ gate.T, torch.eye(width), atol=1e-5, rtol=0)
        bias = (layer.bias_ih_l0 + layer.bias_hh_l0).split(width)
        assert (bias[1] < -1).all()
        assert not any(bias[gate].any() for gate in (0, 2, 3))


@pytest.mark.parametrize("architecture", [*ALONE, *JOINT])
def test_before_training_a_quiet_network_forecasts_little_more_than_its_level(architecture: str) -> None:
    build = build_joint_network if architecture in JOINT else build_network
    network = build(SPECS[architecture], FEATURES, LOOKBACK, seeded(1))
    present = torch.ones(5, 2, dtype=torch.bool)
    rest = (present, None, None) if architecture in JOINT else (None,)
    windows = windows_of(present.numel())
    without_bias = (network(windows, *rest) - network.readout.bias).detach()
    start_quietly(network, 0.25)
    beside = network(windows, *rest).detach() - 0.25
    torch.testing.assert_close(beside, without_bias / 100, atol=1e-6, rtol=1e-4)
    assert 0 < beside.abs().max() < 0.05
