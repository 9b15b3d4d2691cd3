"""The words of a gateway that ends before its greeting."""

import pytest

from mucast_engine.cluster.fault import ClusterError, ConnectionLostError, unavailable
from mucast_engine.cluster.gateway import told_in_words


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (unavailable("there is no token"), "engine_unavailable", "there is no token"),
        (
            ConnectionLostError("the head is gone"),
            "engine_unavailable",
            "the connection was lost while the nodes were inspected: the head is gone",
        ),
        (
            RuntimeError("Ray is not\n initialized"),
            "engine_crashed",
            "the gateway could not connect: Ray is not initialized",
        ),
    ],
)
def test_every_end_before_the_greeting_is_told_in_words(error: Exception, code: str, message: str) -> None:
    with pytest.raises(ClusterError) as raised, told_in_words():
        raise error
    assert (raised.value.code, raised.value.message) == (code, message)
