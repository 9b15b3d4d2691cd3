"""Refits as a user would write them, one after the other on one thread. Prints their seconds as one JSON object.

Reads `{"x": path, "y": path, "fits": [{"train": [a, b], "predict": [c, d]}, ...], "model": "ridge" | "lightgbm", "params": {...}}`
from stdin. Ridge learns from standardised features. The first fit runs twice, so that the imports are excluded.
"""

import json
import sys
import time

import numpy as np
from lightgbm import LGBMRegressor
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

given = json.load(sys.stdin)
params = given["params"]


def fit_all(x, y, fits):
    for fit in fits:
        (a, b), (c, d) = fit["train"], fit["predict"]
        if given["model"] == "lightgbm":
            LGBMRegressor(**params).fit(x[a:b], y[a:b]).predict(x[c:d])
        else:
            scaler = StandardScaler()
            model = Ridge(**params).fit(scaler.fit_transform(x[a:b]), y[a:b])
            model.predict(scaler.transform(x[c:d]))


started = time.process_time()
x, y = np.load(given["x"]), np.load(given["y"])
read = time.process_time() - started
fit_all(x, y, given["fits"][:1])
started, processor = time.perf_counter(), time.process_time()
fit_all(x, y, given["fits"])
seconds = {"seconds": time.perf_counter() - started, "processor": time.process_time() - processor, "read": read}
print(json.dumps(seconds))
