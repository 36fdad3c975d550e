"""The demo's job: every session log through the model, the answers judged, the rows routed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType

import inferlake
from inferlake import functions as F
from inferlake.demo.article import FREE_TEMPERATURE, MAX_TOKENS, MODEL, SCHEMA
from inferlake.demo.report import AcceptedRow, Agreement, Half, RejectedRow
from inferlake.result import ErrorCode

SESSIONS: Final = Path(__file__).parent / "sessions.jsonl"
ACCEPTED_TABLE: Final = "session_labels"
REJECTED_TABLE: Final = "ai_output_rejected"
KEYS: Final = ("session_id",)

_COLUMNS: Final = (
    "session_id string, events array<struct<at string, action string, page string, message string>>, "
    "media_url string, expected string"
)
# More tasks than slots, so that progress moves; few enough that each keeps many requests in flight.
_TASKS: Final = 8
_SHOWN: Final = 5
_LABEL: Final = "get_json_object(ai_output.response, '$.label')"


@dataclass(frozen=True, slots=True)
class Input:
    """The sessions, and what can be said of them before any call."""

    sessions: DataFrame
    rows: int
    null_rows: int
    different: int


def read_sessions(spark: SparkSession) -> Input:
    """Read the file and count what a run must cost: one call for each different row that has any input.

    Rows with an even number ask for constrained decoding, the others leave the model free, so equal sessions in
    different halves are different requests.
    """
    raw = spark.read.schema(_COLUMNS).option("mode", "FAILFAST").json(SESSIONS.as_uri())
    number = sf.regexp_extract("session_id", r"(\d+)$", 1).cast("int")
    sessions = raw.withColumn("constrained", number % 2 == 0)
    callable_rows = sessions.where("events IS NOT NULL OR media_url IS NOT NULL")
    rows = sessions.count()
    return Input(
        sessions=sessions,
        rows=rows,
        null_rows=rows - callable_rows.count(),
        different=callable_rows.select("constrained", "events", "media_url").distinct().count(),
    )


def label(sessions: DataFrame) -> DataFrame:
    """Return the sessions with the model's answer as the struct column ``ai_output``; nothing is called yet."""
    spread = sessions.repartition(_TASKS, "session_id")
    constrained = _answered(spread.where("constrained"), schema=SCHEMA)
    free = _answered(spread.where("NOT constrained"), schema=None)
    return constrained.unionByName(free)


def _answered(sessions: DataFrame, schema: str | None) -> DataFrame:
    # Left free, the model is also warm: at temperature 0 the small one never errs in form, and nothing would be found.
    options = (
        {"max_tokens": MAX_TOKENS}
        if schema is not None
        else {"max_tokens": MAX_TOKENS, "temperature": FREE_TEMPERATURE}
    )
    answer = F.ai_function(
        model=MODEL,
        input_columns=["events", "media_url"],
        output_type=StringType(),
        timeout_ms=30_000,
        options=options,
        response_schema=schema,
        returns="struct",
        # An endpoint that dies half-way must not take the rows with it that it has answered.
        max_error_ratio=1.0,
    )
    return sessions.select("*", answer.alias("ai_output"))


def route(labelled: DataFrame, run: str) -> inferlake.Routed:
    """Call, judge and write, in one Spark job, into the tables of accepted and of rejected rows."""
    return inferlake.route_rejected(
        labelled,
        "ai_output",
        SCHEMA,
        rejected_table=REJECTED_TABLE,
        accepted_table=ACCEPTED_TABLE,
        keys=KEYS,
        run=run,
    )


def asked_again(sessions: DataFrame, routed: inferlake.Routed) -> int:
    """Return how many calls were made beyond the first of each request: after faults, and for equal rows that failed.

    An answer is kept for every equal row, a failure is not: each row that fails was tried for itself.
    """
    answered = routed.accepted.select("session_id", sf.col("ai_output.attempts"), sf.lit(False).alias("failed"))
    failed = sf.col("reason").isin([code.value for code in ErrorCode])
    others = routed.rejected.select(sf.col("row_key").alias("session_id"), "attempts", failed.alias("failed"))
    called = answered.unionAll(others).where("attempts > 0").join(sessions, "session_id")
    requests = called.groupBy("constrained", "events", "media_url").agg(
        sf.sum(sf.when(sf.col("failed"), sf.col("attempts")).otherwise(0)).alias("in_vain"),
        sf.max(sf.when(~sf.col("failed"), sf.col("attempts")).otherwise(0)).alias("for_the_answer"),
    )
    row = requests.select(sf.sum(sf.col("in_vain") + sf.col("for_the_answer") - 1)).first()
    return int(row[0] or 0) if row is not None else 0


def halves(sessions: DataFrame, accepted: DataFrame) -> tuple[Half, ...]:
    """Return how many rows each half had and how many of them were accepted."""
    rows = _by_half(sessions)
    passed = _by_half(accepted)
    names = {True: "kept to the schema", False: "left free"}
    return tuple(Half(name, rows.get(half, 0), passed.get(half, 0)) for half, name in names.items())


def _by_half(frame: DataFrame) -> dict[bool, int]:
    return {row["constrained"]: row["count"] for row in frame.groupBy("constrained").count().collect()}


def agreement(accepted: DataFrame) -> Agreement:
    """Compare the labels with what the file expects, where it expects anything."""
    same = sf.sum((sf.expr(_LABEL) == sf.col("expected")).cast("int"))
    row = accepted.where("expected IS NOT NULL").select(sf.count("*"), same).first()
    assert row is not None
    return Agreement(same=int(row[1] or 0), compared=int(row[0]))


def some_accepted(accepted: DataFrame) -> list[AcceptedRow]:
    """Return five rows, always the same ones."""
    last = sf.element_at("events", -1)["message"]
    chosen = accepted.where(sf.size("events") > 0).orderBy(sf.xxhash64("session_id")).limit(_SHOWN)
    rows = chosen.select("session_id", last.alias("last"), sf.expr(_LABEL).alias("label"), "expected").collect()
    return [AcceptedRow(row["session_id"], row["last"], row["label"], row["expected"]) for row in rows]


def some_rejected(rejected: DataFrame) -> list[RejectedRow]:
    """Return five rows, of as many different reasons as there are."""
    turn = sf.row_number().over(Window.partitionBy("reason").orderBy(sf.xxhash64("row_key")))
    chosen = rejected.withColumn("turn", turn).orderBy("turn", "reason").limit(_SHOWN)
    because = sf.get_json_object("errors", "$[0].message")
    rows = chosen.select("row_key", "reason", because.alias("because"), "ai_output").collect()
    return [RejectedRow(row["row_key"], row["reason"], row["because"] or "", row["ai_output"]) for row in rows]
