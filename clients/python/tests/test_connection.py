"""Retries, and answers that are not those of mucast."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from fakes import (
    JOB,
    SUCCEEDED,
    URL,
    Answer,
    FakeService,
    broken_body,
    json_answer,
    no_answer,
    operation,
    problem,
)

from mucast_client import ApiError, ConnectionLostError, RequestRefusedError, UnexpectedAnswerError

Fake = Callable[..., FakeService]


@pytest.mark.parametrize(
    "temporary",
    [
        no_answer,
        broken_body,
        problem("rate_limited", 429),
        problem("unavailable", 503),
        lambda _: httpx.Response(502, content=iter([b"<html>Bad gateway</html>"])),
    ],
)
def test_submits_again_with_the_same_key_and_body(fake: Fake, pauses: list[float], temporary: Answer) -> None:
    service = fake(temporary, temporary, json_answer(operation(), 202))
    assert service.client.submit("run_ml_job", **JOB).id == "one"
    first, *again = service.requests
    for request in again:
        assert request.headers["idempotency-key"] == first.headers["idempotency-key"]
        assert request.content == first.content
    assert len(again) == len(pauses) == 2


def test_each_call_has_a_key_of_its_own(fake: Fake) -> None:
    service = fake(json_answer(operation(), 202))
    for _ in range(2):
        service.client.submit("run_ml_job", **JOB)
    service.client.submit("run_ml_job", **JOB, idempotency_key="nightly")
    keys = [request.headers["idempotency-key"] for request in service.requests]
    assert len(set(keys)) == 3
    assert keys[2] == "nightly"
    assert [len(key) for key in keys[:2]] == [32, 32]


def test_gives_up_after_five_retries(fake: Fake, pauses: list[float]) -> None:
    service = fake(no_answer)
    with pytest.raises(ConnectionLostError, match="gives no answer: ConnectError: connection refused"):
        service.client.attach("one")
    assert len(service.requests) == 6
    for k, pause in enumerate(pauses):
        assert 0.1 * 2**k <= pause <= 0.2 * 2**k


@pytest.mark.parametrize(
    ("code", "status"),
    [("invalid_request", 400), ("not_found", 404), ("timed_out", 503), ("blob_in_use", 409), ("internal", 500)],
)
def test_does_not_repeat_what_would_be_refused_again(fake: Fake, code: str, status: int) -> None:
    service = fake(problem(code, status))
    with pytest.raises(RequestRefusedError) as caught:
        service.client.submit("run_ml_job", **JOB)
    assert (caught.value.code, caught.value.status, len(service.requests)) == (code, status, 1)


def test_waits_as_long_as_the_service_asks_but_no_more_than_a_minute(fake: Fake, pauses: list[float]) -> None:
    service = fake(
        problem("unavailable", 503, retry_after="7"),
        problem("unavailable", 503, retry_after="no number"),
        problem("rate_limited", 429, retry_after="61"),
    )
    with pytest.raises(RequestRefusedError, match="rate_limited"):
        service.client.attach("one")
    asked, own = pauses
    assert asked == 7
    assert own <= 0.8


def test_an_answer_of_a_proxy_is_no_answer_of_mucast(fake: Fake) -> None:
    page = fake(lambda _: httpx.Response(200, content=iter([b"<html>Sign in</html>"])))
    with pytest.raises(UnexpectedAnswerError, match="answered 200: <html>Sign in</html>"):
        page.client.attach("one")
    missing = fake(lambda _: httpx.Response(404, content=iter([b"nothing here"])))
    with pytest.raises(ApiError) as caught:
        missing.client.attach("one")
    assert (caught.value.code, caught.value.status) == ("not_found", 404)
    with pytest.raises(UnexpectedAnswerError):
        fake(json_answer(["a list"])).client.attach("one")
    with pytest.raises(UnexpectedAnswerError):
        fake(lambda _: httpx.Response(200, content=iter([b"[" * 100_000]))).client.attach("one")


def test_escapes_what_becomes_part_of_a_path(fake: Fake) -> None:
    service = fake(json_answer(SUCCEEDED), lambda _: httpx.Response(204, content=iter([b""])))
    service.client.attach("../one?x=1#y")
    service.client.delete_blob("../feature_engine_1.json")
    assert service.asked == [
        "GET /v1/operations/..%2Fone%3Fx%3D1%23y",
        "DELETE /data/..%2Ffeature_engine_1.json",
    ]
    assert str(service.requests[0].url).startswith(URL)
