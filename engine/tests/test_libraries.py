import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from regressors import NAMES, REGRESSORS

ENGINE = Path(__file__).parent.parent

# Imports one library as the host does, fits, and tells what that changed.
PROBE = """
import json, sys
from pathlib import Path
from mucast_engine.libraries import import_libraries
import numpy, mucast_engine.worker
library, name, params = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
import_libraries([library])
from mucast_engine.process import thread_count
threads, modules, pandas = thread_count(), set(sys.modules), "pandas" in sys.modules
from mucast_engine.estimator import make_estimator, make_scaler
x = numpy.random.default_rng(0).standard_normal((200, 3))
if library != "catboost":
    x = make_scaler("robust").fit_transform(x)
make_estimator({"library": library, "class": name}, params).fit(x, x[:, 0]).predict(x)
print(json.dumps({"threads": threads, "late": sorted(set(sys.modules) - modules), "pandas": pandas}))
"""


@pytest.mark.parametrize(
    "name", ["QuantileRegressor", "RandomForestRegressor", "XGBRegressor", "LGBMRegressor", "CatBoostRegressor"]
)
def test_the_import_starts_no_thread_and_leaves_nothing_for_the_first_fit_to_import(name: str) -> None:
    library, _, params = REGRESSORS[NAMES.index(name)]
    command = [sys.executable, "-P", "-c", PROBE, library, name, json.dumps(params)]
    env = {**os.environ, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found == {"threads": 1, "late": [], "pandas": library == "catboost"}


def test_the_status_tells_the_version_of_every_library() -> None:
    command = [sys.executable, "-P", "-m", "mucast_engine.status"]
    env = {**os.environ, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    libraries = json.loads(done.stdout)["libraries"]
    assert set(libraries) == {"numpy", "scipy", "scikit-learn", "xgboost", "lightgbm", "catboost"}
    assert all(found["version"] for found in libraries.values())
