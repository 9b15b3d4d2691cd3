"""The slow, obvious twin of run_dl_job: what can be known of its output without the weights it trained.

It shares no code with mucast or its engine; rows, metrics and intervals come from the twin of run_ml_job.
Usage: `python plain_network_job.py REQUEST.json`, where the request holds `[{"features": path, "prices": path, "runs":
[{"config": JSON text, "output": path, "vanishing": bool}, ...]}, ...]`. Forecasts are taken from the output and judged:
which dates have one, what was realised, and every figure computed from them. With `vanishing` the network is known to
forecast 0, so that losses and intervals are known too. stdout is a JSON array with one array of results per entry.
"""

import json
import math
import sys

import numpy as np
from plain_intervals import ends_by_method, interval_metrics, quantile_of, score_rows
from plain_intervals import settings_of as interval_settings_of
from plain_metrics import mean, mean_baseline, table, zero_baseline
from plain_models import MINIMUM_FIT_ROWS, known_by
from plain_order import order_worth
from plain_rows import MAX_GAP, is_number, iso, read_features, read_prices, resolve_window, rows_of
from plain_warnings import fit_entry, listing, median_spacing, told_of_all

MIN_TRAINING_SAMPLES = 30
JOINT = ("portfolio_lstm", "portfolio_transformer")
LOSSES = ("mse", "mae", "huber", "directional", "r2", "mahalanobis")


# --- Windows and parts ------------------------------------------------------------------------------------------


def windows_of(rows, lookback):
    """Days on which a window of fit rows and of score rows ends."""
    place = {d: i for i, d in enumerate(sorted(rows["x"]))}
    return (
        [d for d in rows["fit"] if place[d] >= lookback - 1],
        [d for d in rows["score"] if place[d] >= lookback - 1],
    )


