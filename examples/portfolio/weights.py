"""Portfolio weights from an output of mucast, with raw, shrunk and no mu side by side.

    python weights.py --output ml_engine_ID.json --prices prices.csv

Needs the packages of requirements.txt. An example and no advice: before costs, by one rule of many.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from skfolio.moments import BaseMu, LedoitWolf
from skfolio.optimization import MeanRisk, ObjectiveFunction
from skfolio.prior import EmpiricalPrior

TRADING_DAYS = 252
# Days whose returns the covariance is estimated from.
COVARIANCE_DAYS = 504
# How much a unit of variance costs in return, and the most that one ticker may get.
RISK_AVERSION = 5.0
MAX_PER_TICKER = 0.25


def tidy(output: dict) -> pd.DataFrame:
    """One row a forecast: date, predicted, lower, upper, realised, ticker, part."""
    parts = {"out_of_fold": output.get("cross_validation", {}), "score": output["forecasts"]}
    columns = ["dates", "predicted", "lower", "upper", "realised"]
    frames = [
        pd.DataFrame({name: rows.get(name) for name in columns}).assign(ticker=ticker, part=part)
        for part, tickers in parts.items()
        for ticker, rows in tickers.items()
    ]
    return pd.concat(frames).rename(columns={"dates": "date"}).astype({"date": "datetime64[ns]"})


def current_mu(output: dict) -> pd.DataFrame:
    """Log-returns of the next day by ticker: raw, times what the ticker's forecasts proved to be worth, and none."""
    as_of, dates = output["window"]["as_of"], output.get("mu_dates", {})
    # A forecast of an earlier date is no forecast of the next day.
    mu = pd.Series({ticker: mu for ticker, mu in output["mu"].items() if dates.get(ticker, as_of) == as_of})
    worth = output["metrics"]["shrinkage"]["by_ticker"]
    shrunk = mu * pd.Series({ticker: worth[ticker]["s"] for ticker in mu.index})
    return pd.DataFrame({"raw": mu, "shrunk": shrunk, "none": 0.0 * mu})


class GivenMu(BaseMu):
    """Expected simple returns that come from outside, in the order of the columns."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def fit(self, X: object, y: object = None) -> "GivenMu":  # noqa: N803 (skfolio passes X by its name)
        self.mu_ = np.asarray(self.values)
        return self


def weights(returns: pd.DataFrame, log_mu: pd.Series) -> pd.Series:
    """Weights of the most return less RISK_AVERSION times variance: none below 0, all together 1."""
    simple_mu = np.expm1(log_mu.to_numpy())
    model = MeanRisk(
        objective_function=ObjectiveFunction.MAXIMIZE_UTILITY,
        risk_aversion=RISK_AVERSION,
        max_weights=MAX_PER_TICKER,
        prior_estimator=EmpiricalPrior(mu_estimator=GivenMu(simple_mu), covariance_estimator=LedoitWolf()),
    )
    return pd.Series(model.fit(returns).weights_, index=returns.columns)


def percent(table: pd.DataFrame) -> str:
    # Rounded first, so that nothing is shown as -0.0.
    return (100 * table).round(1).add(0.0).map("{:.1f} %".format).to_string()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", required=True, help="the output of run_ml_job or run_dl_job")
    parser.add_argument("--prices", required=True, help="the prices that mucast prepare read")
    flags = parser.parse_args()
    output = json.loads(Path(flags.output).read_text(encoding="utf-8"))
    as_of, mu = output["window"]["as_of"], current_mu(output)
    # What was known at as_of, and no more.
    prices = pd.read_csv(flags.prices, index_col=0, parse_dates=True)[mu.index].loc[:as_of]
    returns = prices.pct_change().iloc[-COVARIANCE_DAYS:]
    chosen = pd.DataFrame({name: weights(returns, mu[name]) for name in mu})
    covariance = LedoitWolf().fit(returns).covariance_
    variance = np.einsum("ik,ij,jk->k", chosen, covariance, chosen)
    known = tidy(output).query("part == 'score'").dropna(subset="realised")
    errors = known["realised"] - known["predicted"]
    r2_zero = 1 - (errors**2).sum() / (known["realised"] ** 2).sum()
    print(f"{len(mu)} tickers as of {as_of}; R2 of the forecasts against zero: {100 * r2_zero:.2f} %\n")
    print("mu, log-returns times 252")
    print(percent(TRADING_DAYS * mu[["raw", "shrunk"]]))
    print("\nweights")
    print(percent(chosen))
    print("\na year of such days")
    year = {"mu of the portfolio": TRADING_DAYS * (mu * chosen).sum(), "volatility": np.sqrt(TRADING_DAYS * variance)}
    print(percent(pd.DataFrame(year, index=chosen.columns).T))


if __name__ == "__main__":
    main()
