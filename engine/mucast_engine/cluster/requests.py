"""What the pool writes to the gateway, one request a line, and what a task's JSON names."""

import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from mucast_engine.arrays import ArrayRef

# Unlike a host, a gateway gets no `import`: its libraries are on the nodes.
Op = Literal["start", "task", "kill"]


class TaskRequest(NamedTuple):
    """A task for a slot. `text` is its JSON, which goes to the node as it came."""

    id: int
    worker: int
    kind: str
    text: bytes
    arrays: list[ArrayRef]
    """What it reads, each file once."""
    outputs: list[str]
    """The files that it writes."""
    cpus: float
    gpus: float
    node: str | None
    """The name of the one node that may run it."""
    memory: int = 0
    """Bytes that it takes of its node; 0 where that is not known."""


def read_task(header: dict[str, Any], text: bytes) -> TaskRequest:
    """`header` may say what the task needs; else it is the `threads` of the task, and a GPU where it names one."""
    task = json.loads(text)
    device = str(task.get("device", "cpu"))
    return TaskRequest(
        id=header["id"],
        worker=header["worker"],
        kind=task["task"],
        text=text,
        arrays=list({ref["ref"]: ref for ref in arrays_of(task)}.values()),
        outputs=list(outputs_of(task)),
        cpus=float(header.get("cpus", task.get("threads", 1))),
        gpus=float(header.get("gpus", 1 if device.startswith("cuda") else 0)),
        node=header.get("node"),
        memory=int(header.get("memory", 0)),
    )


def arrays_of(part: Any) -> Iterator[ArrayRef]:
    """Every ArrayRef within a task, wherever it stands."""
    if isinstance(part, list):
        for entry in part:
            yield from arrays_of(entry)
    elif isinstance(part, dict):
        if part.keys() == ArrayRef.__annotations__.keys():
            yield ArrayRef(ref=part["ref"], dtype=part["dtype"], shape=part["shape"], order=part["order"])
        else:
            for entry in part.values():
                yield from arrays_of(entry)


def outputs_of(task: dict[str, Any]) -> Iterator[str]:
    """Of a stack each network's."""
    if "predictions" in task:
        yield task["predictions"]["ref"]
    for own in task.get("networks", []):
        yield from outputs_of(own)
