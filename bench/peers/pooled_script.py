"""Pooled fits as a user would write them, one after the other on one thread. Prints their seconds as one JSON object.

Reads `{"x": path, "y": path, "fits": [{"train": [a, b], "predict": [c, d]}, ...], "params": {...}}` from stdin.
"""

import json
import sys
import time

import numpy as np
from lightgbm import LGBMRegressor

given = json.load(sys.stdin)
x, y = np.load(given["x"]), np.load(given["y"])
started, processor = time.perf_counter(), time.process_time()
for fit in given["fits"]:
    (a, b), (c, d) = fit["train"], fit["predict"]
    LGBMRegressor(**given["params"]).fit(x[a:b], y[a:b]).predict(x[c:d])
seconds = {"seconds": time.perf_counter() - started, "processor": time.process_time() - processor}
print(json.dumps(seconds))
