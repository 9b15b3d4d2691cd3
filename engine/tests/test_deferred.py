import copy
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from mucast_engine.deferred import deferred
from mucast_engine.libraries import UNUSED_MODULES

MODULES = ["unused_numbers", "unused_numbers.tables"]


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
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
    for name in ["imports_numbers", *MODULES]:
        sys.modules.pop(name, None)


def library() -> ModuleType:
    with deferred(MODULES):
        return importlib.import_module("imports_numbers")


def test_a_module_that_a_library_only_names_is_not_imported() -> None:
    library()
    assert not set(MODULES) & set(sys.modules)


def test_the_first_use_imports_the_named_module() -> None:
    named = library()
    assert named.twice(3, plus=1) == 7
    assert named.law.mean() == 2
    assert named.rank([2, 1]) == [1, 2]
    assert set(MODULES) <= set(sys.modules)


def test_a_use_during_the_import_gets_the_module_itself() -> None:
    with deferred(MODULES):
        assert importlib.import_module("imports_numbers").twice(3) == 6
        assert importlib.import_module("unused_numbers").__file__ is not None


def test_a_copy_of_a_named_object_works_alike() -> None:
    twice = library().twice
    copies = [copy.copy(twice), copy.deepcopy(twice)]
    assert not set(MODULES) & set(sys.modules)
    assert [copied(3) for copied in copies] == [6, 6]


def test_modules_may_be_added_and_removed_while_one_is_inspected(monkeypatch: pytest.MonkeyPatch) -> None:
    class Changing(ModuleType):
        def __getattribute__(self, name: str) -> object:
            if name == "__class__":
                for more in ("changing.one", "changing.two"):
                    monkeypatch.setitem(sys.modules, more, ModuleType(more))
                sys.modules.pop(MODULES[0], None)
            return super().__getattribute__(name)

    monkeypatch.setitem(sys.modules, "changing", Changing("changing"))
    with deferred(MODULES):
        assert set(MODULES) <= set(sys.modules)
    assert not set(MODULES) & set(sys.modules)


def test_imported_modules_stay() -> None:
    module = importlib.import_module("unused_numbers")
    assert library().unused_numbers is module
    assert sys.modules["unused_numbers"] is module


def test_a_missing_name_fails_by_its_name() -> None:
    with deferred(MODULES):
        absent = importlib.import_module("unused_numbers").absent
    with pytest.raises(AttributeError, match=r"unused_numbers.*absent"):
        absent()


def test_the_modules_that_no_job_uses_exist() -> None:
    for name in UNUSED_MODULES:
        importlib.import_module(name)
