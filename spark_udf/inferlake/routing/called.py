"""What a Spark worker runs when rows are called and judged in one go: arguments in, answers with their verdicts out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from inferlake.calling import Arguments, Callee, argument_batches
from inferlake.judge import Judge
from inferlake.routing.rejecting import Rejecting


def calling_and_rejecting(
    callee: Callee, arguments: int, rejecting: Rejecting
) -> Callable[[Iterator[tuple[pa.Array, ...]]], Iterator[pa.Array]]:
    """Return the function that an iterator ``arrow_udf`` is made of.

    The call's ``arguments`` come first, behind them the columns that ``rejecting`` shows of what was sent. A row's
    struct is its answer, and the fields of its verdict.
    """

    def route_rejected(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        judge = Judge(rejecting.schema)
        beside = _Beside()
        calls = beside.kept(argument_batches(batches), arguments)
        for answers in callee.answers(calls):
            for part in beside.rejoined(answers):
                verdicts = rejecting.judged(judge, part)
                names = ["answer", *(verdict.name for verdict in verdicts.type)]
                yield pa.StructArray.from_arrays([part[0], *verdicts.flatten()], names)

    route_rejected.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    return route_rejected


@dataclass(slots=True)
class _Beside:
    """What goes round a call: columns of rows that are on their way, until their answers come, in the rows' order.

    It holds no more than the call itself has read ahead. Answers come in batches of other sizes than the arguments.
    """

    _batches: deque[tuple[int, Arguments]] = field(default_factory=deque)
    _answered: int = 0  # rows of the first batch

    def kept(self, batches: Iterator[Arguments], arguments: int) -> Iterator[Arguments]:
        """Yield the first columns of each batch, and keep the others."""
        for batch in batches:
            if len(batch[0]):
                self._batches.append((len(batch[0]), batch[arguments:]))
                yield batch[:arguments]

    def rejoined(self, answers: pa.Array) -> Iterator[Arguments]:
        """Yield the answers in as many parts as they have batches of arguments, each before the columns kept of it."""
        at = 0
        while at < len(answers):
            rows, columns = self._batches[0]
            count = min(len(answers) - at, rows - self._answered)
            yield answers.slice(at, count), *(column.slice(self._answered, count) for column in columns)
            at += count
            self._answered += count
            if self._answered == rows:
                self._batches.popleft()
                self._answered = 0
