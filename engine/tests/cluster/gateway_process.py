"""A gateway as a real process, driven as the pool drives it."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ENGINE = Path(__file__).resolve().parents[2]
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

# A gateway that has hung by then is killed, and its test fails. On a busy machine, nodes and engines start in minutes.
HANG_SECONDS = 900
ENDS = ("result", "error", "worker_exited", "failed")

Message = dict[str, Any]


def with_limits(**seconds: float) -> tuple[str, ...]:
    """The program of a gateway whose limits of that name are others, so that a test need not wait for them."""
    return (str(Path(__file__).with_name("limited_gateway.py")), json.dumps(seconds))


class GatewayProcess:
    """Every message it sends is kept. It is killed if a test leaves it running."""

    def __init__(
        self,
        folder: Path,
        libraries: str,
        *arguments: str,
        role: str = "cluster",
        program: tuple[str, ...] = ("-m", "mucast_engine"),
        **env: str,
    ) -> None:
        command = [sys.executable, "-s", "-P", *program, role, "--libraries", libraries]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        self.process = subprocess.Popen(
            [*command, "--folder", str(folder), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**kept, "PYTHONPATH": str(ENGINE), **THREADS, **env},
        )
        self.messages: list[Message] = []
        self._taken = 0
        self._hang = threading.Timer(HANG_SECONDS, self.process.kill)
        self._hang.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._hang.cancel()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        try:
            self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait()

    def send(self, op: str, worker: int, task: Message | None = None, number: int = 0, **needs: float | str) -> None:
        header = json.dumps({"op": op, "worker": worker, "id": number, **needs})
        line = header if task is None else f"{header}\t{json.dumps(task)}"
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def wait_for(self, event: str, **members: Any) -> Message:
        """The next message of that kind with these members."""
        return self._next(
            lambda message: message["event"] == event and all(message[name] == value for name, value in members.items())
        )

    def wait_for_answer(self, number: int) -> Message:
        """The result or the error of a task."""
        answer = self._next(lambda message: message["event"] in ENDS and message.get("id", number) == number)
        assert answer["event"] in ("result", "error"), answer
        return answer

    def _next(self, is_it: Callable[[Message], bool]) -> Message:
        """The next one, none of those that were passed over before."""
        while True:
            if self._taken == len(self.messages):
                self._read()
            message = self.messages[self._taken]
            self._taken += 1
            if is_it(message):
                return message
            assert message["event"] != "failed", message

    def _read(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the gateway ended with {self.process.wait()}: {self.messages[-5:]}"
        self.messages.append(json.loads(line))

    def start(self, *workers: int) -> None:
        for worker in workers:
            self.send("start", worker)
            self.wait_for("worker_started", worker=worker)

    def end_input(self) -> int:
        """Closes stdin; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait()
