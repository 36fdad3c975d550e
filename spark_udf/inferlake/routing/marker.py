"""The marker of a run: the one file that says that a run is done, which files are its own, and what came of it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType

from inferlake.errors import RunDiffers
from inferlake.routing.columns import input_names, storable
from inferlake.routing.layout import ACCEPTED, REJECTED, REJECTED_DDL, RunPlace, outcome_folder, quoted
from inferlake.routing.small_files import read_text, write_text
from inferlake.schema import Schema
from inferlake_registry.contract.runs import RunReport
from inferlake_registry.contract.wire import decode, encode


@dataclass(frozen=True, slots=True)
class Marker:
    """A finished run. ``columns`` is the input's schema as Spark's JSON, to read its accepted rows by."""

    report: RunReport
    column: str
    schema_hash: str
    columns: str

    def check_same(self, column: str, schema: Schema) -> None:
        """Raise RunDiffers when a repetition asks for something else than what was done."""
        if column != self.column:
            raise RunDiffers(self.report.run_id, "column", self.column, column)
        if schema.digest != self.schema_hash:
            raise RunDiffers(self.report.run_id, "schema", self.schema_hash, schema.digest)

    def accepted(self, spark: SparkSession) -> DataFrame:
        """Return the accepted rows as the input had them."""
        if not self.report.accepted:
            return spark.createDataFrame([], self.input_schema)
        files = spark.read.schema(self.file_schema).parquet(outcome_folder(self.report.location, ACCEPTED))
        stored = input_names(self.input_schema)
        return files.select(
            *[
                sf.col(quoted([stored[field.name]])).alias(field.name, metadata=field.metadata)
                for field in self.input_schema
            ]
        )

    @property
    def input_schema(self) -> StructType:
        """The schema of the accepted rows."""
        return StructType.fromJson(json.loads(self.columns))

    @property
    def file_schema(self) -> StructType:
        """The same columns by the names that they have in the files."""
        stored = input_names(self.input_schema)
        return StructType([StructField(stored[field.name], storable(field.dataType)) for field in self.input_schema])

    def rejected(self, spark: SparkSession) -> DataFrame:
        """Return the run's rejected rows with the columns of the rejected table."""
        ddl = f"{REJECTED_DDL}, run_id string"
        if not self.report.rejected:
            frame = spark.createDataFrame([], ddl)
        else:
            files = spark.read.schema(REJECTED_DDL).parquet(outcome_folder(self.report.location, REJECTED))
            frame = files.selectExpr("*", f"{_literal(self.report.run_id)} AS run_id")
        first, *others = [name for name in frame.columns if name != "run_id"]
        return frame.select(first, "run_id", *others)


def read_marker(spark: SparkSession, place: RunPlace) -> Marker | None:
    """Return the marker of a run that is done, else None."""
    text = read_text(spark, place.marker)
    if text is None:
        return None  # or a driver died while it wrote the marker
    document = json.loads(text)
    return Marker(
        decode(RunReport, document["report"]), document["column"], document["schema_hash"], document["columns"]
    )


def write_marker(spark: SparkSession, place: RunPlace, marker: Marker) -> None:
    """Write the marker."""
    document = {
        "report": encode(marker.report),
        "column": marker.column,
        "schema_hash": marker.schema_hash,
        "columns": marker.columns,
    }
    write_text(spark, place.marker, json.dumps(document, ensure_ascii=False))


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
