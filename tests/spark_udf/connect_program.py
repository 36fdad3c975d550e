"""What a Connect client does, as a program of its own: one process cannot be classic and Connect at once.

Arguments: the registry's address, a model's name, a folder. Prints one line of JSON with what it saw.
"""

from __future__ import annotations

import json
import re
import sys

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import inferlake
from inferlake import functions as F
from inferlake_registry.contract.problems import ModelNotFound
from inferlake_sql.errors import NotSupported

SCHEMA = '{"type": "object", "required": ["label"]}'


def main(registry: str, model: str, folder: str) -> None:
    builder = SparkSession.builder.remote("local[2]")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": f"{folder}/local",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    inferlake.enable(spark, registry=registry)
    inferlake.enable(spark, registry=registry)
    seen: dict[str, object] = {"session": type(spark).__module__}
    seen["models"] = [row.name for row in spark.sql(f"SHOW MODELS LIKE '{model}'").collect()]
    seen["none"] = spark.sql("SHOW MODELS LIKE 'no_such_model_at_all'").count()
    one = spark.sql(f"SELECT ai_function('{model}', 'test input')")
    seen["select"] = [one.columns, one.collect()[0][0]]
    seen["args"] = spark.sql("SELECT ai_function(:m, :t) AS a", args={"m": model, "t": "marked"}).collect()[0][0]
    seen["expression"] = spark.range(1).selectExpr(f"ai_function('{model}', 'expressed') AS a").collect()[0][0]
    seen["ambiguous"] = spark.sql(f"DESCRIBE MODEL {model}").columns[0]
    try:
        spark.sql("SELECT ai_function('there_is_no_such_model', 'x')")
    except ModelNotFound as error:
        seen["unknown"] = error.code
    try:
        spark.sql(f"EXPLAIN AI SELECT ai_function('{model}', 'x')")
    except NotSupported as error:
        seen["explain"] = error.code
    typed = f"{model}_t"
    seen["output"] = (
        spark.range(1).select(F.ai_function(typed, sf.lit("x")).alias("a")).schema["a"].dataType.simpleString()
    )
    for number, refused in enumerate(
        (
            lambda: spark.sql(f"SELECT ai_function('{typed}', array(1))"),
            lambda: spark.range(1).select(F.ai_function(typed, sf.array("id"))).schema,
        )
    ):
        try:
            refused()
        except AnalysisException as error:
            seen[f"input {number}"] = re.findall(r"INPUT_TYPE_DIFFERS: .*?(?=;)", str(error))[0]
    frame = spark.range(20).select("id", sf.concat(sf.lit("row "), "id").alias("text"))
    answered = frame.select("*", F.ai_function(model, "text", returns="struct", system="s").alias("ai_output"))
    routed = inferlake.route_rejected(answered, "ai_output", SCHEMA, keys="id", run=model, accepted_table="good")
    again = inferlake.route_rejected(answered, "ai_output", SCHEMA, keys="id", run=model)
    seen["summary"] = [routed.summary.rows, routed.summary.accepted, routed.summary.rejected, routed.summary.calls]
    seen["same"] = again.summary == routed.summary
    seen["tables"] = [spark.table("good").count(), spark.table("ai_output_rejected").count()]
    seen["rejected"] = sorted({row.reason for row in routed.rejected.collect()})
    inferlake.disable(spark)
    sys.stdout.write(json.dumps(seen) + "\n")
    sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
