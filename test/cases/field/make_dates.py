"""Makes dates.json and the tables beside it, with pandas: daily bars as it stamps them, and their dates in their markets."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

folder = Path(__file__).parent
days = pd.bdate_range("2019-12-23", periods=220, name="Date")
rng = np.random.default_rng(53)
names = ["AAPL", "DAY", "MSFT"]
steps = rng.normal(0, 0.01, (len(days), 3)).round(4)
closes = pd.DataFrame(100 * np.exp(steps.cumsum(0)), days, names).round(3)
zones = ["Europe/Berlin", "Europe/London", "Asia/Tokyo", "America/New_York"]
stamps = {zone: days.tz_localize(zone).tz_convert("UTC") for zone in zones}
signals = closes.pct_change().round(6).stack().rename("signal").rename_axis(["date", "ticker"]).reset_index().reset_index()
signals = signals.rename_axis("level_1").reset_index().assign(**{"Unnamed: 0": range(len(signals))})
closes.tz_localize("America/New_York").to_parquet(folder / "own-midnight.parquet")
closes.set_axis(stamps["Europe/Berlin"]).to_parquet(folder / "utc.parquet")
signals.to_parquet(folder / "signals.parquet")
document = {
    "dates": days.strftime("%Y-%m-%d").to_list(),
    "closes": {name: closes[name].to_list() for name in names},
    "stamps": {zone: at.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_list() for zone, at in stamps.items()},
    "signals": json.loads(signals.assign(date=signals["date"].dt.strftime("%Y-%m-%d")).to_json(orient="records")),
}
(folder / "dates.json").write_text(json.dumps(document) + "\n")
