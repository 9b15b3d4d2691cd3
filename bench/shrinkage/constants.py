"""Compares rules for the common factor of shrinkage on simulated panels; prints the table of docs/warnings.md.

    OMP_NUM_THREADS=1 python bench/shrinkage/constants.py

A panel has forecasts p with standard deviation `size` in units of the labels, and labels y = g p + e. The return g to the forecast
differs between dates as it does on panels of equities: its standard deviation is an IC of 0.10, and 2 % of its variance persist with an
autocorrelation of 0.98. Given the squares D of a date, its products are exactly N = g D + sqrt(D) e, so no ticker is drawn. The table
shows what a rule's factor s costs on later rows: the R² of b p, where b is the true slope, minus the R² of s p, in points.
"""

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

REPETITIONS = 4000
TERMS = 8
IC_DEVIATION = 0.10
PERSISTENT = 0.02
AUTOCORRELATION = 0.98
NEGATIVE_T = 1.86
PRIORS = [(0.3, 0.25), (0.2, 0.2), (0.4, 0.3), (0.3, 0.5)]


def ic_noise(rng: np.random.Generator, dates: int) -> np.ndarray:
    """Deviations of the IC by date from its mean, shape (REPETITIONS, dates)."""
    steady = rng.standard_normal((REPETITIONS, dates))
    persistent = np.empty_like(steady)
    persistent[:, 0] = rng.standard_normal(REPETITIONS)
    steps = np.sqrt(1 - AUTOCORRELATION**2) * rng.standard_normal((REPETITIONS, dates))
    for d in range(1, dates):
        persistent[:, d] = AUTOCORRELATION * persistent[:, d - 1] + steps[:, d]
    return IC_DEVIATION * (np.sqrt(1 - PERSISTENT) * steady + np.sqrt(PERSISTENT) * persistent)


def cosine_error(values: np.ndarray) -> np.ndarray:
    """The error of the mean over dates by equal-weighted cosine sums."""
    n = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    waves = np.cos(np.pi * np.arange(1, TERMS + 1)[:, None] * (np.arange(n) + 0.5) / n)
    return np.sqrt((2 / n * (centred @ waves.T) ** 2).mean(axis=1) / n)


def newey_west_error(values: np.ndarray) -> np.ndarray:
    """The same with a lag of 5, as in mucast 0.2."""
    n = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    variance = (centred**2).mean(axis=1)
    for lag in range(1, 6):
        variance += 2 * (1 - lag / 6) * (centred[:, lag:] * centred[:, :-lag]).sum(axis=1) / n
    return np.sqrt(variance / n)


def posterior(b: np.ndarray, se: np.ndarray, mean: float, deviation: float) -> np.ndarray:
    variance = 1 / (1 / se**2 + 1 / deviation**2)
    scale = np.sqrt(variance)
    centre = variance * (b / se**2 + mean / deviation**2)
    low, high = -centre / scale, (1 - centre) / scale
    inside = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    factor = centre + scale * (norm.pdf(low) - norm.pdf(high)) / inside
    return np.where(b + NEGATIVE_T * se < 0, 0.0, factor)


def factors(tickers: int, dates: int, ic: float, size: float, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    returns = (ic + ic_noise(rng, dates)) / size
    squares = size**2 * rng.chisquare(tickers - 1, (REPETITIONS, dates))
    products = returns * squares + np.sqrt(squares) * rng.standard_normal((REPETITIONS, dates))
    b = products.sum(axis=1) / squares.sum(axis=1)
    rest = products - b[:, None] * squares
    weight = squares.mean(axis=1)
    se, lag_5 = cosine_error(rest) / weight, newey_west_error(rest) / weight
    rules = {f"N({mean}, {deviation}²)": posterior(b, se, mean, deviation) for mean, deviation in PRIORS}
    return {**rules, "b - se": np.clip(b - lag_5, 0, 1)}


def print_table(size: float) -> None:
    header = ["IC", "slope", "tickers", "dates", *(f"N({m}, {d}²)" for m, d in PRIORS), "b - se", "mean s", "s = 0", "s = 0 by b - se"]
    print(f"\nForecasts with {100 * size:.0f} % of the standard deviation of labels\n")
    print("|", " | ".join(header), "|")
    print("|---" * len(header) + "|")
    for ic in (0, 0.01, 0.02, 0.05):
        for tickers in (20, 100, 500):
            for dates in (250, 1000):
                found = factors(tickers, dates, ic, size, seed=dates + tickers + int(1000 * ic))
                costs = [100 * size**2 * ((s - min(1, ic / size)) ** 2).mean() for s in found.values()]
                zeros = [f"{100 * (found[name] == 0).mean():.0f} %" for name in ("N(0.3, 0.25²)", "b - se")]
                cells = [f"{ic:.2f}", f"{ic / size:.1f}", str(tickers), f"{dates:,}", *(f"{cost:.3f}" for cost in costs)]
                print("|", " | ".join([*cells, f"{found['N(0.3, 0.25²)'].mean():.2f}", *zeros]), "|", flush=True)


if __name__ == "__main__":
    for forecast_size in (0.05, 0.10):
        print_table(forecast_size)
