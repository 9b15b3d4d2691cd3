from collections.abc import Callable

import loss_twins
import numpy as np
import pytest
import torch
from network_tasks import LOSSES

from mucast_engine.arrays import Matrix
from mucast_engine.networks.losses import (
    Labels,
    Loss,
    LossName,
    MahalanobisLoss,
    label_correlation,
    make_loss,
    prediction_scale,
)

DATES, TICKERS = 13, 4
MEANS = [0.1, -0.2, 0.05, 0.3]
CORRELATION = loss_twins.correlation(np.random.default_rng(3).standard_normal((40, TICKERS)) @ np.tri(TICKERS))
CPU = torch.device("cpu")

Twin = Callable[[Matrix, Matrix], float]


def labels_of(y: Matrix) -> Labels:
    known = ~np.isnan(y)
    return Labels(torch.from_numpy(np.where(known, y, 0.0)), torch.from_numpy(known.astype(np.float64)))


def joint_case(name: LossName) -> tuple[Loss, Twin]:
    match name:
        case "mahalanobis":
            return InFloat64(CORRELATION, CPU), lambda p, y: loss_twins.mahalanobis(p, y, CORRELATION)
        case "r2":
            means = torch.tensor(MEANS, dtype=torch.float64)
            return make_loss(name, means), lambda p, y: loss_twins.r2(p, y, MEANS)
        case _:
            return make_loss(name, torch.tensor(0.0)), getattr(loss_twins, name)


class InFloat64(MahalanobisLoss):
    """The same loss on float64 errors; its inverses stay as exact as float32."""

    def _inverse(self, key: bytes, known: np.ndarray) -> torch.Tensor:
        return super()._inverse(key, known).double()


def data(missing: float) -> tuple[Matrix, Matrix]:
    """Predictions and labels (dates, tickers); every ticker keeps a label, the last date loses all if any miss."""
    random = np.random.default_rng(5)
    p, y = random.standard_normal((2, DATES, TICKERS))
    if missing > 0:
        y[random.random(y.shape) < missing] = np.nan
        y[0], y[-1] = 0.7, np.nan
    return p, y


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_and_its_gradient_equal_plain_loops_and_the_sums_of_pieces(name: LossName, missing: float) -> None:
    loss, twin = joint_case(name)
    p, y = data(missing)
    predictions, labels = torch.from_numpy(p).requires_grad_(), labels_of(y)
    found = loss.mean(predictions, labels)
    found.backward()
    assert found.item() == pytest.approx(twin(p, y), rel=1e-6)
    expected = loss_twins.finite_differences(lambda at: twin(at, y), p)
    np.testing.assert_allclose(predictions.grad, expected, atol=1e-6)
    assert not predictions.grad.numpy()[np.isnan(y)].any()
    pieces = zip(*(column.split(5) for column in (predictions.detach(), *labels)), strict=True)
    total = sum(loss.total(p, Labels(values, known)) for p, values, known in pieces)
    torch.testing.assert_close(total / loss.denominator(labels), found.detach())


@pytest.mark.parametrize("name", LOSSES)
def test_one_ticker_has_the_same_losses_and_mahalanobis_is_mse(name: LossName) -> None:
    p, y = (column[:, 0] for column in data(0.0))
    twin = (lambda p, y: loss_twins.r2(p, y, [0.25])) if name == "r2" else getattr(loss_twins, name)
    twin = loss_twins.mse if name == "mahalanobis" else twin
    loss = make_loss(name, torch.tensor(0.25, dtype=torch.float64))
    assert loss.mean(torch.from_numpy(p), labels_of(y)).item() == pytest.approx(twin(p, y), rel=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("error", [-1e17, 1e17])
def test_a_loss_and_its_gradient_are_finite_in_float32_if_the_squared_error_is(name: LossName, error: float) -> None:
    loss = MahalanobisLoss(CORRELATION, CPU) if name == "mahalanobis" else make_loss(name, torch.tensor(MEANS))
    labels = Labels(*(column.float() for column in labels_of(data(0.4)[1])))
    predictions = (labels.values + error).requires_grad_()
    found = loss.mean(predictions, labels)
    found.backward()
    assert found.isfinite()
    assert predictions.grad.isfinite().all()


@pytest.mark.parametrize(("deviation", "divisor"), [(0.05, 0.1), (0.5, 0.25)])
def test_r2_divides_by_the_spread_of_the_batch_but_by_at_least_a_tenth_per_label(
    deviation: float, divisor: float
) -> None:
    mean, y = 0.3, torch.tensor([-1.0, 1.0, 1.0, -1.0], dtype=torch.float64) * deviation + 0.3
    loss = make_loss("r2", torch.tensor(mean, dtype=torch.float64))
    assert loss.mean(y + 0.2, Labels(y, torch.ones_like(y))).item() == pytest.approx(0.04 / divisor)


def test_the_correlation_of_labels_follows_ledoit_and_wolf_with_a_diagonal_of_one() -> None:
    random = np.random.default_rng(11)
    labels = random.standard_normal((50, 5)) @ random.standard_normal((5, 5)) + [0, 1, 0, -2, 0]
    labels[random.random(labels.shape) < 0.2] = np.nan
    found = label_correlation(labels)
    np.testing.assert_allclose(found, loss_twins.correlation(labels), atol=1e-12)
    np.testing.assert_array_equal(np.diag(found), np.ones(5))
    assert np.abs(found - np.eye(5)).max() > 0.1


def test_dates_with_many_sets_of_tickers_use_the_block_of_each() -> None:
    tickers = 8
    random = np.random.default_rng(2)
    s = loss_twins.correlation(random.standard_normal((60, tickers)) @ random.standard_normal((tickers, tickers)))
    p, y = random.standard_normal((2, 150, tickers))
    y[random.random(y.shape) < 0.5] = np.nan
    assert len({row.tobytes() for row in np.isnan(y)}) > 64
    loss = InFloat64(s, CPU)
    for _ in range(2):
        found = loss.mean(torch.from_numpy(p), labels_of(y)).item()
        assert found == pytest.approx(loss_twins.mahalanobis(p, y, s), rel=1e-5)


def test_predictions_of_undetermined_size_are_scaled_by_least_squares_minus_its_error() -> None:
    p, y = data(0.4)
    y = np.where(np.isnan(y), np.nan, y + p)
    expected = loss_twins.scale(p, y)
    assert 0.2 < expected < 1
    assert prediction_scale(torch.from_numpy(p), labels_of(y)) == pytest.approx(expected)
    own = np.array([0.5, -1.0, 2.0])
    # Too small ones are not enlarged; what is against the returns, or zero, or within its own error is scaled to zero.
    for forecasts, labels, scale in [
        (own / 3, own, 1.0),
        (-3 * own, own, 0.0),
        (0 * own, own, 0.0),
        (np.ones(4), np.array([1.0, -1.0, 1.0, 0.0]), 0.0),
    ]:
        assert prediction_scale(torch.from_numpy(forecasts), labels_of(labels)) == scale
