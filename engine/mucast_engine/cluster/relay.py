"""The actor on the head that tasks tell their progress to, and that the gateway asks for it. It is sent by value."""

import asyncio
from collections import deque
from typing import Any

# Messages that wait for the gateway; where it does not come, the oldest go, since every result repeats its progress.
KEPT = 20_000
CONNECTION_SECONDS = 1.0


class Relay:
    """Every call is a coroutine of one loop."""

    def __init__(self) -> None:
        self._messages: deque[Any] = deque(maxlen=KEPT)
        self._arrived = asyncio.Event()

    async def tell(self, message: Any) -> None:
        self._messages.append(message)
        self._arrived.set()

    async def poll(self, seconds: float) -> list[Any]:
        """What has been told since the last call; waits up to `seconds` for something."""
        if not self._messages:
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), seconds)
            except TimeoutError:
                return []
        told = list(self._messages)
        self._messages.clear()
        return told

    async def reaches(self, address: str, port: int) -> bool:
        """Whether a node takes connections: Ray itself learns after 10 s and more that one was lost."""
        try:
            _, writer = await asyncio.wait_for(asyncio.open_connection(address, port), CONNECTION_SECONDS)
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True
