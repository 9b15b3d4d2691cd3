"""A fake service, and no real pauses."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
import pytest
from fakes import FakeService


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of each pause, none of which is made."""
    seconds: list[float] = []
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds


@pytest.fixture
def fake(pauses: list[float]) -> Callable[..., FakeService]:
    """Makes a fake service from its answers, in order; the last one is repeated."""

    def make(*answers: Callable[[httpx.Request], httpx.Response]) -> FakeService:
        return FakeService(answers)

    return make
