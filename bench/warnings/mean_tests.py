"""Size and power of the verdict's tests, simulated: prints the tables of docs/warnings.md. Takes about three minutes on one core.

`npm run bench -- mean-tests` runs it. Seeds are fixed.
"""

import sys
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import stats

Values = npt.NDArray[np.float64]

REPETITIONS = 4_000
CHUNK = 250
TRAINING, WARM_UP = 500, 250
JUDGED = (250, 1_000)
REFIT_EVERY = 63
FOLDS = 5
# Of a day's return, in its standard deviations: .8 a year.
DRIFT = 0.05
CORRELATION = 0.10
# The first rows of a ticker do not count.
SKIPPED = 5

FEATURES = {
    "level": ["level"],
    "mean of 50": ["mean of 50"],
    "mean of 250": ["mean of 250"],
    "noise": ["noise"],
    "all four": ["level", "mean of 50", "mean of 250", "noise"],
}


def shocks(random: np.random.Generator, shape: tuple[int, int, int], market: str) -> Values:
    """Shape (repetitions, tickers, dates), mean 0."""
    if market == "normal":
        return random.standard_normal(shape)
    repetitions, tickers, dates = shape
    factor = random.standard_t(5, (repetitions, 1, dates))
    own = random.standard_t(5, shape)
    volatility = np.empty((repetitions, 1, dates))
    log = random.standard_normal((repetitions, 1)) * 0.4
    for d in range(dates):
        log = 0.98 * log + np.sqrt(1 - 0.98**2) * 0.4 * random.standard_normal((repetitions, 1))
        volatility[:, :, d] = np.exp(log)
    return volatility * (factor + own) / np.sqrt(2 * 5 / 3)


def trailing_mean(values: Values, dates: int) -> Values:
    total = np.cumsum(values, axis=-1)
    before = np.concatenate([np.zeros((*values.shape[:-1], dates)), total[..., :-dates]], axis=-1)
    return (total - before) / dates


def forecasts(x: Values, y: Values, delay: int, starts: list[int], end: int) -> Values:
    """Ridge (alpha 1) on scaled features, fitted anew at each start to the labels known then. Shape (series, end - starts[0])."""
    series, _, k = x.shape
    sums, squares = np.zeros((series, k + 1)), np.zeros((series, k + 1, k + 1))
    found = np.empty((series, end - starts[0]))
    fitted = 0
    for at, until in zip(starts, [*starts[1:], end], strict=True):
        rows = at - delay
        part = np.concatenate([np.ones((series, rows - fitted, 1)), x[:, fitted:rows]], axis=2)
        squares += np.matmul(part.transpose(0, 2, 1), part)
        sums += np.matmul(y[:, None, fitted:rows], part)[:, 0]
        fitted = rows
        means, mean_y = squares[:, 0, 1:] / rows, sums[:, 0] / rows
        covariance = squares[:, 1:, 1:] / rows - means[:, :, None] * means[:, None, :]
        with_y = sums[:, 1:] / rows - means * mean_y[:, None]
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        ridge = covariance + np.eye(k) * variance[:, :, None] / rows
        slopes = np.linalg.solve(ridge, with_y[:, :, None])[:, :, 0]
        blocks = x[:, at:until] - means[:, None, :]
        found[:, at - starts[0] : until - starts[0]] = mean_y[:, None] + np.matmul(blocks, slopes[:, :, None])[:, :, 0]
    return found


def order_t(p: Values, y: Values, deviation: Values, starts: list[int]) -> tuple[Values, int]:
    """The t of the order over time, and its dates: p and y of shape (repetitions, tickers, dates), models from `starts` on."""
    parts = []
    for at, until in zip(starts, [*starts[1:], p.shape[2]], strict=True):
        own = p[:, :, at:until]
        recursive = np.cumsum(own, axis=2) / np.arange(1, until - at + 1)
        v = (np.sign(own - recursive) * y[:, :, at:until] / deviation[:, :, None]).mean(axis=1)
        parts.append(v[:, max(1, SKIPPED - at) :])
    v = np.concatenate(parts, axis=1)
    return v.sum(axis=1) / np.sqrt((v**2).sum(axis=1)), v.shape[1]


def row_kinds(judged: int) -> dict[str, list[int]]:
    fold = judged // FOLDS
    return {
        "one model": [TRAINING],
        "refits": list(range(TRAINING, TRAINING + judged, REFIT_EVERY)),
        "folds": list(range(TRAINING, TRAINING + judged, fold)),
    }


