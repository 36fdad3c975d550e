"""From rows to calls: what is sent for a row, on which way, and which rows need no call at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from inferlake.call import CallDescriptor
from inferlake.input_contract import check_types
from inferlake.result import CallResult, ErrorCode
from inferlake.worker.calls import Call, CallFailed
from inferlake.worker.rendering import Rendered, Renderer, Uncalled
from inferlake.worker.reuse import Journal
from inferlake.worker.rows import Batch, Lane, Row
from inferlake.worker.spark_types import spark_type
from inferlake_registry.contract.models import ModelSnapshot

if TYPE_CHECKING:
    from inferlake.worker.engine import Engine

_UNCALLED: Final = {
    Uncalled.NULL_INPUT: CallResult(None, "All inputs are null, so nothing was called.", ErrorCode.NULL_INPUT),
    Uncalled.NOT_WANTED: CallResult(None),
}


async def plan(shared: Engine, descriptor: CallDescriptor, partition: int) -> Planner:
    """Return the planner of one task, with the model resolved if that has not been done on the driver."""
    snapshot = descriptor.snapshot
    if snapshot is None:
        snapshot = await shared.resolve(descriptor)
    renderer = Renderer(descriptor, snapshot, partition)
    journal = await shared.journal(descriptor)
    lanes = [shared.lane(descriptor, snapshot, arm.endpoint) for arm in snapshot.arms]
    return Planner(descriptor, snapshot, renderer, lanes, time.monotonic, journal)


class Planner:
    """Turns pieces of a task's input into rows, each with its call or already with its result.

    ``lanes`` are the ways to the snapshot's arms, in their order.
    """

    def __init__(
        self,
        descriptor: CallDescriptor,
        snapshot: ModelSnapshot,
        renderer: Renderer,
        lanes: Sequence[Lane],
        clock: Callable[[], float],
        journal: Journal | None,
    ) -> None:
        self._snapshot = snapshot
        self._inputs = len(descriptor.input_names)
        self._renderer = renderer
        self._lanes = lanes
        self._clock = clock
        self._journal = journal
        timeout_ms = descriptor.timeout_ms or snapshot.settings.timeout_ms
        self._budget_s = timeout_ms / 1_000
        self._ids = count()
        self._id_prefix = f"il-{os.getpid():x}-{os.urandom(4).hex()}-"

    def compile(self, types: Sequence[pa.DataType]) -> None:
        """Fix how rows of these column types are rendered.

        Raises ``BadTemplate``, ``UnsupportedColumn``, and what the model's INPUT forbids: ``InputCountDiffers`` and
        ``InputTypeDiffers``, which planning finds first where it sees the call.
        """
        if self._snapshot.inputs:
            check_types(self._snapshot, [spark_type(type_) for type_ in types[: self._inputs]])
        self._renderer.compile(types)

    def before_output(self) -> None:
        """Make sure that what is put out now would not be paid again after a crash. Called from the task's thread."""
        if self._journal is not None:
            self._journal.flush()

    def rows(self, piece: Batch) -> list[Row]:
        """Return the rows of a piece of input."""
        rendered = self._renderer.rows(piece)
        return [self._called(row) if isinstance(row, Rendered) else Row(_UNCALLED[row]) for row in rendered]

    def failed(self, failure: CallFailed, row: Row) -> CallResult:
        """Return the result of a call that has failed for good."""
        call, lane = row.call, row.lane
        assert call is not None and lane is not None
        return CallResult(
            None,
            failure.message,
            failure.code,
            failure.http_status,
            failure.finish_reason,
            self._snapshot.name,
            lane.version,
            call.attempts,
            None if call.started is None else (self._clock() - call.started) * 1_000,
            request_id=failure.request_id or call.request_id,
        )

    def _called(self, row: Rendered) -> Row:
        lane = self._lanes[row.arm]
        call = Call(row.key, row.body, f"{self._id_prefix}{next(self._ids):x}", self._budget_s, lane.window)
        return Row(None, call, lane)
