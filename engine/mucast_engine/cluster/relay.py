"""The actor on the head that tasks report their progress to and the gateway polls. It is sent by value."""

import asyncio
import os
from collections import deque
from typing import Any

# Messages that wait for the gateway. Beyond it the oldest are dropped, since every result repeats its progress.
MAX_WAITING = 20_000


class Relay:
    """Every call is a coroutine of one loop."""

    def __init__(self) -> None:
        self._messages: deque[Any] = deque(maxlen=MAX_WAITING)
        self._arrived = asyncio.Event()

    async def tell(self, message: Any) -> None:
        self._messages.append(message)
        self._arrived.set()

    async def poll(self, seconds: float) -> list[Any]:
        """What was told since the last call; waits up to `seconds` for something."""
        if not self._messages:
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), seconds)
            except TimeoutError:
                return []
        told = list(self._messages)
        self._messages.clear()
        return told

    async def variables(self) -> dict[str, str]:
        """Those by which Ray on this node decides that another node is lost."""
        return {
            name: value for name, value in os.environ.items() if name.startswith(("RAY_health_check_", "RAY_grpc_"))
        }
