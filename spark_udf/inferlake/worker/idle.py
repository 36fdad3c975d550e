"""Connections that are open and carry nothing at the moment."""

from __future__ import annotations

import asyncio
from collections import deque

from inferlake.worker.http1 import Connection


class IdleConnections:
    """Kept for the next exchange, each for at most ``longest_s`` seconds. Belongs to one event loop."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._connections: deque[Connection] = deque()  # the one that was used last is the last
        self._looking: asyncio.TimerHandle | None = None  # for those that have grown old
        self._loop = asyncio.get_running_loop()

    def take(self) -> Connection | None:
        """Take the connection that was used last: those that are not needed grow old and are closed."""
        self._drop_old()
        while self._connections:
            connection = self._connections.pop()
            if connection.usable:
                return connection
        return None

    def put(self, connection: Connection) -> None:
        """Keep a connection for the next exchange."""
        self._connections.append(connection)
        if self._looking is None:
            self._looking = self._loop.call_later(self._longest_s, self._look)

    def forget(self, connection: Connection) -> None:
        """Learn that a connection is gone."""
        if connection in self._connections:
            self._connections.remove(connection)

    def close(self) -> None:
        """Close them all."""
        if self._looking is not None:
            self._looking.cancel()
        while self._connections:
            self._connections.pop().abort()

    def _drop_old(self) -> None:
        oldest = self._loop.time() - self._longest_s
        while self._connections and self._connections[0].idle_since <= oldest:
            self._connections.popleft().abort()

    def _look(self) -> None:
        """Close what has grown old, also when no call comes any more, and look again as long as anything is idle."""
        self._drop_old()
        self._looking = self._loop.call_later(self._longest_s, self._look) if self._connections else None
