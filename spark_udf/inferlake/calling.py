"""What a Spark worker runs for a column that calls a model: batches of arguments in, batches of answers out.

These values are pickled into the plan. They hold no secret and nothing alive, and importing this module starts nothing:
Spark forks its workers from a process that has imported it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, TypeAlias

import pyarrow as pa

from inferlake.call import CallDescriptor, OnError, Returns
from inferlake.call_options import are_options, read_options
from inferlake.errors import InvalidArgument
from inferlake.judge import Judge
from inferlake.result import CallResult, ErrorCode
from inferlake.schema import Schema
from inferlake.worker.errors import CalledWhileExplaining, UnsupportedColumn
from inferlake.worker.plain_values import INTERVAL_MONTHS
from inferlake.worker.runner import Reading, run, run_values
from inferlake_sql.errors import ModelNotConstant

Arguments: TypeAlias = tuple[pa.Array, ...]

# Set by route_rejected for its own job: every row is routed with its reason, however many fail.
ROUTING_PROPERTY: Final = "inferlake.routing"
# Set by Spark for the jobs of a streaming query.
_STREAM_PROPERTY: Final = "sql.streaming.queryId"
_BATCH_PROPERTY: Final = "streaming.sql.batchId"
# Set by EXPLAIN AI for its own job: whatever that job runs, it calls nothing.
EXPLAINING_PROPERTY: Final = "inferlake.explaining"


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call that was planned on the driver. Its inputs begin at ``first``; what stands around them is not sent."""

    descriptor: CallDescriptor
    answer_schema: Schema | None = None  # of the declared output type: an answer that does not fit is a decode error
    first: int = 0

    def answers(self, batches: Iterator[Arguments]) -> Iterator[pa.Array]:
        """Yield the answers, as texts or as the fixed struct."""
        if _local_property(EXPLAINING_PROPERTY):
            raise CalledWhileExplaining(self.descriptor.reference)
        descriptor = _as_streamed(_as_routed(self.descriptor))
        inputs = (self.inputs(batch) for batch in batches)
        partition = partition_id()
        reading = None if self.answer_schema is None else _reading(Judge(self.answer_schema))
        answered = run if descriptor.returns is Returns.STRUCT else run_values
        yield from answered(descriptor, inputs, partition=partition, reading=reading)

    def inputs(self, arguments: Arguments) -> Arguments:
        """Return what is sent, and behind it the condition and the sample key where the call has them."""
        has = self.descriptor
        return arguments[
            self.first : self.first + len(has.input_names) + has.has_where + has.has_sample_key + has.has_split_key
        ]


@dataclass(frozen=True, slots=True)
class UnplannedCall:
    """A call in a view or an expression that planning never saw: its model and options stand in its arguments.

    The model is the first argument, options are a last map all of whose keys are options. The worker resolves the
    model once per query. Inputs have no names here: several are sent as ``col1``, ``col2``, as Spark names them.
    """

    registry_url: str
    application_id: str
    function: str
    never_raises: bool = False

    def answers(self, batches: Iterator[Arguments]) -> Iterator[pa.Array]:
        """Yield the answers as texts."""
        first = next(batches, None)
        while first is not None and len(first[0]) == 0:
            first = next(batches, None)
        if first is not None:
            checked = (self._checked(first, batch) for batch in chain([first], batches))
            yield from self.planned(first).answers(checked)

    def planned(self, arguments: Arguments) -> ModelCall:
        """Return the call that a first batch of arguments means; its model is still to be resolved."""
        return ModelCall(self._descriptor(arguments), first=1)

    def _descriptor(self, arguments: Arguments) -> CallDescriptor:
        pairs = _options(arguments[-1]) if len(arguments) > 2 else None
        inputs = len(arguments) - 1 - (pairs is not None)
        names = ("input",) if inputs == 1 else tuple(f"col{number + 1}" for number in range(inputs))
        options = read_options(pairs or {}).checked(names)
        if options.returns is Returns.STRUCT:
            raise InvalidArgument(
                "returns", "'struct' has to be known when a query is planned; run it as text through spark.sql."
            )
        query_id = f"{self.application_id}/{_local_property('spark.sql.execution.id') or ''}"
        bare = CallDescriptor(
            registry_url=self.registry_url,
            reference=str(next(iter(arguments))[0].as_py()),
            snapshot=None,
            input_names=names,
            query_id=query_id,
            case_sensitive=_local_property("spark.sql.caseSensitive") == "true",
            application_id=self.application_id,
        )
        descriptor = options.applied(bare)
        return unraised(descriptor) if self.never_raises else descriptor

    def _checked(self, first: Arguments, batch: Arguments) -> Arguments:
        model = first[0][0]
        if not model.is_valid or any(other != model.as_py() for other in batch[0].unique().to_pylist()):
            raise ModelNotConstant(self.function)
        if len(batch) > 2 and _options(first[-1]) is not None:
            options = first[-1][0].as_py()
            if any(others != options for others in batch[-1].to_pylist()):
                raise InvalidArgument(
                    "options", "the keys of the last map are all options, so it must be the same in every row."
                )
        return batch


