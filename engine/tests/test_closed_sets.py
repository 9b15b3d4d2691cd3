"""Each set of names is complete wherever a name of it has to be listed a second time.

mypy checks the sets that a match covers (`unknown` in its last case); these tests check the tables.
"""

from typing import get_args

import loss_twins
import pytest
import torch
from network_tasks import ALONE, JOINT, LOSSES, SPECS
from regressors import REGRESSORS as PLAIN_REGRESSORS
from torch import nn

from mucast_engine import estimator, libraries, trial_params, worker
from mucast_engine.failure import TaskError
from mucast_engine.networks import scaling, tasks
from mucast_engine.networks.architectures import build_network, initialise

LIBRARIES = set(get_args(estimator.Library))


def test_every_library_has_regressors_packages_modules_and_arguments_of_a_trial() -> None:
    assert {library for library, _, _ in estimator.REGRESSORS.values()} == LIBRARIES
    assert libraries.DISTRIBUTIONS.keys() - {"torch", "ray"} == LIBRARIES
    assert libraries.REGRESSOR_MODULES.keys() == LIBRARIES
    assert trial_params.ARGUMENTS.keys() == LIBRARIES


def test_every_regressor_is_one_that_the_tests_fit() -> None:
    fitted = {(library, regressor.__name__) for library, regressor, _ in PLAIN_REGRESSORS}
    assert {(library, name) for library, name, _ in estimator.REGRESSORS.values()} == fitted


@pytest.mark.parametrize("model", estimator.REGRESSORS)
def test_the_module_of_a_regressor_has_its_class(model: str) -> None:
    library, name, _ = estimator.REGRESSORS[model]
    assert estimator.estimator_class(library, name).__name__ == name


def test_networks_have_the_scalers_of_regressors() -> None:
    assert scaling.SCALERS.keys() == estimator.SCALERS.keys() - {"none"}


def test_a_worker_knows_every_task_of_networks() -> None:
    assert set(get_args(worker.TaskKind)) == {"fit_predict", "trial", *get_args(tasks.NetworkTaskKind)}


def test_every_architecture_has_sizes_in_the_tests() -> None:
    assert SPECS.keys() == {*ALONE, *JOINT}


def test_every_loss_has_a_twin() -> None:
    assert [name for name in LOSSES if not hasattr(loss_twins, name)] == []


def test_no_layer_keeps_weights_from_the_global_generator() -> None:
    with pytest.raises(TypeError, match="no rule draws the first weights of Bilinear"):
        initialise(nn.Sequential(nn.Bilinear(2, 2, 2)), torch.Generator())


def test_a_name_outside_its_set_is_an_internal_error() -> None:
    with pytest.raises(TaskError, match="no architecture 'nosuch'") as caught:
        build_network({"architecture": "nosuch"}, 3, 8, torch.Generator())
    assert caught.value.code == "internal"