def order_shares(market: str, tickers: int, delay: int, repetitions: int) -> Iterator[tuple[str, str, int, float]]:
    """The share of jobs with evidence, by features, kind of rows and judged dates."""
    counts: dict[tuple[str, str, int], int] = {}
    random = np.random.default_rng([7, tickers, delay, market == "normal"])
    dates = TRAINING + JUDGED[-1]
    for _ in range(repetitions // CHUNK):
        steps = shocks(random, (CHUNK, tickers, WARM_UP + dates + delay + 1), market)
        noise = random.standard_normal((CHUNK, tickers, dates))
        scale = steps.std(axis=2, keepdims=True)
        for name, columns in [*FEATURES.items(), ("power", ["noise"])]:
            returns = steps / scale + DRIFT
            if name == "power":
                signal = np.zeros_like(returns)
                signal[:, :, WARM_UP + delay + 1 :] = noise
                returns = CORRELATION * signal + np.sqrt(1 - CORRELATION**2) * steps / scale + DRIFT
            price = np.cumsum(returns, axis=2)
            all_columns = {
                "level": price,
                "mean of 50": price - trailing_mean(price, 50),
                "mean of 250": price - trailing_mean(price, 250),
            }
            own = [noise if c == "noise" else all_columns[c][:, :, WARM_UP : WARM_UP + dates] for c in columns]
            x = np.stack(own, axis=3).reshape(CHUNK * tickers, dates, len(own))
            y = returns[:, :, WARM_UP + delay + 1 :]
            flat = y.reshape(CHUNK * tickers, dates)
            for judged in JUDGED:
                end = TRAINING + judged
                for kind, starts in row_kinds(judged).items():
                    p = forecasts(x, flat, delay, starts, end).reshape(CHUNK, tickers, judged)
                    deviation = y[:, :, : end if kind == "folds" else TRAINING].std(axis=2)
                    t, dates_of_t = order_t(p, y[:, :, TRAINING:end], deviation, [at - TRAINING for at in starts])
                    quantile = stats.t.ppf(0.95, dates_of_t - 1)
                    key = (name, kind, judged)
                    counts[key] = counts.get(key, 0) + int((t >= quantile).sum())
    for key, count in counts.items():
        yield (*key, count / (repetitions // CHUNK * CHUNK))


def order_table(repetitions: int) -> None:
    print("\nOrder over time, evidence at a nominal 5 %: smallest and largest of 1 and 4 tickers, 250 and 1,000 dates")
    rows: dict[tuple[str, int, str, str], list[float]] = {}
    for market in ("normal", "factor, volatility, t(5)"):
        for delay in (0, 1):
            for tickers in (1, 4):
                for name, kind, judged, share in order_shares(market, tickers, delay, repetitions):
                    rows.setdefault((market, delay, kind, name), []).append(share)
                    print(f"  {market}; delay {delay}; {tickers} tickers; {name}; {kind}; {judged}: {share:.2%}", file=sys.stderr)
    names = [*FEATURES, "power"]
    print(f"| market | delay | rows | {' | '.join(names)} |")
    for market, delay, kind in dict.fromkeys(key[:3] for key in rows):
        cells = [rows[market, delay, kind, name] for name in names]
        shares = [f"{100 * min(cell):.1f} to {100 * max(cell):.1f} %" for cell in cells]
        print(f"| {market} | {delay} | {kind} | {' | '.join(shares)} |")


def cosine_errors(x: Values) -> Values:
    n = x.shape[1]
    terms = np.cos(np.pi * np.outer(np.arange(n) + 0.5, np.arange(1, 9)) / n) * np.sqrt(2 / n)
    return np.sqrt(((x @ terms) ** 2).mean(axis=1) / n)


def lag_errors(x: Values, lag: int = 5) -> Values:
    n = x.shape[1]
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred**2).sum(axis=1)
    for j in range(1, lag + 1):
        variance += 2 * (1 - j / (lag + 1)) * (centred[:, j:] * centred[:, :-j]).sum(axis=1)
    return np.sqrt(variance) / n


def fixed_b(n: int, one_sided: float) -> float:
    b = 6 / n
    a = {0.95: (1.6449, 2.1859, 0.3142, -0.3427), 0.975: (1.96, 2.9694, 0.416, -0.5324)}[one_sided]
    return sum(value * b**power for power, value in enumerate(a))


def autoregressive(random: np.random.Generator, draws: int, n: int, rho: float) -> Values:
    values = np.empty((draws, n))
    values[:, 0] = random.standard_normal(draws)
    step = np.sqrt(1 - rho**2) * random.standard_normal((draws, n))
    for d in range(1, n):
        values[:, d] = rho * values[:, d - 1] + step[:, d]
    return values


def mean_table(draws: int = 20_000) -> None:
    print("\nMeans over dates: two-sided misses of the 95 % band, and one-sided power at a mean of .06 deviations")
    print("| values | dates | misses, ewc_8 | misses, lag 5 | power, ewc_8 | power, lag 5 |")
    kinds = {
        "independent": lambda random, n: random.standard_normal((draws, n)),
        "autocorrelation .1": lambda random, n: autoregressive(random, draws, n, 0.1),
        "autocorrelation .3": lambda random, n: autoregressive(random, draws, n, 0.3),
        "2 % of the variance, autocorrelation .98": lambda random, n: (
            np.sqrt(0.98) * random.standard_normal((draws, n)) + np.sqrt(0.02) * autoregressive(random, draws, n, 0.98)
        ),
    }
    for name, draw in kinds.items():
        for n in (30, 60, 120, 250, 1_000):
            x = draw(np.random.default_rng([11, n]), n)
            means = x.mean(axis=1)
            cells = []
            for error, band in ((cosine_errors(x), 2.306), (lag_errors(x), fixed_b(n, 0.975))):
                cells.append(np.mean(np.abs(means) > band * error))
            for error, needed in ((cosine_errors(x), 1.8595), (lag_errors(x), fixed_b(n, 0.95))):
                cells.append(np.mean(means + 0.06 >= needed * error))
            print(f"| {name} | {n:,} | {' | '.join(f'{100 * cell:.1f} %' for cell in cells)} |")


if __name__ == "__main__":
    mean_table()
    order_table(int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS)
