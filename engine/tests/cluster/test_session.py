from typing import Any

import pytest

from mucast_engine.cluster.address import Address
from mucast_engine.cluster.fault import ClusterError
from mucast_engine.cluster.session import JOIN_ATTEMPTS, SERVER_CRASHED, _join

ADDRESS = Address("10.0.0.1", 10001)


class FakeRay:
    """Refuses so many connections in words of Ray's."""

    def __init__(self, refusals: int, words: str) -> None:
        self.asked = 0
        self._refusals, self._words = refusals, words

    # As Ray names its module of them.
    class exceptions:  # noqa: N801
        AuthenticationError = PermissionError

    def init(self, *_: Any, **__: Any) -> None:
        self.asked += 1
        if self.asked <= self._refusals:
            raise ConnectionAbortedError(f"Initialization failure from server: RuntimeError: {self._words}.")


def test_a_server_process_that_crashes_at_its_start_is_asked_for_again() -> None:
    ray = FakeRay(JOIN_ATTEMPTS - 1, SERVER_CRASHED)
    _join(ray, ADDRESS)
    assert ray.asked == JOIN_ATTEMPTS


def test_one_that_always_crashes_is_an_unusable_cluster_and_another_refusal_is_final() -> None:
    for ray, asked in [(FakeRay(9, SERVER_CRASHED), JOIN_ATTEMPTS), (FakeRay(9, "no more ports"), 1)]:
        with pytest.raises(ClusterError, match="does not let this machine in"):
            _join(ray, ADDRESS)
        assert ray.asked == asked
