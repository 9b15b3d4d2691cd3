"""The slow, obvious twin of `verdict`, written from docs/semantics.md; shares no code with mucast.

Rows of a ticker are (day, realised, predicted, training mean), days ascending.
"""

import math
import statistics

from plain_worth import by_day, method_of, quantile_of_mean, t_of_mean
from scipy import stats

MIN_DATES = 30
HEADLINE_DATES = 250
ORDER_TICKERS = 5
SAME = 1e-6
ROUNDING = 1e-12


def quantile_of(n, probability):
    """The t that chance exceeds; None for too few dates."""
    return None if n < MIN_DATES else quantile_of_mean(n, probability)


def t_over_dates(values, scale):
    """Infinite if the values are equal up to rounding, None if they are 0 or there are none."""
    if not values:
        return None
    floor = ROUNDING * scale
    centre = math.fsum(values) / len(values)
    if statistics.pstdev(values) > floor:
        return t_of_mean(values)
    return math.inf if centre > floor else -math.inf if centre < -floor else None


def correlation(a, b):
    ma, mb = math.fsum(a) / len(a), math.fsum(b) / len(b)
    xs, ys = [x - ma for x in a], [y - mb for y in b]
    spread = math.sqrt(math.fsum(x * x for x in xs) * math.fsum(y * y for y in ys))
    return None if max(a) == min(a) or max(b) == min(b) else math.fsum(x * y for x, y in zip(xs, ys)) / spread


def beyond_mean(rows):
    """What the forecasts of some rows add to their training means: the residual of a regression on these and a
    constant."""
    ps, ms = [row[2] for row in rows], [row[3] for row in rows]
    cp, cm = math.fsum(ps) / len(ps), math.fsum(ms) / len(ms)
    squares = math.fsum((m - cm) ** 2 for m in ms)
    slope = math.fsum((p - cp) * (m - cm) for p, m in zip(ps, ms)) / squares if squares > 0 else 0
    rest = [p - cp - slope * (m - cm) for p, m in zip(ps, ms)]
    is_rounding = math.fsum(r * r for r in rest) <= 1e-12 * math.fsum(p * p for p in ps)
    return [0.0] * len(rest) if is_rounding else rest


def order_by_date(rows, part, deviations):
    """The form of the order and its value on each date that counts; `part` selects what to rank across tickers."""
    wide = [[row for _, row in date] for date in by_day(rows) if len(date) >= ORDER_TICKERS]
    if len(wide) >= MIN_DATES:
        ics = [correlation(part(date), [row[1] for row in date]) for date in wide]
        return "cross_section", [ic for ic in ics if ic is not None]
    signed = {ticker: signed_returns(own, deviations[ticker]) for ticker, own in rows.items()}
    return "time_series", [statistics.fmean(row[1] for _, row in date) for date in by_day(signed)]


def signed_returns(own, deviation):
    """(day, return on the side of the forecast in deviations), from the ticker's sixth row and each model's second row on."""
    signed = []
    for i, (day, y, p, m) in enumerate(own):
        same = i
        while same > 0 and own[same - 1][3] == m:  # The rows of the same model have one training mean.
            same -= 1
        if i < 5 or same == i:
            continue
        centre = math.fsum(row[2] for row in own[same : i + 1]) / (i + 1 - same)
        side = 0 if abs(p - centre) <= 1e-6 * abs(centre) else math.copysign(1, p - centre)
        if deviation > 0:
            signed.append((day, side * y / deviation))
    return signed


def finite(value):
    return None if value is None or not math.isfinite(value) else value


def order_of(rows, deviations):
    dates_given = len(by_day({t: own for t, own in rows.items() if any(row[1] != 0 for row in own)}))
    form, values = order_by_date(rows, lambda part: [row[2] for row in part], deviations)
    n, is_across = len(values), form == "cross_section"
    figure = statistics.fmean(values) if values else None
    if is_across:
        t, quantile, method = t_over_dates(values, 1), quantile_of(n, 0.95), method_of(n)
        _, of_mean = order_by_date(rows, lambda part: [row[3] for row in part], deviations)
        _, added = order_by_date(rows, beyond_mean, deviations)
        added_t, added_quantile = t_over_dates(added, 1), quantile_of(len(added), 0.95)
        adds = added_t is not None and added_quantile is not None and added_t >= added_quantile
        more = {"added_figure": statistics.fmean(added) if added else None, "added_t": finite(added_t)}
        mean_figure = statistics.fmean(of_mean) if of_mean else None
    else:
        squares = math.fsum(v * v for v in values)
        t, method = math.fsum(values) / math.sqrt(squares) if squares > 0 else None, "student"
        quantile = None if n < MIN_DATES else float(stats.t.ppf(0.95, n - 1))
        adds, more, mean_figure = True, {}, None
    if dates_given < MIN_DATES:
        state = "too_few"
    elif quantile is None or t is None:
        state = "none" if t is None else "too_few"
    elif t <= -quantile:
        state = "worse"
    else:
        state = "evidence" if t >= quantile and adds else "none"
    found = {"state": state, "form": form, "figure": figure, "mean_figure": mean_figure, "dates": n}
    return {**found, **more, "t": finite(t), "quantile": quantile, "method": method}


