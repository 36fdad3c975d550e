"""Puts the judging of answers into the call that brings them, where Spark's plan shows that call.

Two Python functions one after the other are two stages of a task: Spark writes the whole output of the first into the
second before it takes a row out of that. One function that calls and judges gives out rows as they are answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from inferlake.calling import Callee
from inferlake.iterator_udf import iterator_udf
from inferlake.plan_callee import callee_in, command_of, is_ours
from inferlake.plan_tree import Expression, Jvm, Node, ids, items, referenced
from inferlake.routing.called import calling_and_rejecting
from inferlake.routing.job import Job, sent_inputs
from inferlake.routing.rejecting import ROUTED_DDL, Rejecting
from inferlake.session_kind import is_connect


def with_calls_judged(frame: DataFrame, job: Job, verdict: str) -> DataFrame | None:
    """Return the frame with a struct of ``answer`` and the fields of ``ROUTED_DDL`` in place of the answers' column.

    None where the plan does not say that the column is one call of a model whose answers nothing else needs: in
    Connect, for a frame that is cached, and where more was done since than to choose, name and add other columns.
    """
    if is_connect(frame.sparkSession):
        return None
    plan, names = _plan(frame), frame.columns
    sent = sent_inputs(frame, job.lineage)
    # What was sent is shown from the frame's own columns, as it is without this.
    shown = [plan.output().apply(names.index(name)) for name in (sent.names if sent else ())]
    return _Fusing(Jvm(frame.sparkSession), Rejecting(job.schema, sent), verdict).over(
        plan, names.index(job.column), shown
    )


@dataclass(frozen=True, slots=True)
class _Fusing:
    """Exchanges the call that a column of projections is for one that judges its answers too."""

    jvm: Jvm
    rejecting: Rejecting
    verdict: str

    def over(self, project: Node, at: int, shown: Sequence[Expression]) -> DataFrame | None:
        """Return the rows of a projection with the verdict as last column in place of column number ``at``.

        ``shown`` are expressions over the projection's columns.
        """
        if project.nodeName() != "Project" or self.jvm.is_cached(project):
            return None
        columns = items(project.projectList())
        value = _value(columns.pop(at))
        shown = self.jvm.seen_below(project, shown)
        if any(map(self.jvm.calls_python, (*columns, *shown))):
            return None  # it might be the same call again
        if value.nodeName() == "AttributeReference" and not any(ids([value]) & referenced(each) for each in columns):
            below = project.child()
            made = [attribute.exprId().id() for attribute in items(below.output())].index(value.exprId().id())
            inner = self.over(below, made, shown)
            return None if inner is None else self._projected(_plan(inner), columns)
        callee = _callee(value)
        if callee is None or not all(expression.deterministic() for expression in shown):
            return None
        return self._called(project.child(), callee, value, columns, shown)

    def _called(
        self, node: Node, callee: Callee, call: Expression, columns: list[Expression], shown: Sequence[Expression]
    ) -> DataFrame:
        arguments = items(call.children())
        function = calling_and_rejecting(callee, len(arguments), self.rejecting)
        judged = iterator_udf(function, f"answer {call.dataType().sql()}, {ROUTED_DDL}")
        # Spark hands over but once what is shown and an argument as well.
        struct = judged(*self.jvm.columns([*arguments, *shown])).alias(self.verdict)
        return self.jvm.frame(node, [*self.jvm.columns(columns), struct])

    def _projected(self, inner: Node, columns: list[Expression]) -> DataFrame:
        verdict = items(inner.output())[-1]
        return self.jvm.frame(inner, self.jvm.columns([*columns, verdict]))


def _plan(frame: DataFrame) -> Node:
    """Return a frame's analysed plan."""
    classic: Any = frame
    return classic._jdf.queryExecution().analyzed()


def _callee(value: Expression) -> Callee | None:
    """Return what an expression calls, if it is a call of a model and nothing beside."""
    if value.nodeName() != "PythonUDF" or not is_ours(value):
        return None
    return callee_in(command_of(value))


def _value(column: Expression) -> Expression:
    """Return what a column of a projection is."""
    return column.child() if column.nodeName() == "Alias" else column