Callee: TypeAlias = ModelCall | UnplannedCall
_CALLEE: Final = "inferlake_callee"


def unraised(descriptor: CallDescriptor) -> CallDescriptor:
    """Return the descriptor of a call whose failures never end a query."""
    return replace(descriptor, on_error=OnError.NULL, max_error_ratio=1.0)


def as_function(callee: Callee) -> Callable[[Iterator[tuple[pa.Array, ...]]], Iterator[pa.Array]]:
    """Return the function that an iterator ``arrow_udf`` is made of."""

    def ai_function(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        return callee.answers(argument_batches(batches))

    # Spark reads the kind of function from real types, not from their names.
    ai_function.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    setattr(ai_function, _CALLEE, callee)
    return ai_function


def callee_of(function: object) -> Callee | None:
    """Return what a function made by ``as_function`` calls; None for any other function."""
    callee = getattr(function, _CALLEE, None)
    return callee if isinstance(callee, ModelCall | UnplannedCall) else None


def argument_batches(batches: Iterator[Arguments] | Iterator[pa.Array]) -> Iterator[Arguments]:
    """Yield the columns of each batch; one that PySpark cannot hand over is refused with a reason."""
    try:
        for batch in batches:
            yield batch if isinstance(batch, tuple) else (batch,)
    except KeyError as error:
        # PyArrow has no class for a column of year-month intervals (inside a struct or an array it needs none).
        if error.args != (INTERVAL_MONTHS,):
            raise
        raise UnsupportedColumn("month_interval") from error


def _options(column: pa.Array) -> dict[str, str] | None:
    """Return the pairs of a map that is options; None for anything else, which is data."""
    if not pa.types.is_map(column.type) or not pa.types.is_string(column.type.key_type):
        return None
    pairs = {key: str(value) for key, value in column[0].as_py() or ()}
    return pairs if are_options(pairs) else None


def _reading(judge: Judge) -> Reading:
    """Return what makes a decode error of every answer that is not of the declared type."""

    def read(result: CallResult) -> CallResult:
        if result.response is None:
            return result
        verdict = judge.judge(result.response)
        if verdict.valid:
            return result
        reason = verdict.errors[0].message if verdict.errors else ""
        message = f"The answer is not of the declared type: {reason}"[:200]
        return result._replace(response=None, error=message, error_code=ErrorCode.DECODE)

    return read


def _as_streamed(descriptor: CallDescriptor) -> CallDescriptor:
    """Return the descriptor without the model of the query's start, where a streaming query asks for each micro-batch.

    A worker process asks once a micro-batch: what an ALTER changes acts from the next one on, and the plan of a query
    that runs for weeks holds nothing that could be out of date.
    """
    query, batch = _local_property(_STREAM_PROPERTY), _local_property(_BATCH_PROPERTY)
    snapshot = descriptor.snapshot
    if query is None or batch is None or snapshot is None or snapshot.settings.pin_on_start:
        return descriptor
    return replace(descriptor, snapshot=None, query_id=f"{query}/{batch}")


def _as_routed(descriptor: CallDescriptor) -> CallDescriptor:
    return unraised(descriptor) if _local_property(ROUTING_PROPERTY) else descriptor


def partition_id() -> int:
    """Return the number of the partition that this task works on."""
    from pyspark import TaskContext  # only a Spark worker has one

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _local_property(name: str) -> str | None:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.getLocalProperty(name) if context is not None else None
