"""What came back in place of a task's answer, in words."""

from typing import Any

from mucast_engine.failure import sentence_of

CANCELED = "it was canceled"
OVER_MEMORY = "it was over the memory of its node"

# By the names of Ray's exceptions. Of a process that died it is to be seen whether its node was lost with it.
ENDINGS = {
    "TaskCancelledError": CANCELED,
    "OutOfMemoryError": OVER_MEMORY,
    "NodeDiedError": "",
    "LocalRayletDiedError": "",
    "WorkerCrashedError": "",
}


def has_lost_array(answer: Any) -> bool:
    """Whether the task could not begin because an array was not to be had from the cluster any more."""
    return isinstance(answer, Exception) and "ObjectLostError" in _names(answer)


def ending_of(answer: Any) -> str:
    """Why there is no answer; empty where its process died and nothing else is known."""
    if isinstance(answer, dict) and "died" in answer:
        return sentence_of(str(answer["died"]))
    if not isinstance(answer, Exception):
        return "its node answered with something else than a result"
    for name, words in ENDINGS.items():
        if name in _names(answer):
            return words
    return f"it could not run: {sentence_of(answer)}"


def _names(error: Exception) -> list[str]:
    """Of its classes, by which Ray's are known here."""
    return [kind.__name__ for kind in type(error).__mro__]
