"""The entry of a Spark task: batches of input columns in, batches of results out, in order.

``run`` and ``run_values`` are synchronous generators, as an iterator ``arrow_udf`` wants them. They hand batches to a
pump on the engine's loop and wait for what it puts out, on one thread: Spark's input stream must never be read by
another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Final

import pyarrow as pa

from inferlake.call import CallDescriptor, OnError
from inferlake.result import CallResult, ErrorCode
from inferlake.worker.engine import Engine, engine
from inferlake.worker.errors import RowFailed, TooManyErrors
from inferlake.worker.planner import Planner, plan
from inferlake.worker.pump import Done, Event, Hungry, Pump
from inferlake.worker.result_arrow import text_array, to_struct_array
from inferlake.worker.rows import Batch

_JUDGED_FROM_ROWS: Final = 200  # max_error_ratio says nothing about fewer rows
_CANCEL_S: Final = 0.2


def run(descriptor: CallDescriptor, batches: Iterator[Batch], *, partition: int = 0) -> Iterator[pa.StructArray]:
    """Yield one struct of ``inferlake.result`` a row, in the order of the input; an empty partition yields nothing.

    ``partition`` is the number of the Spark partition; it matters for ``dedupe=False``, where equal rows are told
    apart by their place. Raises ``TooManyErrors``, ``BadTemplate``, ``UnsupportedColumn`` and the registry's errors.
    """
    for results in _results(descriptor, batches, partition):
        yield to_struct_array(results)


def run_values(descriptor: CallDescriptor, batches: Iterator[Batch], *, partition: int = 0) -> Iterator[pa.StringArray]:
    """Yield the text of one answer a row. A failed row is null, or with ``on_error = raise`` a ``RowFailed``."""
    for results in _results(descriptor, batches, partition):
        if descriptor.on_error is OnError.RAISE:
            _raise_first(descriptor, results)
        yield text_array(results)


def _results(descriptor: CallDescriptor, batches: Iterator[Batch], partition: int) -> Iterator[list[CallResult]]:
    first = next(batches, None)
    while first is not None and len(first[0]) == 0:
        first = next(batches, None)
    if first is None:
        return
    shared = engine()
    planner = shared.submit(plan(shared, descriptor, partition)).result()
    planner.compile([column.type for column in first])
    errors = _ErrorRatio(descriptor)
    for results in _pumped(shared, planner, first, batches):
        yield results
        errors.judge(results)


def _pumped(shared: Engine, planner: Planner, first: Batch, batches: Iterator[Batch]) -> Iterator[list[CallResult]]:
    events: SimpleQueue[Event] = SimpleQueue()
    pump = shared.submit(_started(planner, events.put)).result()
    waiting: Batch | None = first
    try:
        while True:
            match events.get():
                case list() as results:
                    planner.before_output()
                    yield results
                case Hungry():
                    batch = waiting if waiting is not None else next(batches, None)
                    waiting = None
                    _feed(shared, pump, batch)
                case Done():
                    return
                case BaseException() as error:
                    raise error
    finally:
        shared.submit(pump.cancelled(_CANCEL_S)).result()


async def _started(planner: Planner, emit: Callable[[Event], None]) -> Pump:
    pump = Pump(planner.rows, planner.failed, emit)
    pump.start()
    return pump


def _feed(shared: Engine, pump: Pump, batch: Batch | None) -> None:
    if batch is None:
        shared.loop.call_soon_threadsafe(pump.end_input)
    else:
        shared.loop.call_soon_threadsafe(pump.offer, batch)


class _ErrorRatio:
    """Stops a task once too many of its calls have failed; rows that needed no call do not count."""

    def __init__(self, descriptor: CallDescriptor) -> None:
        self._descriptor = descriptor
        self._rows = 0
        self._by_code: Counter[str] = Counter()

    def judge(self, results: Sequence[CallResult]) -> None:
        """Count a batch that has been put out, and raise ``TooManyErrors`` if the ratio is exceeded."""
        for result in results:
            if result.error_code is None:
                self._rows += result.response is not None
            elif result.error_code is not ErrorCode.NULL_INPUT:
                self._rows += 1
                self._by_code[result.error_code.value] += 1
        failed = self._by_code.total()
        ratio = self._descriptor.max_error_ratio
        if self._rows >= _JUDGED_FROM_ROWS and failed > ratio * self._rows:
            raise TooManyErrors(self._descriptor.reference, failed, self._rows, ratio, self._by_code)


def _raise_first(descriptor: CallDescriptor, results: Sequence[CallResult]) -> None:
    for result in results:
        if result.error_code is not None and result.error_code is not ErrorCode.NULL_INPUT:
            raise RowFailed(descriptor.reference, result.error_code.value, result.error or "")
