"""Where Spark's plan holds calls of models: each is a node of its own, with the function that was pickled into it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from inferlake.calling import Callee, UnplannedCall
from inferlake.plan_callee import callee_in, command_of, is_ours
from inferlake.plan_tree import Expression, Node, children, items, walk
from inferlake_sql.errors import ModelNotConstant, NotSupported

_EVALUATION: Final = "ArrowEvalPython"  # the same name in optimised and in physical plans
_CUTS_OFF: Final = frozenset({"GlobalLimit", "LocalLimit", "Offset", "Tail"})
_READS_ALL: Final = frozenset({"Aggregate", "Sort", "Window"})  # before they give out their first row


@dataclass(frozen=True, slots=True)
class Place:
    """One place where a plan evaluates a call: over the rows of ``node``'s input, for the ``arguments``."""

    function: str  # its name in the plan
    identity: str  # equal for places of the same call
    callee: Callee
    reference: str  # the model as the call names it
    arguments: tuple[Expression, ...]
    node: Node
    is_cut_off: bool  # something above may stop asking for rows

    @property
    def input(self) -> Node:
        """The plan whose rows reach the call."""
        return self.node.child()


def find_places(plan: Node) -> list[Place]:
    """Return the places of a plan, inner ones first.

    Raises ModelNotConstant, and NotSupported for a cached frame of calls that have not been made.
    """
    return list(_find(plan, is_cut_off=False))


def _find(node: Node, *, is_cut_off: bool) -> Iterator[Place]:
    name = node.nodeName()
    below = name in _CUTS_OFF or (is_cut_off and name not in _READS_ALL)
    for subquery in items(node.subqueries()):
        yield from _find(subquery, is_cut_off=False)
    for child in children(node):
        yield from _find(child, is_cut_off=below)
    if name == "InMemoryRelation":
        _require_rows(node)
    yield from places_of(node, is_cut_off=is_cut_off)


def places_of(node: Node, *, is_cut_off: bool = False) -> Iterator[Place]:
    """Yield the calls that one node evaluates: none, unless it runs a function of ours."""
    if node.nodeName() != _EVALUATION:
        return
    for function in items(node.udfs()):
        if not is_ours(function):
            continue
        command = command_of(function)
        callee = callee_in(command)
        if callee is not None:
            arguments = tuple(items(function.children()))
            reference = _reference(callee, arguments)
            identity = hashlib.sha256(command + reference.encode()).hexdigest()
            yield Place(function.name(), identity, callee, reference, arguments, node, is_cut_off)


def _reference(callee: Callee, arguments: tuple[Expression, ...]) -> str:
    if not isinstance(callee, UnplannedCall):
        return callee.descriptor.reference
    model = arguments[0]
    value = model.eval(None) if model.foldable() else None
    if value is None:
        raise ModelNotConstant(callee.function)
    return str(value.toString())


def _require_rows(relation: Node) -> None:
    """Raise NotSupported for a cached frame with calls whose rows are not there yet."""
    cache = relation.cacheBuilder()
    if cache.isCachedColumnBuffersLoaded():
        return
    for node in walk(cache.cachedPlan()):
        for _ in places_of(node):
            raise NotSupported(
                "EXPLAIN AI over a cached frame whose calls have not been made",
                "Explain the frame's own query before you cache it, or fill the cache first.",
            )
