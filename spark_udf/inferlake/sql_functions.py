"""Our functions in Spark's SQL: what ``spark.sql`` text, views and expressions call by name."""

from __future__ import annotations

import hashlib
import pickle
from typing import Final

from pyspark.sql import SparkSession

from inferlake.call import Returns
from inferlake.calling import Callee, ModelCall, UnplannedCall, as_function
from inferlake.connection import Connection
from inferlake.iterator_udf import iterator_udf
from inferlake.judging import VERDICT_DDL, validating_by_argument
from inferlake.result import STRUCT_DDL

# Named arguments do not reach a Python function, so this one is a SQL function over it.
_AI_QUERY: Final = """
CREATE OR REPLACE TEMPORARY FUNCTION ai_query(
    endpoint STRING,
    request STRING,
    responseFormat STRING DEFAULT NULL,
    modelParameters MAP<STRING, STRING> DEFAULT NULL,
    failOnError BOOLEAN DEFAULT true
) RETURNS STRING
RETURN ai_function(
    endpoint,
    request,
    map_concat(
        map('on_error', CASE WHEN failOnError THEN 'raise' ELSE 'null' END),
        CASE WHEN responseFormat IS NULL THEN CAST(map() AS MAP<STRING, STRING>)
             ELSE map('response_schema', responseFormat) END,
        CASE WHEN modelParameters IS NULL THEN CAST(map() AS MAP<STRING, STRING>)
             ELSE transform_keys(modelParameters, (name, value) -> concat('request.', name)) END
    )
)
"""


def register_functions(spark: SparkSession, connection: Connection) -> None:
    """Define ai_function, try_ai_function, ai_query and ai_validate in a session, again if they are there already."""
    for name, never_raises in (("ai_function", False), ("try_ai_function", True)):
        _register(spark, name, UnplannedCall(connection.url, connection.application_id, name, never_raises), "string")
    spark.udf.register("ai_validate", iterator_udf(validating_by_argument(), VERDICT_DDL))
    spark.sql(_AI_QUERY)


def register_planned(spark: SparkSession, function: str, call: ModelCall) -> str:
    """Define a function for one planned call and return its name, which is the same for the same call."""
    name = f"{function}__{hashlib.sha256(pickle.dumps(call)).hexdigest()[:16]}"
    ddl = STRUCT_DDL if call.descriptor.returns is Returns.STRUCT else "string"
    _register(spark, name, call, ddl)
    return name


def _register(spark: SparkSession, name: str, callee: Callee, ddl: str) -> None:
    spark.udf.register(name, iterator_udf(as_function(callee), ddl))
