"""From rows to calls: what is sent for a row, on which way, and which rows need no call at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from inferlake.call import CallDescriptor
from inferlake.result import CallResult, ErrorCode
from inferlake.worker.calls import Call, CallFailed
from inferlake.worker.pay_once import Ahead
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
    return Planner(descriptor, snapshot, renderer, lanes, time.monotonic, journal, shared.ahead(descriptor))


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
        ahead: Ahead,
    ) -> None:
        self._snapshot = snapshot
        self._inputs = len(descriptor.input_names)
        self._renderer = renderer
        self._lanes = lanes
        self._clock = clock
        self._journal = journal
        self._ahead = ahead
        self._under_way: dict[bytes, Row] = {}  # by key: the first of equal rows, until it has its result
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
            from inferlake.input_contract import check_types  # brings the lexer of SQL along: 0.1 s of a worker's start

            check_types(self._snapshot, [spark_type(type_) for type_ in types[: self._inputs]])
        self._renderer.compile(types)

    def before_output(self) -> None:
        """Make sure that what is put out now would not be paid again after a crash. Called from the task's thread."""
        if self._journal is not None:
            self._journal.flush()

    def rows(self, piece: Batch) -> list[Row]:
        """Return the rows of a piece of input; those without a result are soon to be sent."""
        rendered = list(self._renderer.rows(piece))
        keys = {row.key: None for row in rendered if isinstance(row, Rendered)}
        found = self._ahead.claim([key for key in keys if key not in self._under_way])
        return [self._row(row, found) if isinstance(row, Rendered) else Row(_UNCALLED[row]) for row in rendered]

    def ended(self, call: Call) -> None:
        """Learn that a call's row has its result."""
        del self._under_way[call.key]

    def flush(self) -> None:
        """Make sure that no answer so far would be paid again if this process were killed."""
        self._ahead.flush()

    def abandon(self) -> None:
        """Let other processes make the calls that have not begun."""
        self._ahead.abandon(self._under_way)

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

    def _row(self, row: Rendered, found: Mapping[bytes, CallResult]) -> Row:
        if (answer := found.get(row.key)) is not None:
            return Row(answer)
        if (leader := self._under_way.get(row.key)) is not None:
            return Row(leader=leader)
        called = self._under_way[row.key] = self._called(row)
        return called

    def _called(self, row: Rendered) -> Row:
        lane = self._lanes[row.arm]
        call = Call(row.key, row.body, f"{self._id_prefix}{next(self._ids):x}", self._budget_s, lane.window)
        return Row(None, call, lane)