def sizes_of(rows):
    scaled = {}
    for ticker, own in rows.items():
        unit = math.sqrt(math.fsum(row[1] ** 2 for row in own) / len(own)) if own else 0
        if unit > 0:
            scaled[ticker] = [(d, y / unit, p / unit, m / unit) for d, y, p, m in own]
    dates = by_day(scaled)
    quantile = quantile_of(len(dates), 0.975)
    against, t = {}, {}
    for name, baseline in {"zero": lambda row: 0.0, "mean": lambda row: row[3]}.items():
        every = [row for own in scaled.values() for row in own]
        scale = math.fsum(y * y + p * p + baseline(row) ** 2 for row in every for _, y, p, _ in [row])
        differs = [[row for _, row in date if abs(row[2] - baseline(row)) > SAME] for date in dates]
        nested = [math.fsum(2 * (r[1] - baseline(r)) * (r[2] - baseline(r)) for r in date) for date in differs]
        gains = [math.fsum((r[1] - baseline(r)) ** 2 - (r[1] - r[2]) ** 2 for r in date) for date in differs]
        errors = math.fsum((row[1] - baseline(row)) ** 2 for row in every)
        unit = scale / len(dates) if dates else 0
        t[name] = [t_over_dates(nested, unit), t_over_dates(gains, unit)]
        against[name] = {
            "r2": math.fsum(gains) / errors if errors > 0 else None,
            "clark_west_t": finite(t[name][0]),
            "squared_error_t": finite(t[name][1]),
        }
    informative = quantile is not None and all(t[name][0] is not None and t[name][0] >= quantile for name in t)
    zero, mean = against["zero"]["r2"], against["mean"]["r2"]
    best = "mean" if zero is not None and mean is not None and mean < zero else "zero"
    if quantile is None:
        state = "too_few"
    elif t["zero"][1] is not None and t["zero"][1] <= -quantile:
        state = "worse"
    else:
        gains = quantile is not None and all(t[name][1] is not None and t[name][1] >= quantile for name in t)
        state = "evidence" if informative and gains else "none"
    return {
        "state": state,
        "method": method_of(len(dates)),
        "figure": against[best]["r2"],
        "informative": informative,
        "best_baseline": best,
        "dates": len(dates),
        "t": against[best]["clark_west_t"],
        "quantile": quantile,
        "against": against,
    }


def state_of(order, sizes):
    if sizes["state"] == "too_few":
        return "too_few"
    if order["state"] == "evidence" or sizes["informative"]:
        r2 = sizes["against"]["zero"]["r2"]
        return "oversized" if r2 is not None and r2 < 0 else "skill"
    return "worse" if "worse" in (order["state"], sizes["state"]) else "none"


def verdict_of(held_out, score, deviations):
    """`deviations` of each ticker's fit labels. The state and the findings, without their sentences and intervals; None without a ticker."""
    if not held_out:
        return None
    judged = []
    for name, rows in {"out_of_fold": held_out, "score": {t: own for t, own in score.items() if own}}.items():
        if rows:
            judged.append({"rows": name, "order": order_of(rows, deviations), "sizes": sizes_of(rows)})
    if judged[-1]["rows"] == "score" and judged[-1]["sizes"]["dates"] >= HEADLINE_DATES:
        judged.reverse()
    headline = judged[0]
    return {"state": state_of(headline["order"], headline["sizes"]), "rows": headline["rows"], "judged": judged}


def warnings_of(verdict, chooses, wild):
    """For all tickers together; `chooses` is whether shrinkage is set, `wild` tickers whose forecasts are too large."""
    told = []
    if verdict is not None and verdict["state"] == "oversized":
        if not chooses or verdict["rows"] == "score":
            told.append({"code": "oversized"})
    elif verdict is not None and verdict["state"] != "skill":
        told.append({"code": "no_skill"})
    if wild:
        told.append({"code": "wild_forecast", "count": len(wild), "names": wild})
    return told
