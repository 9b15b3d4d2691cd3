"""The engine process of a node and the pipes to it, without a cluster: a local worker's answers and bytes."""

import itertools
import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cluster_tasks import ENDLESS, QUICK, fit_task
from task_files import Task, values_of

from mucast_engine.arrays import ArrayStore
from mucast_engine.cluster import node
from mucast_engine.cluster.node import (
    START_SECONDS,
    EngineDiedError,
    EngineProcess,
    engine_process,
    fingerprint,
    with_devices,
)
from mucast_engine.cluster.requests import arrays_of
from mucast_engine.fit_predict import fit_predict

THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SPEC: dict[str, Any] = {"libraries": ["catboost"], "variables": THREADS}


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineProcess]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
        patch.setenv("RAY_AUTH_TOKEN", "a secret")
        process = EngineProcess(SPEC)
    process.greet()
    yield process
    process.kill()


def send(engine: EngineProcess, task: Task) -> None:
    refs = list(arrays_of(task))
    engine.send(json_of(task), [dict(ref) for ref in refs], tuple(np.load(ref["ref"]) for ref in refs))


def json_of(task: Task) -> bytes:
    return json.dumps(task).encode()


def next_message(engine: EngineProcess) -> dict[str, Any]:
    while (line := engine.line(1.0)) is None:
        pass
    message: dict[str, Any] = json.loads(line)
    return message


def test_it_greets_as_a_host_does_and_says_which_engine_it_is(engine: EngineProcess) -> None:
    assert engine.greeting["threads"] == {"openmp": 1, "openblas": 1, "mkl": 1}
    assert engine.greeting["versions"].keys() == {"python", "numpy", "scipy", "scikit-learn", "catboost"}
    assert len(engine.greeting["engine"]) == 64
    assert fingerprint(engine.greeting) == fingerprint({**engine.greeting, "import_seconds": 7})
    assert fingerprint(engine.greeting) != fingerprint({**engine.greeting, "engine": "another"})


def test_it_gets_no_variable_of_rays(engine: EngineProcess) -> None:
    environment = Path(f"/proc/{engine.pid}/environ").read_bytes()
    assert b"OMP_NUM_THREADS=1" in environment
    assert b"RAY_" not in environment


def test_its_predictions_are_those_of_a_worker(engine: EngineProcess, tmp_path: Path) -> None:
    task = fit_task(tmp_path, "here", QUICK)
    told: list[Any] = []
    expected = fit_predict(task, ArrayStore(tmp_path), told.append)
    send(engine, task)
    for fit in range(3):
        message = next_message(engine)
        assert (message["event"], message["update"]["fit"]) == ("progress", fit)
    message = next_message(engine)
    [written] = message["arrays"]
    pairs = [list(pair) for pair in expected["diagnoses"][0]["importances"]]
    assert [diagnosis["importances"] for diagnosis in message["result"]["diagnoses"]] == [pairs]
    values = values_of(expected["predictions"])
    assert message["result"]["predictions"] == {
        **task["predictions"],
        "dtype": "<f8",
        "shape": [values.size],
        "order": "C",
    }
    assert engine.bytes_of(written["bytes"]) == values.tobytes()


def test_an_error_of_a_task_is_an_answer_without_arrays(engine: EngineProcess, tmp_path: Path) -> None:
    task = fit_task(tmp_path, "never", QUICK, scaler="none", fits=[{"train": [0, 9000], "predict": [0, 1]}])
    send(engine, task)
    message = next_message(engine)
    assert (message["event"], message["code"], message["arrays"]) == ("error", "internal", [])


def test_it_is_kept_for_the_next_task_unless_that_is_lent_other_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")  # As on a node whose GPUs are not lent to Ray.

    def pid_and_gpus(*lent: str) -> tuple[int, str]:
        process = engine_process(with_devices(SPEC, list(lent)))
        [gpus] = re.findall(rb"(?m)^CUDA_VISIBLE_DEVICES=(.*)", environment_of(process.pid))
        return process.pid, gpus.decode()

    (first, gpus), kept, (other, others), (none, no_gpus) = (
        pid_and_gpus("1"),
        pid_and_gpus("1"),
        pid_and_gpus("0"),
        pid_and_gpus(),
    )
    assert (gpus, others, no_gpus) == ("1", "0", "")
    assert kept == (first, "1")
    assert len({first, other, none}) == 3
    assert not Path(f"/proc/{first}").exists()
    assert not Path(f"/proc/{other}").exists()
    engine_process(with_devices(SPEC, [])).kill()


def environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes().replace(b"\0", b"\n")


def test_its_death_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    process = EngineProcess(SPEC)
    process.greet()
    send(process, fit_task(tmp_path, "endless", ENDLESS))
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(EngineDiedError, match="its process was ended by SIGKILL, as happens where the memory"):
        next_message(process)
    assert not process.is_alive


def test_what_its_interpreter_prints_before_it_greets_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = b'printed\n\nnull\n{"event"\nand no end'
    (tmp_path / "sitecustomize.py").write_text(f"import os\nos.write(1, {printed!r})\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).resolve().parents[2]}")
    process = EngineProcess(SPEC)
    process.greet()
    process.kill()
    assert process.greeting["event"] == "ready"


def test_a_node_without_the_engine_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    process = EngineProcess(SPEC)
    with pytest.raises(EngineDiedError, match=r"exit code 1: .*No module named mucast_engine"):
        process.greet()


@pytest.mark.parametrize("hangs", [False, True])
def test_an_import_may_take_minutes_and_one_that_hangs_is_ended(
    hangs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import signal\nsignal.pause()\n" if hangs else "")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).resolve().parents[2]}")
    process = EngineProcess(SPEC)
    times = itertools.chain([0.0], itertools.repeat(START_SECONDS + (1 if hangs else -1)))
    monkeypatch.setattr(node, "time", SimpleNamespace(monotonic=lambda: next(times)))
    if hangs:
        with pytest.raises(EngineDiedError, match="its libraries were not imported within 600 s"):
            process.greet()
        assert not Path(f"/proc/{process.pid}").exists()
    else:
        process.greet()
        process.kill()
        assert process.greeting["event"] == "ready"
