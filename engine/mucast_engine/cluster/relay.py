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

    async def reach(self, places: dict[str, tuple[str, int]]) -> dict[str, bool | None]:
        """Whether each address and port takes connections: False where they are refused, None where nothing answers.

        Ray itself learns after 15 s that a node was killed, and after 65 s that it has lost its power.
        """
        found = await asyncio.gather(*[_takes_connections(address, port) for address, port in places.values()])
        return dict(zip(places, found, strict=True))


async def _takes_connections(address: str, port: int) -> bool | None:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(address, port), CONNECTION_SECONDS)
    except ConnectionRefusedError:
        return False
    except (OSError, TimeoutError):
        return None
    writer.close()
    return True
