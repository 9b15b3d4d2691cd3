"""Models of fewer trees from a longer fit, for libraries whose first trees do not depend on how many follow."""

import copy
from typing import Any

from mucast_engine.estimator import Library


def first_trees(library: Library, model: Any, count: int) -> Any:
    """A model of the first `count` trees of `model`; with lightgbm `model` itself, which then uses only these.

    Its predictions and importances are bit for bit those of a model that was fitted with `count` trees, if the caller
    asks only for arguments under which this holds; `src/jobs/ml/tree-counts.ts` lists them.
    """
    match library:
        case "lightgbm":
            # Predictions and importances stop here by default.
            model.booster_.best_iteration = count
            return model
        case "xgboost":
            shorter = copy.copy(model)
            shorter._Booster = model.get_booster()[:count]
            return shorter
        case "catboost":
            shorter = model.copy()
            shorter.shrink(ntree_end=count)
            # Its importances are those of the whole model until they are computed again.
            shorter.get_feature_importance(type="PredictionValuesChange", thread_count=1)
            return shorter
        case "sklearn":
            shorter = copy.copy(model)
            shorter.estimators_ = model.estimators_[:count]
            return shorter
