"""The entry of a Spark task: batches of input columns in, batches of results out, in order.

``run`` and ``run_values`` are synchronous generators, as an iterator ``arrow_udf`` wants them. They hand batches to a
pump on the engine's loop and wait for what it puts out, on one thread: Spark's input stream must never be read by
another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Final, TypeAlias

import pyarrow as pa

from inferlake.call import CallDescriptor
from inferlake.result import CallResult
from inferlake.worker.engine import Engine, engine
from inferlake.worker.failures import Failures
from inferlake.worker.planner import Planner, plan
from inferlake.worker.pump import Done, Event, Hungry, Pump
from inferlake.worker.result_arrow import text_array, to_struct_array
from inferlake.worker.rows import Batch

# What a call makes of an answer beyond what the endpoint said, such as an error of one that is not of a declared type.
Reading: TypeAlias = Callable[[CallResult], CallResult]

_CANCEL_S: Final = 0.2


def run(
    descriptor: CallDescriptor, batches: Iterator[Batch], *, partition: int = 0, reading: Reading | None = None
) -> Iterator[pa.StructArray]:
    """Yield one struct of ``inferlake.result`` a row, in the order of the input; an empty partition yields nothing.

    ``partition`` is the number of the Spark partition; it matters for ``dedupe=False``, where equal rows are told
    apart by their place. ``reading`` is applied to every result before anything counts it. Raises ``TooManyErrors``,
    ``BadTemplate``, ``UnsupportedColumn`` and the registry's errors.
    """
    for results in _results(descriptor, batches, partition, reading):
        yield to_struct_array(results)


def run_values(
    descriptor: CallDescriptor, batches: Iterator[Batch], *, partition: int = 0, reading: Reading | None = None
) -> Iterator[pa.StringArray]:
    """Yield the text of one answer a row. A failed row is null, or with ``on_error = raise`` a ``RowFailed``."""
    for results in _results(descriptor, batches, partition, reading):
        yield text_array(results)


def _results(
    descriptor: CallDescriptor, batches: Iterator[Batch], partition: int, reading: Reading | None
) -> Iterator[list[CallResult]]:
    first = next(batches, None)
    while first is not None and len(first[0]) == 0:
        first = next(batches, None)
    if first is None:
        return
    shared = engine()
    planner = shared.submit(plan(shared, descriptor, partition)).result()
    planner.compile([column.type for column in first])
    failures = Failures(descriptor)
    for answered in _pumped(shared, planner, first, batches):
        results = answered if reading is None else [reading(result) for result in answered]
        failures.check(results)
        yield results
        failures.count(results)
    failures.warn()


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
    pump = Pump(planner, emit)
    pump.start()
    return pump


def _feed(shared: Engine, pump: Pump, batch: Batch | None) -> None:
    if batch is None:
        shared.loop.call_soon_threadsafe(pump.end_input)
    else:
        shared.loop.call_soon_threadsafe(pump.offer, batch)
