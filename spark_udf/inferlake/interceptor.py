"""Stands before ``spark.sql``: statements about models go to the registry, model calls in queries are planned.

The method is replaced on the class, because one session may be several Python objects (as in ``foreachBatch``).
Everything that is not ours goes to Spark as it came.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from inferlake.case_sensitivity import is_case_sensitive
from inferlake.connection import Connection, known
from inferlake.explain.statement import as_query, explain, require_explainable
from inferlake.query_planning import plan_query
from inferlake.routing.statement import run_routing
from inferlake.statement_frame import as_frame
from inferlake_sql.calls import may_call
from inferlake_sql.grammar import Kind, Recognition, recognise
from inferlake_sql.parse import parse_recognised
from inferlake_sql.render import render
from inferlake_sql.statements import ExplainAi, RouteQuery
from inferlake_sql.strays import refuse_strays
from inferlake_sql.tokens import DEFAULT_QUOTING, Quoting

_ORIGINAL: Final = "_inferlake_original_sql"

Args = Mapping[str, Any] | Sequence[Any] | None


def intercept(kind: type[SparkSession]) -> None:
    """Replace ``sql`` of a session class, once."""
    if _ORIGINAL in vars(kind):
        return
    original = kind.sql

    @functools.wraps(original)
    def sql(self: SparkSession, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
        connection = known()
        if connection is None or not isinstance(sqlQuery, str):
            return original(self, sqlQuery, args, **kwargs)
        return _run(original, self, connection, sqlQuery, args, kwargs)

    setattr(kind, _ORIGINAL, original)
    kind.sql = sql  # type: ignore[method-assign]


def release(kind: type[SparkSession]) -> None:
    """Give a session class its own ``sql`` back."""
    original = vars(kind).get(_ORIGINAL)
    if original is not None:
        kind.sql = original  # type: ignore[method-assign]
        delattr(kind, _ORIGINAL)


def _run(
    original: Callable[..., DataFrame],
    spark: SparkSession,
    connection: Connection,
    text: str,
    args: Args,
    places: Mapping[str, Any],
) -> DataFrame:
    recognition = recognise(text)
    if recognition is not None and _is_ours(spark, recognition):
        return _run_statement(original, spark, connection, text, recognition, args, places)
    refuse_strays(text)
    if not may_call(text):
        return original(spark, text, args, **places)
    planned = plan_query(spark, connection, text, args, _quoting(spark, text), has_places=bool(places))
    return planned.with_names_as_written(original(spark, planned.text, args, **places))


def _is_ours(spark: SparkSession, recognition: Recognition) -> bool:
    """Tell whether a recognised text is ours: ``DESCRIBE MODEL x`` is Spark's where a table ``model`` is visible."""
    return not (recognition.ambiguous and spark.catalog.tableExists("model"))


def _run_statement(
    original: Callable[..., DataFrame],
    spark: SparkSession,
    connection: Connection,
    text: str,
    recognition: Recognition,
    args: Args,
    places: Mapping[str, Any],
) -> DataFrame:
    if recognition.kind is Kind.ROUTE:
        quoting = _quoting(spark, text)
        statement = parse_recognised(text, recognition, args=args, quoting=quoting)
        assert isinstance(statement, RouteQuery)
        planned = plan_query(spark, connection, statement.query, args, quoting, as_text=True)
        query = planned.with_names_as_written(original(spark, planned.text, args))
        return run_routing(spark, statement, query, planned.lineages)
    if recognition.kind is Kind.EXPLAIN:
        quoting = _quoting(spark, text)
        explained = parse_recognised(text, recognition, args=args, quoting=quoting)
        assert isinstance(explained, ExplainAi)
        require_explainable(spark, explained.query)
        planned = plan_query(spark, connection, explained.query, args, quoting, has_places=bool(places))
        query = original(spark, as_query(planned.text), args, **places)
        return explain(spark, connection, planned, query, approximate=explained.approximate)
    sent, values = _for_registry(text, recognition, args, _quoting(spark, text))
    return as_frame(spark, connection.registry.execute(sent, values, case_sensitive=is_case_sensitive(spark)))


def _for_registry(text: str, recognition: Recognition, args: Args, quoting: Quoting) -> tuple[str, Args]:
    """Return a statement and its arguments as the registry reads them: it knows no session with quotes of its own."""
    if quoting == DEFAULT_QUOTING:
        return text, args
    return render(parse_recognised(text, recognition, args=args, quoting=quoting), reveal=True), None


def _quoting(spark: SparkSession, text: str) -> Quoting:
    if "\\" not in text and '"' not in text:
        return Quoting()  # the settings make no difference, and asking a Connect server costs a round trip
    return Quoting(
        escaped_string_literals=_flag(spark, "spark.sql.parser.escapedStringLiterals"),
        double_quoted_identifiers=_flag(spark, "spark.sql.ansi.enabled")
        and _flag(spark, "spark.sql.ansi.doubleQuotedIdentifiers"),
    )


def _flag(spark: SparkSession, key: str) -> bool:
    return str(spark.conf.get(key)).lower() == "true"  # a default given here would hide Spark's own
