"""A Spark program in which keys are said and sent in every way; it prints all that a user could print.

Arguments: the registry, the endpoint, a folder; a token comes on standard input. The endpoint repeats the keys it gets.
"""

from __future__ import annotations

import logging
import pickle
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from canary_key import ALL, HOSTILE, PLAIN, Canary
from canary_statements import MISPLACED, carriers, misplaced, misspelt
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import inferlake
from inferlake import functions as F
from inferlake.call_options import CallOptions
from inferlake.connection import current
from inferlake.planning import plan_call
from inferlake_sql.errors import InferlakeError

SCHEMA = '{"type": "object", "required": ["label"]}'


def tell(*values: object) -> None:
    """Print values."""
    sys.stdout.write(" ".join(map(str, values)) + "\n")


def start(folder: str) -> SparkSession:
    """Start Spark with a readable event log and all that it has to say on standard error."""
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.log.level": "INFO",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": f"{folder}/local",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.maxPlanStringLength": "1000000",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{folder}/events",
        "spark.sql.parquet.compression.codec": "uncompressed",
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def show(what: str, action: Callable[[], Any]) -> None:
    """Run something and print all of its result, or all of its exception."""
    try:
        result = action()
    except (InferlakeError, PySparkException) as error:
        tell(what, "failed:", repr(error), str(error), error.args)
        tell("".join(traceback.format_exception(error)))
        if isinstance(error, InferlakeError):
            tell(error.fields, pickle.dumps(error))
        cause: BaseException | None = error
        while cause is not None:
            tell(repr(cause), str(cause), sorted(map(repr, vars(cause).items())))
            cause = cause.__cause__ or cause.__context__
    else:
        tell(what, "done:", repr(result), str(result))


def say(spark: SparkSession, origin: str) -> None:
    """Say keys in statements: rightly, wrongly, by marker, and where no statement begins."""
    for number, canary in enumerate((PLAIN, HOSTILE)):
        for text in carriers(canary, location=f"{origin}/v1/chat/completions", model=f"s{number}"):
            show("carrier", lambda text=text: spark.sql(text))
        for text in (*misspelt(canary), *misplaced(canary)):
            show("slip", lambda text=text: spark.sql(text))
        for text in MISPLACED:
            show("marker", lambda text=text, key=canary.value: spark.sql(text, args={"k": key}))
        key = canary.literal
        call = f"SELECT ai_function('s{number}', 'x', map('request.api_key', {key}))"
        show("call", lambda call=call: spark.sql(call))
        for options in ({"api_key": canary.value}, {"extra": {"auth_token": canary.value}}):
            show("options", lambda options=options, n=number: F.ai_function(f"s{n}", "text", options=options))
    for what in ("DESCRIBE MODEL EXTENDED", "SHOW CREATE MODEL", "DESCRIBE HISTORY MODEL", "SHOW MODEL PROPERTIES"):
        show(what, lambda what=what: spark.sql(f"{what} s0").collect())


def prepare(spark: SparkSession, origin: str, canary: Canary, model: str, path: str) -> None:
    """Register a model that sends the key in two headers."""
    spark.sql(
        f"CREATE OR REPLACE MODEL {model} LOCATION '{origin}{path}' PROPERTIES ('api.key' = {canary.literal}, "
        f"'header.x-second' = {canary.literal}, 'model.type' = 'chat', 'retry.attempts' = 1)"
    )


def called(frame: DataFrame, model: str, **options: Any) -> DataFrame:
    """Return the frame with the model's answers, and print its plans and what travels in them."""
    frame = frame.select("*", F.ai_function(model, "text", max_error_ratio=1.0, **options).alias("ai_output"))
    execution: Any = frame._jdf
    tell(execution.queryExecution().toString(), frame.schema.json(), repr(frame))
    frame.explain(extended=True)
    snapshot = current().registry.resolve(model)
    descriptor = plan_call(current(), model, ["text"], CallOptions(), snapshot=snapshot)
    tell(repr(descriptor), pickle.dumps(descriptor))
    return frame


def call(spark: SparkSession, origin: str, folder: str) -> None:
    """Call endpoints that answer, that refuse, that fail, and that are not there."""
    rows = spark.range(4, numPartitions=1).selectExpr("id", "concat('row ', id) AS text")
    for number, canary in enumerate(ALL):
        for path in ("/200/v1/chat/completions", "/401/v1/chat/completions"):
            prepare(spark, origin, canary, f"t{number}", path)
            reuse = f"{folder}/reuse/{number}"
            show(path, lambda n=number, reuse=reuse: called(rows, f"t{n}", returns="struct", reuse=reuse).collect())
    show("raise", lambda: called(rows, "t0", on_error="raise").collect())
    show("sql", lambda: spark.sql("SELECT ai_function('t0', 'in sql', map('on_error', 'raise'))").collect())
    prepare(spark, origin, PLAIN, "t0", "/mixed/v1/chat/completions")
    show("route", lambda: routed(spark, called(rows, "t0", returns="struct")))
    for path in ("/302/v1/chat/completions", "/500/v1/chat/completions", "/silent/v1/chat/completions"):
        prepare(spark, origin, PLAIN, "t0", path)
        show(path, lambda: called(rows, "t0", returns="struct", timeout_ms=500).collect())
    prepare(spark, "http://127.0.0.1:9", PLAIN, "t0", "/v1/chat/completions")
    show("shut", lambda: called(rows, "t0", returns="struct", timeout_ms=500).collect())
    late = called(rows, "t0", returns="struct")
    spark.sql("ALTER MODEL t0 DISABLE")
    show("disabled", lambda: called(rows, "t0"))
    show("disabled while planned", late.collect)  # fails, or ends with what the last lease still allowed
    for table in spark.catalog.listTables():
        tell(repr(table))


def routed(spark: SparkSession, frame: DataFrame) -> Sequence[Any]:
    """Route rows, and return the summary with all rejected rows, as the table has them."""
    result = inferlake.route_rejected(frame, "ai_output", SCHEMA, keys="id")
    return [result, result.summary, result.rejected.collect(), spark.table("ai_output_rejected").collect()]


def main(registry: str, origin: str, folder: str) -> None:
    logging.basicConfig(level=logging.DEBUG)
    spark = start(folder)
    inferlake.enable(spark, registry=registry, token=sys.stdin.readline().strip())
    say(spark, origin)
    call(spark, origin, folder)
    spark.stop()
    tell("THE END")


if __name__ == "__main__":
    main(*sys.argv[1:])
