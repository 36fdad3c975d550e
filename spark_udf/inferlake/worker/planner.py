"""From rows to calls: which version answers a row, what is sent, and which rows need no call at all."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from inferlake.call import CallDescriptor
from inferlake.result import CallResult, ErrorCode
from inferlake.worker.calls import Call, CallFailed
from inferlake.worker.errors import ModelUnusable
from inferlake.worker.prompt import Render, compile_prompt
from inferlake.worker.request import KeyMaker, RequestForm, request_form
from inferlake.worker.reuse import Journal
from inferlake.worker.row_json import JsonWriter, plain_text
from inferlake.worker.rows import Batch, Lane, Row
from inferlake_registry.contract.models import ModelSnapshot
from inferlake_registry.contract.problems import ModelDisabled

if TYPE_CHECKING:
    from inferlake.worker.engine import Engine

_NULL_INPUT: Final = CallResult(None, "All inputs are null, so nothing was called.", ErrorCode.NULL_INPUT)
_NOT_WANTED: Final = CallResult(None)  # its ``where`` is false


@dataclass(frozen=True, slots=True)
class Arm:
    """One version that may answer, with all that is fixed about its requests. ``below`` cuts 0..99 into shares."""

    below: int
    form: RequestForm
    keys: KeyMaker
    lane: Lane


async def plan(shared: Engine, descriptor: CallDescriptor, partition: int) -> Planner:
    """Return the planner of one task, with the model resolved if that has not been done on the driver."""
    snapshot = descriptor.snapshot
    if snapshot is None:
        snapshot = await shared.resolve(descriptor)
    if not snapshot.enabled:
        raise ModelDisabled(snapshot.name)
    if not snapshot.arms:
        raise ModelUnusable(snapshot.name, "it has no active version")
    journal = await shared.journal(descriptor)
    arms, below = [], 0
    for arm in snapshot.arms:
        below += arm.weight
        endpoint = arm.endpoint
        arms.append(
            Arm(
                below,
                request_form(endpoint, descriptor),
                KeyMaker(snapshot, endpoint),
                shared.lane(descriptor, snapshot, endpoint),
            )
        )
    return Planner(descriptor, snapshot, arms, partition, time.monotonic, journal)


class Planner:
    """Turns pieces of a task's input into rows, each with its call or already with its result."""

    def __init__(
        self,
        descriptor: CallDescriptor,
        snapshot: ModelSnapshot,
        arms: Sequence[Arm],
        partition: int,
        clock: Callable[[], float],
        journal: Journal | None,
    ) -> None:
        self._descriptor = descriptor
        self._snapshot = snapshot
        self._arms = arms
        self._partition = partition
        self._clock = clock
        self._journal = journal
        timeout_ms = descriptor.timeout_ms or snapshot.settings.timeout_ms
        self._budget_s = timeout_ms / 1_000
        self._occurrences: Counter[bytes] = Counter()
        self._ids = count()
        self._id_prefix = f"il-{os.getpid():x}-{os.urandom(4).hex()}-"
        self._inputs = len(descriptor.input_names)
        self._render: Render | None = None
        self._sample_key: JsonWriter | None = None

    def compile(self, types: Sequence[pa.DataType]) -> None:
        """Fix how rows of these column types are rendered; raises ``BadTemplate`` and ``UnsupportedColumn``."""
        self._render = compile_prompt(self._descriptor.input_names, types[: self._inputs], self._descriptor.prompt)
        self._sample_key = plain_text(types[-1]) if self._descriptor.has_sample_key else None

    def before_output(self) -> None:
        """Make sure that what is put out now would not be paid again after a crash. Called from the task's thread."""
        if self._journal is not None:
            self._journal.flush()

    def rows(self, piece: Batch) -> list[Row]:
        """Return the rows of a piece of input."""
        assert self._render is not None
        columns = [column.to_pylist() for column in piece]
        inputs = zip(*columns[: self._inputs], strict=True)
        wanted = columns[self._inputs] if self._descriptor.has_where else None
        samples = columns[-1] if self._descriptor.has_sample_key else None
        rows = []
        for at, values in enumerate(inputs):
            if wanted is not None and not wanted[at]:
                rows.append(Row(_NOT_WANTED))
            elif (prompt := self._render(values)) is None:
                rows.append(Row(_NULL_INPUT))
            else:
                rows.append(self._called(prompt, samples[at] if samples is not None else None))
        return rows

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

    def _called(self, prompt: str, sample: object) -> Row:
        arm = self._arms[0] if len(self._arms) == 1 else self._arm(prompt)
        body = arm.form.body(prompt)
        key = arm.keys.key(body, self._scope(body, sample))
        call = Call(key, body, f"{self._id_prefix}{next(self._ids):x}", self._budget_s, arm.lane.window)
        return Row(None, call, arm.lane)

    def _arm(self, prompt: str) -> Arm:
        """Return the version that answers this prompt: always the same one, so that asking again costs nothing."""
        share = int.from_bytes(blake2b(prompt.encode(), digest_size=8).digest(), "big") % 100
        return next(arm for arm in self._arms if share < arm.below)

    def _scope(self, body: bytes, sample: object) -> bytes:
        """Return what tells equal requests apart: nothing, a sample key, or the place among its equals in the query."""
        scope = b""
        if self._sample_key is not None:
            scope = b"sample" if sample is None else b"sample=" + self._sample_key(sample).encode()
        if not self._descriptor.dedupe:
            occurrence = self._occurrences[body]
            self._occurrences[body] += 1
            # A job that runs again with its old answers is another query, but means the same samples.
            query = self._descriptor.reuse or self._descriptor.query_id
            scope += f"|{query}|{self._partition}|{occurrence}".encode()
        return scope
