"""Figures without a job: what Spark's optimizer believes about the rows that reach a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil, prod
from typing import Any, Final

from pyspark.sql import SparkSession

from inferlake.explain.figures import Figures
from inferlake.explain.places import Place
from inferlake.explain.planned_calls import PlannedCall
from inferlake.explain.prompt_tokens import BYTES_A_TOKEN
from inferlake.explain.sources import Source, evaluations, sources
from inferlake.plan_tree import Expression, Jvm, Node, children

_UNKNOWN_BYTES: Final = 1 << 62  # Spark takes the largest number for what it knows nothing about

_KEEPS_LEFT: Final = frozenset({"LeftSemi", "LeftAnti"})
_MULTIPLIES: Final = frozenset({"Expand", "Generate"})

_NO_JOB: Final = "No job was run."
_MEASURED: Final = "Rows are Spark's own estimate; without column statistics it takes a filter to let all through."
_GUESSED: Final = "Rows are a guess from the size of the input, for Spark has not counted it: ANALYZE TABLE does."
_NOTHING: Final = "Spark's plan has no statistics of the input: without APPROXIMATE it is counted."
_DISTINCT: Final = "Requests are the distinct values in Spark's column statistics."
_EACH_ROW: Final = "Each row is taken as a request of its own: no column statistics tell how many are equal."
_NO_LENGTHS: Final = "Tokens are unknown: no column statistics tell how long the texts are."


def approximated(spark: SparkSession, calls: Sequence[PlannedCall]) -> list[Figures]:
    """Return the figures of each call as Spark's plan has them; nothing is read and no job is run."""
    jvm = Jvm(spark)
    return [_figures(jvm, call, sources(jvm, call)) for call in calls]


def _figures(jvm: Jvm, call: PlannedCall, found: Sequence[Source]) -> Figures:
    repeated = evaluations(call, found)
    if not found:
        return Figures(repeated, 0, 0, 0)
    inputs = [source.place.input for source in found]
    rows, remark = _all(_rows(node, lambda leaf: None) for node in inputs), _MEASURED
    if rows is None:
        rows, remark = _all(_rows(node, lambda leaf: _by_size(jvm, leaf)) for node in inputs), _GUESSED
    if rows is None:
        return Figures(repeated, None, None, None, (_NO_JOB, _NOTHING))
    distinct = [_distinct(source.place) for source in found]
    requests = sum(
        count if values is None else min(count, values) for count, values in zip(rows, distinct, strict=True)
    )
    remarks = [_NO_JOB, remark, _EACH_ROW if None in distinct else _DISTINCT]
    lengths = _all(_bytes(source.place) for source in found)
    if lengths is None:
        return Figures(repeated, sum(rows), requests, None, (*remarks, _NO_LENGTHS))
    return Figures(repeated, sum(rows), requests, requests * ceil(max(lengths) / BYTES_A_TOKEN), tuple(remarks))


def _all(numbers: Iterable[int | None]) -> list[int] | None:
    """Return the numbers, if all are known."""
    listed = list(numbers)
    known = [number for number in listed if number is not None]
    return known if len(known) == len(listed) else None


def _rows(node: Node, of_leaf: Callable[[Node], int | None]) -> int | None:
    """Return how many rows a plan has, as far as Spark knows; ``of_leaf`` is asked where it does not."""
    known = [count for count in (_number(node.stats().rowCount()), _number(node.maxRows())) if count is not None]
    if known:
        return min(known)
    name, inputs = node.nodeName(), children(node)
    if not inputs:
        return of_leaf(node)
    if name in _MULTIPLIES or (len(inputs) > 1 and not _keeps_left(node)):
        return None
    return _rows(inputs[0], of_leaf)


def _keeps_left(node: Node) -> bool:
    return node.nodeName() == "Join" and node.joinType().toString() in _KEEPS_LEFT


def _by_size(jvm: Jvm, leaf: Node) -> int | None:
    size = int(str(leaf.stats().sizeInBytes()))
    return None if size >= _UNKNOWN_BYTES else ceil(size / jvm.row_bytes(leaf))


def _distinct(place: Place) -> int | None:
    """Return how many different inputs a call can get: None unless all are columns with statistics, or constants."""
    counts = _all(_of_column(place, argument, "distinctCount", of_constant=1) for argument in place.arguments)
    return None if counts is None else prod(counts)


def _bytes(place: Place) -> int | None:
    """Return how long the columns of a prompt are on average, without what the model and the call add to it."""
    lengths = _all(_of_column(place, argument, "avgLen", of_constant=0) for argument in place.arguments)
    return None if lengths is None else sum(lengths)


def _of_column(place: Place, argument: Expression, name: str, *, of_constant: int) -> int | None:
    if argument.foldable():
        return of_constant
    if argument.nodeName() != "AttributeReference":
        return None
    column = place.input.stats().attributeStats().get(argument)
    return _number(getattr(column.get(), name)()) if column.isDefined() else None


def _number(option: Any) -> int | None:
    return int(str(option.get())) if option.isDefined() else None
