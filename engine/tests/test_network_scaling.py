import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from mucast_engine.arrays import Matrix
from mucast_engine.networks.scaling import fit_scaling, scaled

SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler, "maxabs": MaxAbsScaler}
MAX_SCALED = 1e12

# NumPy warns that sums of squares overflow; the tests check the scaled features.
overflowing = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# Eighths: sums of them are exact, so that a feature is constant for both or for neither.
panels = st.tuples(st.integers(2, 16), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-80_000, 80_000).map(lambda number: number / 8))
)


@pytest.mark.parametrize("scaler", SCALERS)
@settings(max_examples=30)
@given(x=panels, share=st.floats(0.1, 1.0), z=st.integers(0, 2))
def test_a_scaler_is_scikit_learns_and_leaves_z_scores_as_they_are(
    scaler: str, x: Matrix, share: float, z: int
) -> None:
    known = max(2, round(share * len(x)))
    assume((x[:known].max(axis=0) > x[:known].min(axis=0)).all())
    if scaler == "robust":
        assume((np.subtract(*np.quantile(x[:known], [0.75, 0.25], axis=0)) > 0).all())
    expected = SCALERS[scaler]().fit(x[:known]).transform(x)
    scores = x[:, :1] ** 2 * np.ones(z)
    both = np.concatenate([x, scores], axis=1)
    found = scaled(both, fit_scaling(scaler, both[:known], z))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[:, : x.shape[1]], expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found[:, x.shape[1] :], scores.astype(np.float32))


@pytest.mark.parametrize("level", [0.0, 0.3, -7e5])
def test_the_standard_deviation_replaces_quartiles_that_coincide_up_to_rounding(level: float) -> None:
    x = np.full((300, 1), level)
    x[::2] += np.spacing(max(abs(level), 0.1))
    x[::30] += 1.0
    assert len(np.unique(np.quantile(x, [0.25, 0.75]))) == 2
    np.testing.assert_allclose(scaled(x, fit_scaling("robust", x)), (x - level) / x.std(), atol=1e-5)


@overflowing
@pytest.mark.parametrize("scaler", SCALERS)
@settings(max_examples=30)
@given(value=st.floats(-1e200, 1e200), later=st.floats(-1e200, 1e200), rows=st.integers(1, 30))
def test_a_constant_feature_becomes_zero_even_if_it_differs_later(
    scaler: str, value: float, later: float, rows: int
) -> None:
    x = np.column_stack([np.full(rows + 1, value), np.arange(rows + 1.0)])
    x[-1, 0] = later
    found = scaled(x, fit_scaling(scaler, x[:rows]))
    np.testing.assert_array_equal(found[:, 0], np.zeros(rows + 1))
    assert rows == 1 or found[:, 1].any()


@overflowing
@pytest.mark.parametrize("scaler", SCALERS)
@settings(max_examples=30)
@given(x=arrays(np.float64, (6, 2), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_whatever_is_finite_stays_finite_and_is_cut_to_the_range_of_the_networks(scaler: str, x: Matrix) -> None:
    assert np.abs(scaled(x, fit_scaling(scaler, x[:4]))).max() <= MAX_SCALED
    far = np.array([[-1.0], [0.0], [2.0], [3.0], [1e300], [-1e300]])
    found = scaled(far, fit_scaling(scaler, far[:4]))[4:, 0]
    np.testing.assert_array_equal(found, np.float32([MAX_SCALED, -MAX_SCALED]))
