"""Spark's plans as Python reads them: the nodes and expressions are the JVM's own objects.

These are not interfaces that Spark promises: they are used here, in ``inferlake.explain``, and where routing looks for
the call whose answers it judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn

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
        self._session = spark
        self._spark = session._jsparkSession
        self._jvm = session._jvm
        self._dataset = self._class("org.apache.spark.sql.classic.Dataset")
        self._collapse = self._object("org.apache.spark.sql.catalyst.optimizer.CollapseProject")
        self._python_function = self._object("org.apache.spark.sql.catalyst.trees.TreePattern").PYTHON_UDF()

    def selected(self, node: Node, arguments: Sequence[Expression]) -> Any:
        """Return the JVM's frame of expressions over a plan's rows, as the columns ``a0``, ``a1``…; nothing runs."""
        return self._select(node, [self._column(argument).alias(f"a{at}") for at, argument in enumerate(arguments)])

    def columns(self, expressions: Sequence[Expression]) -> list[Column]:
        """Return expressions of a plan as they are: resolved, and named ones with their ids and their metadata."""
        return [ClassicColumn(self._column(expression)) for expression in expressions]

    def frame(self, node: Node, columns: Sequence[Column]) -> DataFrame:
        """Return the frame of columns over a plan's rows; nothing runs."""
        made: Sequence[Any] = columns
        return DataFrame(self._select(node, [column._jc for column in made]), self._session)

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

    def calls_python(self, expression: Expression) -> bool:
        """Tell whether an expression has a Python function anywhere in it."""
        return bool(expression.containsPattern(self._python_function))

    def is_cached(self, node: Node) -> bool:
        """Tell whether Spark takes a plan's rows from a cache, or will once they are there."""
        level = self._dataset.ofRows(self._spark, node).storageLevel()
        return bool(level.useMemory() or level.useDisk())

    def row_bytes(self, node: Node) -> int:
        """Return how large Spark takes one row of a plan to be."""
        statistics = self._jvm.org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
        return int(statistics.getSizePerRow(node.output(), node.stats().attributeStats()))

    def _column(self, expression: Expression) -> Any:
        return self._jvm.org.apache.spark.sql.classic.ExpressionUtils.column(expression)

    def _select(self, node: Node, columns: Sequence[Any]) -> Any:
        return self._dataset.ofRows(self._spark, node).select(self._sequence(columns))

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
