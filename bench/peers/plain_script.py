"""What a user would write by hand: json, numpy, a loop over tickers and folds. Prints its timings as one JSON object.

`threads` is passed to the library; 0 leaves the library's own default.
"""

import json
import sys
import time
from importlib import import_module

started = time.perf_counter()
import numpy as np  # noqa: E402  the import is part of what is measured

CLASSES = {
    "lightgbm": ("lightgbm", "LGBMRegressor"),
    "xgboost": ("xgboost", "XGBRegressor"),
    "catboost": ("catboost", "CatBoostRegressor"),
    "random_forest": ("sklearn.ensemble", "RandomForestRegressor"),
    "ridge": ("sklearn.linear_model", "Ridge"),
}
THREADS = {"catboost": "thread_count", "ridge": None}

feature_path, price_path, config_path, threads = sys.argv[1:5]
config = json.load(open(config_path))["ML params"]
module, name = CLASSES[config["model"]]
regressor = getattr(import_module(module), name)
imported = time.perf_counter()

params = dict(config["model_params"])
if config["model"] == "lightgbm":
    params["verbose"] = -1
elif config["model"] == "catboost":
    params.update(verbose=False, allow_writing_files=False)
argument = THREADS.get(config["model"], "n_jobs")
if int(threads) and argument:
    params[argument] = int(threads)

features = json.load(open(feature_path))
prices = json.load(open(price_path))
price_row = {date: i for i, date in enumerate(prices["dates"])}
dates = features["dates"]
read = time.perf_counter()

size, splits = config["cv_test_size"], config["n_splits"]
fit_seconds, fits, checksum = 0.0, 0, 0.0
for ticker, columns in features["features"].items():
    x = np.array([[np.nan if v is None else v for v in column] for column in columns.values()], float).T
    price = np.array([prices["prices"][ticker][price_row[d]] for d in dates], float)
    y = np.append(np.log(price[1:] / price[:-1]), np.nan)
    rows = np.isfinite(x).all(axis=1)
    x, y = x[rows], y[rows]
    fit = np.flatnonzero(np.isfinite(y))
    n = len(fit)
    blocks = [(n - (splits - j) * size, n - (splits - j - 1) * size) for j in range(splits)]
    for a, b in [*blocks, (n, len(y))]:
        begun = time.perf_counter()
        model = regressor(**params)
        model.fit(x[:a], y[:a])
        checksum += float(np.sum(model.predict(x[a:b])))
        fit_seconds += time.perf_counter() - begun
        fits += 1

print(
    json.dumps(
        {
            "import": imported - started,
            "read": read - imported,
            "fit": fit_seconds,
            "fits": fits,
            "total": time.perf_counter() - started,
            "checksum": checksum,
        }
    )
)
