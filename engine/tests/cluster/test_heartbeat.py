"""How a gateway says that its loop runs."""

import json
import os

from stage import Stage

from mucast_engine.cluster.gateway import HEARTBEAT_SECONDS, Gateway, Loop


def test_a_gateway_says_every_few_seconds_that_its_loop_runs(stage: Stage) -> None:
    reader, writer = os.pipe()
    gateway = Gateway(Loop(), writer, clock=lambda: stage.now)
    gateway._dispatch = stage.dispatch
    for seconds in (0.1, HEARTBEAT_SECONDS, 0.1, HEARTBEAT_SECONDS - 0.2, 0.1, 0.1):
        stage.now += seconds
        gateway.tick()
    os.close(writer)
    with os.fdopen(reader) as lines:
        assert [json.loads(line) for line in lines] == [{"event": "heartbeat"}] * 2
