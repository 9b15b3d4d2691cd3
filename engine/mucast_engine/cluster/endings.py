"""What came back in place of a task's answer, in words."""

from typing import Any

from mucast_engine.failure import sentence_of

CANCELED = "it was canceled"

# By the names of Ray's exceptions. Of a process that died it is to be seen whether its node was lost with it.
ENDINGS = {
    "TaskCancelledError": CANCELED,
    "OutOfMemoryError": "it was over the memory of its node",
    "NodeDiedError": "",
    "LocalRayletDiedError": "",
    "WorkerCrashedError": "",
}


def is_answer(answer: Any) -> bool:
    """Whether a node has answered as `run_task` does, with a result or an error of the task."""
    return (
        isinstance(answer, dict)
        and answer.keys() == {"node", "message", "arrays", "updates"}
        and isinstance(answer["message"], dict)
        and (answer["message"].get("event") in ("result", "error"))
    )


def ending_of(answer: Any) -> str:
    """Why there is no answer; empty where its process died and nothing else is known."""
    if isinstance(answer, dict) and "died" in answer:
        return str(answer["died"])
    if not isinstance(answer, Exception):
        return "its node answered with something else than a result"
    names = [kind.__name__ for kind in type(answer).__mro__]
    for name, words in ENDINGS.items():
        if name in names:
            return words
    return f"it could not run: {sentence_of(answer)}"
