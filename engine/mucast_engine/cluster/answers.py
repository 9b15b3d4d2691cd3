"""What nodes hand back. It can be anything, so it is held to what was asked; what is not costs the attempt alone."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

import numpy as np

from mucast_engine.arrays import Matrix, Message
from mucast_engine.cluster.requests import TaskRequest, arrays_of
from mucast_engine.failure import Code

# Of one message as a line of JSON: the caller reads no longer line than 2^27 characters.
MAX_MESSAGE_LENGTH = 2**27 - 2**10
MAX_UPDATE_LENGTH = 2**16
MAX_FAULT_LENGTH = 2_000
# What a result and an error consist of besides their `event`.
MEMBERS = {"result": ("result",), "error": ("code", "message", "data")}


class Answer(NamedTuple):
    """Of `run_task`, with a result or an error of the task."""

    message: Message
    arrays: list[tuple[str, Matrix]]
    updates: list[Message]


class Told(NamedTuple):
    """A message of a running task: its progress from the number `first` on."""

    key: str
    node: str
    first: int
    updates: list[Message]


def read_answer(answer: Any, request: TaskRequest) -> Answer | None:
    """None for what is no answer to `request`.

    A result comes with the arrays that it names and no others, each once and of the length that it says; they are among
    those that the task asks for, and predictions. Their number is held to the kind of the task by the caller.
    """
    if not (isinstance(answer, dict) and answer.keys() == {"node", "message", "arrays", "updates"}):
        return None
    message, updates = answer["message"], read_updates(answer["updates"])
    if updates is None or not isinstance(message, dict) or not _is_json(message, MAX_MESSAGE_LENGTH):
        return None
    event = message.get("event")
    members = MEMBERS.get(event) if isinstance(event, str) else None
    if members is None or message.keys() != {"event", *members}:
        return None
    if event == "error":
        return Answer(message, [], updates) if _is_error(message) and answer["arrays"] == [] else None
    arrays = _read_arrays(answer["arrays"], message["result"], request)
    return None if arrays is None else Answer(message, arrays, updates)


def read_told(rows: Any) -> Iterator[Told]:
    """Those of `rows`, which a relay has from nodes, that are messages of tasks."""
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, tuple | list) and len(row) == 4:
            key, node, first, given = row
            updates = read_updates(given)
            if isinstance(key, str) and isinstance(node, str) and isinstance(first, int) and updates is not None:
                yield Told(key, node, max(0, first), updates)


def read_updates(updates: Any) -> list[Message] | None:
    """Progress; None for what is none."""
    if not isinstance(updates, list):
        return None
    return updates if all(isinstance(one, dict) and _is_json(one, MAX_UPDATE_LENGTH) for one in updates) else None


def read_refusal(answer: Any) -> Message | None:
    """The `greeting` of a node whose engine is not that of the others; None for any other answer."""
    is_refusal = isinstance(answer, dict) and answer.keys() == {"node", "greeting"}
    return read_inspection(answer) if is_refusal else None


def read_inspection(answer: Any) -> Message:
    """What `inspect_node` returns: the `greeting` of a node's engine, or the `fault` in words why it does not start."""
    if isinstance(answer, dict) and is_greeting(answer.get("greeting")):
        return {"greeting": answer["greeting"]}
    if isinstance(answer, dict) and isinstance(answer.get("fault"), str):
        return {"fault": answer["fault"][:MAX_FAULT_LENGTH]}
    if isinstance(answer, Exception):
        return {"fault": " ".join(str(answer).split())[:300]}
    return {"fault": "it answered with something else than a greeting"}


def is_greeting(greeting: Any) -> bool:
    """Whether a node's engine has greeted as the engine does."""
    return (
        isinstance(greeting, dict)
        and _is_json(greeting, MAX_UPDATE_LENGTH)
        and isinstance(greeting.get("versions"), dict)
        and all(isinstance(version, str) for version in greeting["versions"].values())
        and isinstance(greeting.get("threads"), dict)
        and isinstance(greeting.get("kernel_level", 0), str | None)
        and isinstance(greeting.get("machine"), dict)
        and "processor" in greeting["machine"]
        and isinstance(greeting["machine"].get("numpy_dispatch"), list)
        and isinstance(greeting.get("engine"), str)
    )


def was_raised_on_node(error: Exception) -> bool:
    """Ray gives the exception of a task the class of its cause besides: it can look like a lost connection."""
    return any(kind.__name__ == "RayTaskError" for kind in type(error).__mro__)


def _is_error(message: Message) -> bool:
    return (
        message["code"] in get_args(Code) and isinstance(message["message"], str) and isinstance(message["data"], dict)
    )


def _is_json(value: Any, longest: int) -> bool:
    try:
        return len(json.dumps(value, allow_nan=False)) <= longest
    except (TypeError, ValueError, RecursionError):
        return False


def _are_predictions(values: Matrix, request: TaskRequest) -> bool:
    """All finite; of a joint network NaN where a ticker has no window."""
    is_one = ~np.isinf(values) if request.kind == "train_joint" else np.isfinite(values)
    return bool(is_one.all())


def _read_arrays(given: Any, result: Any, request: TaskRequest) -> list[tuple[str, Matrix]] | None:
    try:
        named = {ref["ref"]: ref["shape"] for ref in arrays_of(result)}
        arrays = [(ref, np.frombuffer(data, dtype="<f8")) for ref, data in given]
        sound = all(
            ref in request.outputs and named[ref] == list(values.shape) and _are_predictions(values, request)
            for ref, values in arrays
        )
    except (TypeError, ValueError, KeyError, RecursionError):
        return None
    return arrays if sound and len(arrays) == len(named) == len({ref for ref, _ in arrays}) else None
