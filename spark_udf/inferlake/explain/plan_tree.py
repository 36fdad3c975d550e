"""Spark's optimised plan as Python reads it: the nodes and expressions are the JVM's own objects.

These are not interfaces that Spark promises, so all that is used of them stands in this folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from pyspark.sql import SparkSession

Node: TypeAlias = Any  # org.apache.spark.sql.catalyst.plans.logical.LogicalPlan, or a physical plan
Expression: TypeAlias = Any  # org.apache.spark.sql.catalyst.expressions.Expression


def items(sequence: Any) -> list[Any]:
    """Return the elements of a Scala sequence."""
    return [sequence.apply(at) for at in range(sequence.size())]


def children(node: Node) -> list[Node]:
    """Return a node's inputs; of an adaptive plan, the plan that it starts with."""
    if node.nodeName() == "AdaptiveSparkPlan":
        return [node.inputPlan()]
    return items(node.children())


def walk(node: Node) -> Iterator[Node]:
    """Yield a plan's nodes, inputs before what uses them, plans inside of expressions included."""
    for part in (*items(node.subqueries()), *children(node)):
        yield from walk(part)
    yield node


def referenced(owner: Node | Expression) -> set[int]:
    """Return the ids of the attributes that a node or an expression reads."""
    return ids(items(owner.references().toSeq()))


def ids(attributes: Sequence[Expression]) -> set[int]:
    """Return the ids of attributes."""
    return {attribute.exprId().id() for attribute in attributes}


class Jvm:
    """The few things of Spark's JVM that build plans and frames."""

    def __init__(self, spark: SparkSession) -> None:
        session: Any = spark
        self._spark = session._jsparkSession
        self._jvm = session._jvm
        self._dataset = self._class("org.apache.spark.sql.classic.Dataset")
        self._collapse = self._object("org.apache.spark.sql.catalyst.optimizer.CollapseProject")

    def selected(self, node: Node, arguments: Sequence[Expression]) -> Any:
        """Return the JVM's frame of expressions over a plan's rows, as the columns ``a0``, ``a1``…; nothing runs."""
        column = self._jvm.org.apache.spark.sql.classic.ExpressionUtils.column
        columns = [column(argument).alias(f"a{at}") for at, argument in enumerate(arguments)]
        return self._dataset.ofRows(self._spark, node).select(self._sequence(columns))

    def with_children(self, node: Node, inputs: Sequence[Node]) -> Node:
        """Return a node on other inputs."""
        return node.withNewChildren(self._sequence(inputs))

    def with_nulls(self, node: Node, attributes: Sequence[Expression]) -> Node:
        """Return a plan's rows with further columns of nulls, under the attributes given."""
        output = [*items(node.output()), *(self._null(attribute) for attribute in attributes)]
        return self._jvm.org.apache.spark.sql.catalyst.plans.logical.Project(self._sequence(output), node)

    def seen_below(self, project: Node, arguments: Sequence[Expression]) -> list[Expression]:
        """Return expressions over a projection's columns as expressions over the columns of its input."""
        names = self._collapse.getAliasMap(project)
        return [self._collapse.replaceAlias(argument, names) for argument in arguments]

    def row_bytes(self, node: Node) -> int:
        """Return how large Spark takes one row of a plan to be."""
        statistics = self._jvm.org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
        return int(statistics.getSizePerRow(node.output(), node.stats().attributeStats()))

    def _null(self, attribute: Expression) -> Expression:
        expressions = self._jvm.org.apache.spark.sql.catalyst.expressions
        literal = expressions.Literal(None, attribute.dataType())
        return expressions.Alias(
            literal,
            attribute.name(),
            attribute.exprId(),
            attribute.qualifier(),
            self._object("scala.None"),
            self._sequence([]),
        )

    def _sequence(self, values: Sequence[Any]) -> Any:
        return self._jvm.PythonUtils.toSeq(list(values))

    def _class(self, name: str) -> Any:
        return getattr(self._jvm, name)

    def _object(self, name: str) -> Any:
        return getattr(self._class(f"{name}$"), "MODULE$")