def parts_of(days, intervals):
    """Train, validate and calibrate, in order of time. Shares in whole percent, so that nothing is rounded twice."""
    share = 15 if intervals else 20
    validate = max(1, share * len(days) // 100)
    calibrate = validate if intervals else 0
    train = len(days) - validate - calibrate
    return days[:train], days[train : train + validate], days[train + validate :]


def why_not(labels):
    if len(labels) < MIN_TRAINING_SAMPLES:
        return "insufficient_history"
    if max(labels) == min(labels) or np.std(labels) == 0:
        return "constant_target"
    return None


def plan_alone(rows, lookback, intervals):
    """The parts of one ticker as {day: label}, or the code with which it fails."""
    fit, score = windows_of(rows, lookback)
    train, validate, calibrate = parts_of(fit, intervals)
    train = known_by(rows, train, validate[0])
    validate = known_by(rows, validate, calibrate[0]) if calibrate else validate
    code = why_not([rows["label"][d] for d in train])
    if code:
        return code
    labelled = [{d: rows["label"][d] for d in part} for part in (train, validate, calibrate)]
    return {"train": labelled[0], "validate": labelled[1], "calibrate": labelled[2], "score": score}


def plan_together(panels, lookback, intervals, delay):
    """The same for all tickers on common dates: plans by ticker, and codes of the excluded ones."""
    windows = {ticker: windows_of(rows, lookback) for ticker, rows in panels.items()}
    codes = {}
    while True:
        there = {ticker: w for ticker, w in windows.items() if ticker not in codes}
        days = sorted({d for fit, _ in there.values() for d in fit})
        train, validate, calibrate = parts_of(days, intervals)
        learned = train[: len(train) - delay]
        watched = validate[: len(validate) - delay] if calibrate else validate
        plans = {}
        for ticker, (fit, score) in there.items():
            rows = panels[ticker]
            known = rows["label_day"]
            after = calibrate[0] if calibrate else math.inf
            plans[ticker] = {
                "train": {d: rows["label"][d] for d in fit if d in learned and known[d] <= validate[0]},
                "validate": {d: rows["label"][d] for d in fit if d in watched and known[d] <= after},
                "calibrate": {d: rows["label"][d] for d in fit if d in calibrate},
                "score": score,
            }
        left = {ticker: why_not(list(plan["train"].values())) for ticker, plan in plans.items()}
        left = {ticker: code for ticker, code in left.items() if code}
        if not left:
            return plans, codes
        codes.update(left)


# --- Losses of a network that forecasts 0 ------------------------------------------------------------------------


def scaled_labels(plans, part):
    """{day: {ticker: label / standard deviation of the ticker's training labels}}."""
    by_day = {}
    for ticker, plan in plans.items():
        deviation = np.std(list(plan["train"].values()))
        for d, label in plan[part].items():
            by_day.setdefault(d, {})[ticker] = label / deviation
    return by_day


def correlation_of_training(plans):
    """Ledoit-Wolf covariance of the scaled training labels, rescaled to unit diagonal."""
    from sklearn.covariance import ledoit_wolf

    train = scaled_labels(plans, "train")
    labels = np.array([[train[d].get(ticker, np.nan) for ticker in plans] for d in sorted(train)])
    centred = np.nan_to_num(labels - np.nanmean(labels, axis=0))
    covariance, _ = ledoit_wolf(centred)
    deviation = np.sqrt(np.diag(covariance))
    return covariance / np.outer(deviation, deviation)


def mahalanobis(plans, part):
    correlation = correlation_of_training(plans)
    order = list(plans)
    distances = []
    for labels in scaled_labels(plans, part).values():
        there = [order.index(ticker) for ticker in labels]
        e = np.array(list(labels.values()))
        block = correlation[np.ix_(there, there)]
        distances.append(float(e @ np.linalg.inv(block) @ e) / len(e))
    return mean(distances)


def loss_of_zero(loss, plans, part):
    """The loss of the forecast 0 over the whole part, as one batch; None if there is no label."""
    cells = [(ticker, z) for labels in scaled_labels(plans, part).values() for ticker, z in labels.items()]
    if not cells:
        return None
    if loss == "mahalanobis" and len(plans) > 1:
        return mahalanobis(plans, part)
    if loss == "directional":
        return 0.0
    if loss == "mae":
        return mean(abs(z) for _, z in cells)
    if loss == "huber":
        return mean(z * z / 2 if abs(z) <= 1 else abs(z) - 1 / 2 for _, z in cells)
    if loss == "r2":
        train = {t: list(plan["train"].values()) for t, plan in plans.items()}
        middle = {t: np.mean(labels) / np.std(labels) for t, labels in train.items()}
        around = math.fsum((z - middle[ticker]) ** 2 for ticker, z in cells)
        return math.fsum(z * z for _, z in cells) / max(around, 0.1 * len(cells))
    if loss in ("mse", "mahalanobis"):
        return mean(z * z for _, z in cells)
    raise SystemExit(f"the plain twin does not know the loss {loss}")


def zero_losses(loss, plans):
    """Losses known from the first step on: the second epoch's training loss, every epoch's validation loss."""
    return {
        "train_loss": loss_of_zero(loss, plans, "train"),
        "validation_loss": loss_of_zero(loss, plans, "validate"),
    }


# --- Networks ---------------------------------------------------------------------------------------------------


def parameters_of(option, given, lookback, features):
    """The number of parameters of a network. None if the contract leaves the layers open."""
    dense = lambda widths: sum((a + 1) * b for a, b in zip(widths, widths[1:]))
    if option == "mlp":
        return dense([lookback * features, *given.get("hidden_dims", [128, 64]), 1])
    if option == "lstm":  # Four gates, each with the input, the state and PyTorch's two biases.
        widths = [features, *given.get("hidden_dims", [64, 32])]
        return sum(4 * b * (a + b + 2) for a, b in zip(widths, widths[1:])) + dense([widths[-1], 1])
    return None


def union_of_features(panels, plans):
    """Names in order of first appearance, over the tickers that take part."""
    return list(dict.fromkeys(name for ticker in sorted(plans) for name in panels[ticker]["columns"]))


# --- The job ----------------------------------------------------------------------------------------------------


def judge(rows, plan, forecast, intervals, vanishing):
    """One ticker's expected entry in `forecasts`, given its predictions; also the ends if those of the residuals are
    known."""
    score, label = plan["score"], rows["label"]
    predicted = forecast["predicted"]
    training_mean = mean(label[d] for d in rows["fit"])
    result = {
        "forecast": {
            "dates": [iso(d) for d in score],
            "predicted": predicted,
            "realised": [label.get(d) for d in score],
            "lower": [None] * len(score),
            "upper": [None] * len(score),
        },
        "unsupported": False,
        "score": [(d, label[d], p, training_mean) for d, p in zip(score, predicted) if d in label],
        "predicted": dict(zip(score, predicted)),
    }
    if intervals is None:
        return result
    alpha, bound = intervals["alpha"], intervals["bound"]
    pairs = [(y, 0.0, d, rows["label_day"][d]) for d, y in plan["calibrate"].items()]
    dated = score_rows(rows, list(zip(score, predicted)))
    ends = ends_by_method(pairs, dated, alpha, bound)
    if not vanishing:
        ends = {intervals["method"]: given_ends(forecast, intervals)}
    result["unsupported"] = quantile_of(pairs, alpha, bound) is None
    result["intervals"] = {"pairs": pairs, "score": dated, "ends": ends}
    lower, upper = ends[intervals["method"]]
    result["forecast"].update(lower=lower, upper=upper)
    return result


def given_ends(forecast, intervals):
    """The ends of an output, if they are possible: the ends of `split` are all equally far from their forecast."""
    lower, upper = forecast["lower"], forecast["upper"]
    distances = [p - end for p, end in zip(forecast["predicted"], lower) if end is not None]
    distances += [end - p for p, end in zip(forecast["predicted"], upper) if end is not None]
    if intervals["bound"] == "both" and any((low is None) != (high is None) for low, high in zip(lower, upper)):
        raise SystemExit("a row has both ends or none")
    if intervals["method"] == "split" and distances and max(distances) - min(distances) > 1e-12:
        raise SystemExit(f"split intervals lie between {min(distances)} and {max(distances)} from their forecasts")
    return lower, upper


def settings_of(config):
    """The settings of a config that this script uses, defaults filled in. Intervals that are switched off are None."""
    params = json.loads(config)["NN params"]["Dot prediction"]
    option = params["current option"]
    loss = params.get("training_params", {}).get("loss_type", "r2")
    return {
        "option": option,
        "joint": option in JOINT,
        "lookback": params.get("data_processing", {}).get("lookback", 10),
        "delay": params.get("delay", 0),
        "loss": loss if loss in LOSSES else "mse",
        "intervals": interval_settings_of(params.get("intervals")),
        "network": params.get("models_params", {}).get(option, {}),
    }


def panels_of(prices, features, feature_days, window, delay):
    """Rows of each ticker, and the codes of those with too few."""
    start, end, learning_end = window
    panels, codes = {}, {}
    for ticker in sorted(t for t in prices if t in features):
        cut = end if learning_end is None else learning_end
        rows = rows_of(prices[ticker], features[ticker], feature_days, start, end, cut, delay)
        if len(rows["fit"]) < MINIMUM_FIT_ROWS or not rows["columns"]:
            codes[ticker] = "insufficient_history"
        else:
            panels[ticker] = rows
    return panels, codes


def plans_of(panels, settings):
    """Plans by ticker, and codes of those that cannot be trained."""
    lookback, intervals = settings["lookback"], settings["intervals"]
    if settings["joint"]:
        return plan_together(panels, lookback, intervals, settings["delay"])
    every = {ticker: plan_alone(rows, lookback, intervals) for ticker, rows in panels.items()}
    return (
        {ticker: plan for ticker, plan in every.items() if not isinstance(plan, str)},
        {ticker: plan for ticker, plan in every.items() if isinstance(plan, str)},
    )


def training_of(panels, plans, settings):
    """What is known about each network, by its name."""
    option, loss, lookback, given = (settings[key] for key in ("option", "loss", "lookback", "network"))
    if settings["joint"]:
        parameters = parameters_of(option, given, lookback, len(union_of_features(panels, plans)))
        return {"portfolio": {**zero_losses(loss, plans), "parameters": parameters}}
    return {
        ticker: {
            **zero_losses(loss, {ticker: plan}),
            "parameters": parameters_of(option, given, lookback, len(panels[ticker]["columns"])),
        }
        for ticker, plan in plans.items()
    }


def told_of(ticker, panels, plans, settings, unsupported):
    """The warnings of one trained ticker, except the one about being stale."""
    told = list(panels[ticker]["warnings"])
    if unsupported:
        told.append({"code": "interval_unsupported", "count": len(plans[ticker]["calibrate"])})
    if settings["joint"]:
        here = panels[ticker]["columns"]
        absent = [name for name in union_of_features(panels, plans) if name not in here]
        if absent:
            told.append({"code": "feature_absent", "count": len(absent), "features": absent})
    return [{**warning, "ticker": ticker} for warning in told]


def forecast_in(output, ticker, plan):
    forecast = output["forecasts"].get(ticker)
    if forecast is None or len(forecast["predicted"]) != len(plan["score"]):
        raise SystemExit(f"{ticker} has to have {len(plan['score'])} forecasts, but has {forecast}")
    return forecast


def splits_of(plan):
    parts = {name: sorted(plan[name]) for name in ("train", "validate", "calibrate")}
    return {name: {"start": iso(days[0]), "end": iso(days[-1])} if days else None for name, days in parts.items()}


def metrics_of(fitted, intervals, trained, prices, window, delay):
    score = {ticker: result["score"] for ticker, result in fitted.items()}
    forecasts = {ticker: result["predicted"] for ticker, result in fitted.items()}
    return {
        "score": {**table(score), **order_worth(forecasts, trained, prices, window, delay)},
        "baselines": {
            "zero": {"score": table(zero_baseline(score))},
            "mean": {"score": table(mean_baseline(score))},
        },
        "intervals": None
        if intervals is None
        else interval_metrics(intervals, {ticker: result["intervals"] for ticker, result in fitted.items()}),
    }


def run(bounds, prices, features, feature_days, request):
    with open(request["output"], encoding="utf-8") as file:
        output = json.load(file)
    settings = settings_of(request["config"])
    start, end, learning_end, defaulted = resolve_window(bounds, prices)
    as_of = max(
        d for by_day in prices.values() for d, p in by_day.items() if start <= d <= end and is_number(p) and p > 0
    )
    told = [{"code": "window_defaulted", "bound": key} for key in defaulted]
    told += [{"code": "no_prices", "ticker": t} for t in sorted(features) if t not in prices]
    told += [{"code": "no_features", "ticker": t} for t in sorted(prices) if t not in features]

    panels, codes = panels_of(prices, features, feature_days, (start, end, learning_end), settings["delay"])
    plans, left_out = plans_of(panels, settings)
    codes.update(left_out)
    fitted, mu, mu_dates = {}, {}, {}
    for ticker, plan in plans.items():
        forecast = forecast_in(output, ticker, plan)
        result = judge(panels[ticker], plan, forecast, settings["intervals"], request["vanishing"])
        fitted[ticker] = result
        told += told_of(ticker, panels, plans, settings, result["unsupported"])
        score = plan["score"]
        if score and score[-1] == panels[ticker]["last_price"] and as_of - score[-1] <= MAX_GAP:
            mu[ticker] = result["forecast"]["predicted"][-1]
            mu_dates[ticker] = score[-1]
        else:
            told.append({"code": "stale_ticker", "ticker": ticker})
    trained = {ticker: panels[ticker] for ticker in fitted}
    told += told_of_all(trained, mu_dates, as_of, {}, False)
    early = [name for name, network in output["training"].items() if network["best_epoch"] == 1]
    told += listing("chosen_early", early)
    return {
        "window": {
            "start": iso(start),
            "end": iso(end),
            "learning_end": None if learning_end is None else iso(learning_end),
            "as_of": iso(as_of),
            "median_spacing_days": median_spacing(trained),
            **({"delay": settings["delay"]} if settings["delay"] else {}),
        },
        "mu": mu,
        "mu_dates": {ticker: iso(d) for ticker, d in mu_dates.items()},
        "fits": {
            ticker: {**fit_entry(rows), "splits": splits_of(plans[ticker])} for ticker, rows in trained.items()
        },
        "forecasts": {ticker: result["forecast"] for ticker, result in fitted.items()},
        "training": training_of(panels, plans, settings),
        "metrics": metrics_of(fitted, settings["intervals"], trained, prices, (start, end), settings["delay"]),
        "held_out": {ticker: len(plan["calibrate"] or plan["validate"]) for ticker, plan in plans.items()},
        "warnings": told,
        "failures": [{"ticker": ticker, "code": codes[ticker]} for ticker in sorted(codes)],
    }


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    results = []
    for entry in request:
        bounds, prices = read_prices(entry["prices"])
        features, feature_days = read_features(entry["features"])
        results.append([run(bounds, prices, features, feature_days, one) for one in entry["runs"]])
    json.dump(results, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main()
