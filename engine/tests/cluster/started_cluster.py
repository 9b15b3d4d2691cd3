"""Starts the cluster of `ray_cluster.py` for a test of Python, and rules it."""

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SCRIPT = Path(__file__).with_name("ray_cluster.py")


class StartedCluster:
    """Starts the nodes of a plan, head first, and ends them. It raises if it cannot, as if no namespace is had.

    >>> with StartedCluster(tmp_path, [{"name": "head", "cpus": 0}, {"name": "a"}, {"name": "b"}]) as cluster:
    ...     cluster.address, cluster.token_file
    ...     cluster.do("freeze", "b")
    """

    def __init__(self, folder: Path, nodes: list[dict[str, Any]], **plan: Any) -> None:
        self._folder = folder
        self._plan = {"nodes": nodes, **plan}
        self.address = ""
        """Of Ray's client, for this process."""
        self.inside = ""
        """The same one, for a command behind `enter`."""
        self.enter: list[str] = []
        self.token_file = Path()

    def __enter__(self) -> Self:
        command = [sys.executable, "-s", str(SCRIPT), "serve", str(self._folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            ready = self._ask(self._plan)
        except BaseException:
            self._end()
            raise
        self.address, self.inside, self.enter = ready["address"], ready["inside"], ready["enter"]
        self.token_file = Path(ready["token_file"])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    @property
    def arguments(self) -> list[str]:
        """Of a gateway to it."""
        return ["--engine", self.address]

    @property
    def env(self) -> dict[str, str]:
        """Of a gateway to it."""
        return {"RAY_AUTH_TOKEN_PATH": str(self.token_file)}

    def do(self, what: str, name: str, **more: Any) -> dict[str, Any]:
        """One of the orders of `ray_cluster.py`; returns its answer once it is carried out."""
        return self._ask({"do": what, "name": name, **more})

    def add(self, *nodes: dict[str, Any]) -> None:
        self._ask({"do": "add", "nodes": nodes})

    def processes(self, name: str) -> list[dict[str, Any]]:
        """`{"pid", "state", "command"}` of all that run on a node."""
        return list(self.do("processes", name)["processes"])

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        answer: dict[str, Any] = json.loads(stdout.readline() or '{"error": "the cluster has ended"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def _end(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait()
