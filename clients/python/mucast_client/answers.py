"""Answers of the service, and the errors that they stand for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx

from .errors import RequestRefusedError, UnexpectedAnswerError
from .models import Problem

MAX_SHOWN = 200


@dataclass(frozen=True)
class Answer:
    """An answer whose body was read whole."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")


def json_object(answer: Answer, member: str) -> dict[str, Any]:
    """Raises UnexpectedAnswerError unless the answer is a JSON object with this member."""
    value = object_in(answer.body)
    if value is None or member not in value:
        raise unexpected(answer)
    return value


def html_text(answer: Answer) -> str:
    """Raises UnexpectedAnswerError for an answer that is no HTML page."""
    if not re.match(r"text/html\b", answer.content_type, re.IGNORECASE):
        raise unexpected(answer)
    return answer.body.decode("utf-8", "replace")


def error_of(answer: Answer) -> RequestRefusedError | UnexpectedAnswerError:
    """The error of an answer that is not 2xx."""
    problem = object_in(answer.body) or {}
    if not isinstance(problem.get("code"), str) or not isinstance(problem.get("detail"), str):
        return unexpected(answer)
    if not isinstance(problem.get("advice", ""), str) or not isinstance(problem.get("faults", []), list):
        return unexpected(answer)
    if not isinstance(problem.get("status"), int):
        problem["status"] = answer.status
    return RequestRefusedError(cast("Problem", problem))


def object_in(body: bytes | str) -> dict[str, Any] | None:
    """None if the text is not JSON, or not an object."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def unexpected(answer: Answer, said: str | None = None) -> UnexpectedAnswerError:
    """The error of an answer that is not one of mucast."""
    text = said or redirect_of(answer) or answer.body[: 4 * MAX_SHOWN].decode("utf-8", "replace").strip()
    detail = f"{answer.url} answered {answer.status}"
    return UnexpectedAnswerError(
        {
            "type": "about:blank",
            "title": "The answer is not one of mucast",
            "status": answer.status,
            "code": "not_found" if answer.status == 404 else "unavailable",
            "detail": f"{detail}: {text[:MAX_SHOWN]}" if text else detail,
            "advice": "Check the URL, and what lies between it and the service.",
        }
    )


def redirect_of(answer: Answer) -> str | None:
    """Without the query, which may carry a secret."""
    location = answer.headers.get("location")
    # If an operation was accepted, the response names its URL.
    if location is None or answer.status < 300:
        return None
    target = httpx.URL(answer.url).join(location).copy_with(userinfo=b"", query=None, fragment=None)
    return f"a redirect to {target}, which is not followed"
