"""Each set of names is complete wherever a name of it has to be listed a second time."""

from typing import get_args

import loss_twins
import pytest
import torch
from network_tasks import ALONE, JOINT, LOSSES, SPECS, TRAINING
from regressors import REGRESSORS as PLAIN_REGRESSORS
from torch import nn

from mucast_engine import estimator, libraries, trial, worker
from mucast_engine.failure import TaskError
from mucast_engine.networks import scaling, tasks
from mucast_engine.networks.architectures import build_network, initialise
from mucast_engine.networks.losses import make_loss
from mucast_engine.networks.optimisers import FlatWeights, Optimiser, OptimiserName, StackOptimiser


def test_every_library_has_regressors_packages_modules_and_arguments_of_a_trial() -> None:
    names = set(get_args(estimator.Library))
    assert {library for library, _, _ in estimator.REGRESSORS.values()} == names
    assert libraries.DISTRIBUTIONS.keys() - {"torch", "ray"} == libraries.REGRESSOR_MODULES.keys() == names
    assert trial.ARGUMENTS.keys() == names


def test_every_regressor_exists_and_is_one_that_the_tests_fit() -> None:
    fitted = {(library, regressor.__name__) for library, regressor, _ in PLAIN_REGRESSORS}
    assert {(library, name) for library, name, _ in estimator.REGRESSORS.values()} == fitted
    for library, name, _ in estimator.REGRESSORS.values():
        assert estimator.estimator_class(library, name).__name__ == name


def test_networks_have_the_scalers_of_regressors() -> None:
    assert scaling.SCALERS.keys() == estimator.SCALERS.keys() - {"none"}


def test_a_worker_knows_every_task_of_networks() -> None:
    assert set(get_args(worker.TaskKind)) == {"fit_predict", "trial", *get_args(tasks.NetworkTaskKind)}


def test_every_architecture_has_sizes_in_the_tests_and_every_loss_a_twin() -> None:
    assert SPECS.keys() == {*ALONE, *JOINT}
    assert [name for name in LOSSES if not hasattr(loss_twins, name)] == []


def test_every_loss_and_every_optimiser_can_be_made() -> None:
    for name in LOSSES:
        make_loss(name, torch.tensor(0.0))
    for name in get_args(OptimiserName):
        Optimiser(FlatWeights(nn.Linear(1, 1)), {**TRAINING, "optimizer": name})
        StackOptimiser(torch.zeros(1, 1), {**TRAINING, "optimizer": name})


def test_no_layer_keeps_weights_from_the_global_generator() -> None:
    with pytest.raises(TypeError, match="no rule draws the first weights of Bilinear"):
        initialise(nn.Sequential(nn.Bilinear(2, 2, 2)), torch.Generator())


def test_a_name_outside_its_set_is_an_internal_error() -> None:
    with pytest.raises(TaskError, match="no architecture 'nosuch'") as caught:
        build_network({"architecture": "nosuch"}, 3, 8, torch.Generator())
    assert caught.value.code == "internal"
