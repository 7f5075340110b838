"""What the Python servers have in common: the tool of the polling demonstration (docs/examples/mcp), and the event store."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
from mcp.server.streamable_http import EventMessage, EventStore


@dataclass(kw_only=True)
class Settings:
    retry_interval_ms: int
    pause_ms: int


class SessionEventStore(EventStore):
    """The events of one session, in order.

    This SDK names a stream by the bare id of its request, and the standalone one by a constant: a store that several
    sessions shared would replay to one what was sent to another. So a server of these tests serves one session.
    """

    def __init__(self) -> None:
        # An event's id is its place in this list, from 1.
        self._events: list[tuple[str, object]] = []

    async def store_event(self, stream_id, message):
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id, send_callback):
        if not last_event_id.isdecimal() or not 1 <= int(last_event_id) <= len(self._events):
            return None
        place = int(last_event_id)
        stream_id, _ = self._events[place - 1]
        # A list that grows meanwhile is followed to its end. A priming event has no message, and was for its connection.
        while place < len(self._events):
            stream, message = self._events[place]
            place += 1
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(place)))
        return stream_id


async def process_batch(
    items: int,
    checkpoint_every: int,
    *,
    log: Callable[[str], Awaitable[None]],
    close_stream: Callable[[], Awaitable[None]],
    pause_ms: int,
) -> str:
    """Long work that closes its own stream at each checkpoint, and says so when nobody can hear it."""
    checkpoints = 0
    for item in range(1, items + 1):
        await log(f"Processed item {item} of {items}")
        if item % checkpoint_every != 0 or item == items:
            continue
        checkpoints += 1
        await close_stream()
        await log(f"Checkpoint at item {item} of {items}: sent while no stream was open")
        await anyio.sleep(pause_ms / 1000)
    return f"Processed {items} items; checkpoints: {checkpoints}"
