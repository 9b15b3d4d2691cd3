"""Models of fewer trees from a longer fit, for libraries whose first trees do not depend on how many follow."""

import copy
from typing import Any

from mucast_engine.arrays import Matrix
from mucast_engine.estimator import Library


def first_trees(library: Library, model: Any, count: int, x: Matrix, y: Matrix) -> Any:
    """A model of the first `count` trees of `model`, which was fitted to `x` (n, k) and `y` (n).

    Its predictions and importances are those of a model fitted with `count` trees, bit for bit, for the arguments in
    `src/jobs/ml/candidates/tree-counts.ts`. With lightgbm it may be `model` itself, which then uses only these trees.
    """
    match library:
        case "lightgbm":
            if count < model.n_estimators and model.booster_.num_trees() < model.n_estimators:
                # A round that finds no split has no tree, and a later one may find one among other rows or features.
                # So the first trees may come from more rounds than a shorter fit has.
                return type(model)(**{**model.get_params(), "n_estimators": count}).fit(x, y)
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
