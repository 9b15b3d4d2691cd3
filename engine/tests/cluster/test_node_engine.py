"""The engine in a process of Ray's, without Ray: a local worker's answers and bytes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_tasks import QUICK, fit_task

from mucast_engine.arrays import ArrayStore
from mucast_engine.cluster import node_engine
from mucast_engine.cluster.gateway import arrays_of
from mucast_engine.cluster.node_engine import engine_digest, run
from mucast_engine.worker import answer


def without_seconds(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "result": {**message["result"], "seconds": []}}


@pytest.mark.parametrize("pause", [0.0, 60.0])
def test_a_task_has_the_answer_of_a_worker_and_all_of_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pause: float
) -> None:
    monkeypatch.setattr(node_engine, "PROGRESS_SECONDS", pause)
    task = fit_task(tmp_path, "here", QUICK)
    text, refs = json.dumps(task).encode(), list(arrays_of(task))
    told: list[tuple[int, list[Any]]] = []
    done = run(text, refs, [np.load(ref["ref"]) for ref in refs], lambda *report: told.append(report))
    expected = answer(text, ArrayStore(tmp_path), lambda _: None)
    assert without_seconds(done["message"]) == without_seconds(expected)
    assert [update["fit"] for update in done["updates"]] == [0, 1, 2]
    assert told == ([(i, [update]) for i, update in enumerate(done["updates"])] if pause == 0.0 else [])


def test_many_predictions_come_as_arrays(tmp_path: Path) -> None:
    fits = [{"train": [0, 200], "predict": [0, 300]}] * 4
    task = fit_task(tmp_path, "many", QUICK, fits=fits)
    refs = list(arrays_of(task))
    done = run(json.dumps(task).encode(), refs, [np.load(ref["ref"]) for ref in refs], lambda *_: None)
    assert [(name, values.shape) for name, values in done["arrays"].items()] == [(task["predictions"]["ref"], (1200,))]
    assert not Path(task["predictions"]["ref"]).exists()


def test_an_engine_is_known_by_the_names_and_bytes_of_its_modules(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    before = engine_digest(tmp_path)
    (tmp_path / "compiled.pyc").write_text("2")
    assert engine_digest(tmp_path) == before
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert engine_digest(tmp_path) != before
