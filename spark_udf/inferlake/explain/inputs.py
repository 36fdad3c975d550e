"""What reaches a call, as a plan that calls no model itself: that is what can be counted beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from inferlake.explain.places import Place, places_of
from inferlake.plan_tree import Expression, Jvm, Node, children, ids, items, referenced, walk

_EVALUATIONS: Final = frozenset({"ArrowEvalPython", "BatchEvalPython"})
# Joins that put no null in a value's place.
_KEEPS_VALUES: Final = frozenset({"Inner", "Cross", "LeftSemi", "LeftAnti"})


class NeedsAnswers(Exception):
    """The rows that reach a call, or its input, depend on answers of ``models``. It never leaves this folder."""

    def __init__(self, models: frozenset[str]) -> None:
        super().__init__()
        self.models = models


@dataclass(frozen=True, slots=True)
class _Free:
    """A plan without model calls; ``unknown`` are the attributes that only a run can know, nulls meanwhile."""

    plan: Node
    unknown: frozenset[int]


def free_input(jvm: Jvm, place: Place) -> Node:
    """Return the plan of the rows that reach a call. Raises NeedsAnswers if other calls decide which they are."""
    models = frozenset(inner.reference for node in walk(place.input) for inner in places_of(node))
    if not models:
        return place.input
    free = _Freeing(jvm, models).free(place.input)
    if any(referenced(argument) & free.unknown for argument in place.arguments):
        raise NeedsAnswers(models)
    return free.plan


def repeats(jvm: Jvm, place: Place) -> bool:
    """Tell whether a place evaluates again what a place below it has evaluated: the same call of the same values."""
    return _is_below(jvm, place, place.input, place.arguments)


def _is_below(jvm: Jvm, place: Place, node: Node, arguments: Sequence[Expression]) -> bool:
    for inner in places_of(node):
        if inner.identity == place.identity and _same(arguments, inner.arguments):
            return True
    if node.nodeName() == "Project":
        arguments = jvm.seen_below(node, arguments)
    elif node.nodeName() == "Join" and node.joinType().toString() not in _KEEPS_VALUES:
        return False
    return any(_is_below(jvm, place, child, arguments) for child in children(node))


def _same(arguments: Sequence[Expression], others: Sequence[Expression]) -> bool:
    return all(one.semanticEquals(other) for one, other in zip(arguments, others, strict=True))


class _Freeing:
    """Takes model calls out of a plan, and follows what would have been made of their answers."""

    def __init__(self, jvm: Jvm, models: frozenset[str]) -> None:
        self._jvm = jvm
        self._models = models

    def free(self, node: Node) -> _Free:
        """Return the plan without its calls. Raises NeedsAnswers where an answer decides about rows."""
        if any(True for plan in items(node.subqueries()) for inner in walk(plan) for _ in places_of(inner)):
            raise NeedsAnswers(self._models)
        inputs = [self.free(child) for child in children(node)]
        unknown = frozenset().union(*(each.unknown for each in inputs))
        if any(True for _ in places_of(node)):
            results = items(node.resultAttrs())
            return _Free(self._jvm.with_nulls(inputs[0].plan, results), unknown | ids(results))
        if not unknown:
            return _Free(node, unknown)
        plan = self._jvm.with_children(node, [each.plan for each in inputs])
        return _Free(plan, unknown | self._made_of(node, unknown, inputs))

    def _made_of(self, node: Node, unknown: frozenset[int], inputs: list[_Free]) -> set[int]:
        """Return the attributes that a node makes of unknown ones."""
        name = node.nodeName()
        if name == "Union":
            columns = zip(items(node.output()), *(items(child.output()) for child in children(node)), strict=True)
            return {column[0].exprId().id() for column in columns if ids(column[1:]) & unknown}
        if name in _EVALUATIONS:
            return ids(items(node.resultAttrs())) if referenced(node) & unknown else set()
        if name == "Project":
            made = items(node.projectList())
        elif name == "Aggregate" and not any(referenced(key) & unknown for key in items(node.groupingExpressions())):
            made = items(node.aggregateExpressions())
        elif referenced(node) & unknown:
            raise NeedsAnswers(self._models)
        else:
            return set()
        return {column.exprId().id() for column in made if referenced(column) & unknown}
