"""The rows of a task on their way through the pump: pieces of input, and one slot for each row's result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from inferlake.result import CallResult
from inferlake.worker.calls import Call, Sender
from inferlake.worker.window import Window

Batch: TypeAlias = tuple[pa.Array, ...]


@dataclass(frozen=True, slots=True)
class Lane:
    """The way to one version of a model: its places and the stack of senders behind them."""

    version: str
    window: Window
    sender: Sender


@dataclass(slots=True)
class Row:
    """One row: its result once there is one, and until then the call that brings it, or an earlier row that does."""

    result: CallResult | None = None
    call: Call | None = None
    lane: Lane | None = None
    leader: Row | None = None

    def settled(self) -> CallResult | None:
        """Return the result, or what an equal row's result means for this one; None while there is none."""
        if self.leader is None or self.result is not None:
            return self.result
        first = self.leader.result
        if first is None or first.error_code is not None:
            return first if first is None else first._replace(attempts=0, latency_ms=None)
        return first._replace(from_cache=True)


def pieces(batch: Batch, size: int) -> Iterator[Batch]:
    """Cut a batch into pieces of at most ``size`` rows, without copying."""
    for start in range(0, len(batch[0]), size):
        yield tuple(column.slice(start, size) for column in batch)
