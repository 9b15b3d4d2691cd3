import copy
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from regressors import NAMES, REGRESSORS

from mucast_engine.libraries import UNUSED_MODULES, deferred, import_libraries, kernel_level
from mucast_engine.status import status

ENGINE = Path(__file__).parent.parent


def printed_by(*arguments: str) -> list[Any]:
    """The lines of JSON of a separate interpreter."""
    env = {**os.environ, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run([sys.executable, "-P", *arguments], env=env, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


# Imports a library as the host does, fits with each of its classes in a fork, and prints what that changed.
PROBE = """
import json, os, sys
from mucast_engine.libraries import import_libraries
import numpy, mucast_engine.worker
library, classes = sys.argv[1], json.loads(sys.argv[2])
import_libraries([library])
from mucast_engine.process import thread_count
threads, modules = thread_count(), set(sys.modules)
if os.fork() == 0:
    from mucast_engine.estimator import make_estimator, make_scaler
    x = numpy.random.default_rng(0).standard_normal((200, 3))
    for name, params in classes.items():
        rows = x if library == "catboost" else make_scaler("robust").fit_transform(x)
        make_estimator({"library": library, "class": name}, params).fit(rows, x[:, 0]).predict(rows)
    late, heavy = sorted(set(sys.modules) - modules), sorted(modules & {"pandas", "scipy.stats"})
    print(json.dumps({"threads": threads, "late": late, "heavy": heavy}), flush=True)
    os._exit(0)
assert os.wait()[1] == 0
"""


@pytest.mark.parametrize(
    "library",
    ["catboost", *(pytest.param(name, marks=pytest.mark.release) for name in ("sklearn", "xgboost", "lightgbm"))],
)
def test_the_import_starts_no_thread_and_leaves_nothing_for_the_first_fit_to_import(library: str) -> None:
    classes = {name: params for name, (its, _, params) in zip(NAMES, REGRESSORS, strict=True) if its == library}
    [found] = printed_by("-c", PROBE, library, json.dumps(classes))
    assert found == {"threads": 1, "late": [], "heavy": ["pandas"] if library == "catboost" else []}


def test_the_status_has_the_version_of_every_library_the_faults_of_others_and_the_devices() -> None:
    here = status(["sklearn", "xgboost", "lightgbm", "catboost", "torch"])
    libraries: dict[str, Any] = here["libraries"]
    assert set(libraries) == {"numpy", "scipy", "scikit-learn", "xgboost", "lightgbm", "catboost", "torch"}
    assert all(found["version"] for found in libraries.values())
    assert len(here["devices"]) == torch.cuda.device_count()
    [faulty] = printed_by("-m", "mucast_engine.status", "nosuch", "catboost")
    assert "nosuch" in faulty["libraries"]["nosuch"]["fault"]
    assert faulty["libraries"]["catboost"]["version"]


def test_onednn_is_off_if_the_kernels_are_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    assert torch._C._get_mkldnn_enabled(), "as it is where nothing is pinned"
    try:
        for level, enabled in [("", True), ("x86-64-v3", False)]:
            monkeypatch.setenv("MUCAST_KERNEL_LEVEL", level)
            import_libraries(["torch"])
            assert (torch._C._get_mkldnn_enabled(), kernel_level()) == (enabled, level or None)
    finally:
        torch.backends.mkldnn.set_flags(True)


class TestDeferred:
    MODULES = ("unused_numbers", "unused_numbers.tables")

    @pytest.fixture(autouse=True)
    def package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """A package `unused_numbers`, and a library `imports_numbers` that references names of it."""
        folder = tmp_path / "unused_numbers"
        folder.mkdir()
        (folder / "__init__.py").write_text(
            "class Law:\n    def mean(self): return 2\n\nlaw = Law()\n\n"
            "def twice(value, *, plus=0): return 2 * value + plus\n"
        )
        (folder / "tables.py").write_text("def rank(values): return sorted(values)\n")
        (tmp_path / "imports_numbers.py").write_text(
            "import unused_numbers\nfrom unused_numbers import law, twice\nfrom unused_numbers.tables import rank\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        yield
        for name in ("imports_numbers", *self.MODULES):
            sys.modules.pop(name, None)

    def library(self) -> ModuleType:
        with deferred(list(self.MODULES)):
            return importlib.import_module("imports_numbers")

    def test_the_first_use_imports_the_named_module(self) -> None:
        named = self.library()
        copies = [copy.copy(named.twice), copy.deepcopy(named.twice)]
        assert not set(self.MODULES) & set(sys.modules)
        assert [copied(3) for copied in copies] == [6, 6]
        assert (named.twice(3, plus=1), named.law.mean(), named.rank([2, 1])) == (7, 2, [1, 2])
        assert set(self.MODULES) <= set(sys.modules)

    def test_a_use_during_the_import_gets_the_module_itself(self) -> None:
        with deferred(list(self.MODULES)):
            assert importlib.import_module("imports_numbers").twice(3) == 6
            assert importlib.import_module("unused_numbers").__file__ is not None

    def test_imported_modules_stay_and_missing_names_fail_by_their_name(self) -> None:
        module = importlib.import_module("unused_numbers")
        assert self.library().unused_numbers is module
        del sys.modules["unused_numbers"]
        with deferred(list(self.MODULES)):
            absent = importlib.import_module("unused_numbers").absent
        with pytest.raises(AttributeError, match=r"unused_numbers.*absent"):
            absent()

    def test_the_modules_that_no_job_uses_exist(self) -> None:
        for name in UNUSED_MODULES:
            importlib.import_module(name)
