"""The client's requests, compared with the OpenAPI document of the service."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fakes import JOB, SUCCEEDED, FakeService, json_answer, operation, sent, stream

from mucast_client import AuditResult, Client, ForecastResult, ReplayResult, __version__

ROOT = Path(__file__).parents[3]
DOCUMENT = json.loads((ROOT / "schemas/openapi.json").read_text())
# Headers that any request may have.
COMMON = {
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "user-agent",
}

ANSWERS: dict[str, Callable[[httpx.Request], httpx.Response]] = {
    "get_verdict": json_answer({"output_name": "o", "audit": {"verdict": "clean", "findings": []}, "replay": {}}),
    "get_report": lambda _: httpx.Response(200, headers={"content-type": "text/html"}, content=iter([b"<html>"])),
    "read_blob": json_answer({"schema": "mucast.forecast/1", "warnings": []}),
    "follow_operation": stream([sent(1, "succeeded", SUCCEEDED)]),
    "list_operations": json_answer({"operations": [], "next_cursor": None}),
    "list_blobs": json_answer({"blobs": [], "next_cursor": None}),
    "prepare": json_answer({"feature_url": "f"}),
    "validate_job": json_answer({"tickers": []}),
    "write_blob": json_answer({"url": "u"}),
    "delete_blob": lambda _: httpx.Response(204, content=iter([b""])),
}


def route_of(request: httpx.Request) -> tuple[str, dict[str, Any]]:
    """Operation id and description of the route that a request asks for."""
    for template, methods in DOCUMENT["paths"].items():
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, request.url.path) and request.method.lower() in methods:
            route = methods[request.method.lower()]
            return route["operationId"], route
    raise AssertionError(f"no route {request.method} {request.url.path}")


def test_every_request_is_one_of_the_document(fake: Callable[..., FakeService]) -> None:
    service = fake(lambda request: ANSWERS.get(route_of(request)[0], json_answer(operation()))(request))
    use_everything(service.client)
    asked = set()
    for request in service.requests:
        operation_id, route = route_of(request)
        asked.add(operation_id)
        parameters = route.get("parameters", [])
        names = {place: {p["name"].lower() for p in parameters if p["in"] == place} for place in ("query", "header")}
        assert set(request.url.params) <= names["query"], operation_id
        assert set(request.headers) <= COMMON | names["header"], operation_id
    submissions = {"run_ml_job", "run_dl_job", "audit", "replay"}
    assert asked == submissions | set(ANSWERS) | {"get_operation", "cancel_operation"}


def use_everything(client: Client) -> None:
    client.run_ml_job(**JOB, start="2024-01-02", progress=False)
    client.run_dl_job(**JOB, progress=False)
    client.validate(**JOB, start="2024-01-02", operation="run_ml_job")
    client.audit(**JOB, progress=False)
    client.replay("output", portable=True, progress=False)
    job = client.attach("one")
    job.cancel()
    list(job.events(3))
    result = ForecastResult(client._connection, job.operation | {"result": SUCCEEDED["result"]})
    result.report()
    assert result.warnings == []
    assert AuditResult(client._connection, job.operation).findings == []
    assert not ReplayResult(client._connection, job.operation).document
    list(client.operations(status="Running", operation="audit", tags=["a", "b"]))
    list(client.blobs(kind="prices"))
    client.prepare(
        Path(__file__), id="x", start="2024-01-02", end="2024-01-03", learning_end="2024-01-02", tickers=["A"]
    )
    client.submit("run_ml_job", **{**JOB, "features": ROOT / "test/cases/tiny/data/feature_engine_tiny.json"})
    client.delete_blob("feature_engine_1.json")


def test_versions_and_licences_agree() -> None:
    package = json.loads((ROOT / "package.json").read_text())
    assert __version__ == package["version"] == DOCUMENT["info"]["version"]
    assert (ROOT / "LICENSE").read_text() == (ROOT / "clients/python/LICENSE").read_text()


@pytest.mark.parametrize("name", ["Operation", "Problem", "EventProgress"])
def test_models_have_the_members_of_the_document(name: str) -> None:
    import mucast_client.models as models

    model, schema = getattr(models, name), DOCUMENT["components"]["schemas"][name]
    assert list(model.__annotations__) == list(schema["properties"])
    optional = {member for member, type in model.__annotations__.items() if "NotRequired" in str(type)}
    assert set(model.__annotations__) - optional == set(schema["required"])
