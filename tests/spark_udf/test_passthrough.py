"""Statements that are not ours have the same outcome with inferlake as without: the same rows or the same error."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from registry_fixtures import run_registry
from spark_calls import SparkCall, spark_calls
from spark_grammar import kinds_in_grammar, kinds_of

import inferlake

# One fixture runs hundreds of statements twice: half a minute where nothing else runs, and the first of these waits.
pytestmark = pytest.mark.timeout(400)

CALLS: Final = spark_calls()

# What Spark numbers or dates anew each time.
_CHANGING: Final = (
    (re.compile(r"(?<=#)\d+L?"), "n"),
    (re.compile(r"(?<=plan_id=)\d+"), "n"),
    (re.compile(r"(?<=transient_lastDdlTime=)\d+"), "n"),
    (re.compile(r"(?<=_pyspark_)[0-9a-f]{32}"), "n"),
    (re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} \d\d \d\d:\d\d:\d\d \w+ \d{4}"), "time"),
    (re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "time"),
)

# Small queries take no time but for their planning.
_QUICK: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

# Rules that no statement is made of: other texts begin with them, nothing refers to them, they are empty, or another
# one is preferred as long as keywords are not reserved.
_NOT_OF_STATEMENTS: Final = frozenset(
    {
        "singleExpression",
        "singleTableIdentifier",
        "singleTemporalTableIdentifier",
        "singleMultipartIdentifier",
        "singleFunctionIdentifier",
        "singleDataType",
        "singleTableSchema",
        "singlePathElementList",
        "singleRoutineParamList",
        "singleQuery",
        "functionIdentifier",
        "temporalTableIdentifier",
        "catalogIdentifierReference",
        "qualifiedNameList",
        "errorCapturingIdentifierExtra",
        "ansiNonReserved",
        "predicateOperator",
    }
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: a frame's schema and rows, or an error."""

    schema: str = ""
    rows: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcomes of all calls without inferlake and with it; what Spark was given and the registry was asked."""

    plain: list[Outcome]
    enabled: list[Outcome]
    given: list[tuple[Any, Any]]  # each text and its args, as Spark's own method got them
    asked: list[str]  # addresses
    more_functions: set[str]  # that the enabled session has


@pytest.fixture(scope="module")
def comparison(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Run all calls twice, each time in a new session with an empty database."""
    folder = tmp_path_factory.mktemp("passthrough")
    # Spark fetches what was added for as long as it runs, so these stay.
    (folder / "added.txt").write_text("added")
    zipfile.ZipFile(folder / "added.jar", "w").close()
    session = spark.newSession()
    with _scratch(session, folder / "files"):
        plain = [_outcome(session, call) for call in CALLS]
        functions = _functions(session)
    registry = run_registry(folder / "registry", "--no-probes")
    session = spark.newSession()
    with pytest.MonkeyPatch.context() as patch:
        given, asked = _watch_spark(patch), _watch_requests(patch)
        inferlake.enable(session, registry=registry.url)
        try:
            with _scratch(session, folder / "files"):
                given.clear()
                asked.clear()
                enabled = [_outcome(session, call) for call in CALLS]
                comparison = Comparison(plain, enabled, given[:], asked[:], _functions(session) - functions)
            session.sql("SHOW MODELS").collect()
            assert len(asked) == len(comparison.asked) + 1  # the watch sees a request
        finally:
            inferlake.disable(session)
            registry.stop()
    spark.createDataFrame([], "n int")  # makes this session the active one again
    return comparison


@contextmanager
def _scratch(session: SparkSession, folder: Path) -> Iterator[None]:
    """Give a session an empty database called passthrough and an empty folder, the same for each."""
    folder.mkdir()
    for key, value in {"scratch.folder": str(folder), "scratch.kept": str(folder.parent), **_QUICK}.items():
        session.conf.set(key, value)
    session.sql(f"CREATE DATABASE passthrough LOCATION '{folder / 'passthrough'}'")
    session.catalog.setCurrentDatabase("passthrough")
    try:
        yield
    finally:
        session.catalog.clearCache()
        session.catalog.setCurrentDatabase("default")
        session.catalog.dropGlobalTempView("everywhere")
        for name in ("passthrough", "passthrough_other", "passthrough_collated"):
            session.sql(f"DROP DATABASE IF EXISTS {name} CASCADE")
        shutil.rmtree(folder)


def _outcome(session: SparkSession, call: SparkCall) -> Outcome:
    try:
        places = call.places(session) if call.places is not None else {}
        frame = session.sql(call.text, call.args, **places)
        rows = [_settled(repr(row)) for row in frame.collect()]
    except Exception as error:  # noqa: BLE001 - whatever it is, it has to be the same
        condition = error.getCondition() if isinstance(error, PySparkException) else None
        message = error.java_exception.toString() if isinstance(error, Py4JJavaError) else str(error)
        return Outcome(error=_settled(f"{type(error).__name__} [{condition}] {message}"))
    in_order = "ORDER BY" in str(call.text).upper()
    return Outcome(frame.schema.json(), tuple(rows if in_order else sorted(rows)))


def _functions(session: SparkSession) -> set[str]:
    return {row.function for row in session.sql("SHOW FUNCTIONS").collect()}


def _settled(text: str) -> str:
    for changing, instead in _CHANGING:
        text = changing.sub(instead, text)
    return text


def _watch_spark(patch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """Note what reaches Spark's own ``sql`` from now on."""
    given: list[tuple[Any, Any]] = []
    original = SparkSession.sql

    def noting(self: SparkSession, sqlQuery: Any, args: Any = None, **places: Any) -> Any:
        given.append((sqlQuery, args))
        return original(self, sqlQuery, args, **places)

    patch.setattr(SparkSession, "sql", noting)
    return given


def _watch_requests(patch: pytest.MonkeyPatch) -> list[str]:
    """Note the addresses that this process asks from now on."""
    asked: list[str] = []
    original = httpx.Client.send

    def noting(self: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:
        asked.append(str(request.url))
        return original(self, request, **options)

    patch.setattr(httpx.Client, "send", noting)
    return asked


def test_each_call_has_the_same_outcome(comparison: Comparison) -> None:
    outcomes = zip(CALLS, comparison.plain, comparison.enabled, strict=True)
    assert [(call, plain, enabled) for call, plain, enabled in outcomes if plain != enabled] == []


def test_spark_gets_each_text_as_it_was_written(comparison: Comparison) -> None:
    assert comparison.given == [(call.text, call.args) for call in CALLS]


def test_the_registry_is_not_asked(comparison: Comparison) -> None:
    assert comparison.asked == []


def test_a_session_has_our_functions_and_nothing_else_more(comparison: Comparison) -> None:
    assert comparison.more_functions == {"ai_function", "ai_query", "ai_validate", "try_ai_function"}


def test_the_calls_are_many_and_most_of_them_succeed(comparison: Comparison) -> None:
    failed = [call.title for call, outcome in zip(CALLS, comparison.plain, strict=True) if outcome.error]
    assert len(CALLS) == len({call.title for call in CALLS}) >= 400
    assert len(failed) < len(CALLS) / 3, failed


def test_the_calls_are_of_every_kind_that_spark_knows(spark: SparkSession) -> None:
    covered = frozenset().union(*(kinds_of(spark, call.text) for call in CALLS if isinstance(call.text, str)))
    assert sorted(kinds_in_grammar(spark) - covered - _NOT_OF_STATEMENTS) == []
