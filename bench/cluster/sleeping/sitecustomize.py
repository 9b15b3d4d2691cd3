"""Makes a fit of the engine on a node sleep for as many seconds as its `alpha` says, and cost nothing: then the time that a
job takes is that of the cluster alone, on however few cores its nodes are. Python imports this file where it lies on
PYTHONPATH, before the engine.
"""

import sys
import time
from typing import Any

if next((word for word in sys.orig_argv if word.endswith(".py")), "").endswith("default_worker.py"):  # Ray's.
    import numpy as np

    from mucast_engine import fit_predict

    def sleep(task: Any, fit: Any, *_: Any) -> tuple[list[tuple[Any, None]], list[Any]]:
        time.sleep(task["estimator"]["params"]["alpha"])
        return [(np.zeros(fit["predict"][1] - fit["predict"][0]), None)], []

    fit_predict._one_fit = sleep
