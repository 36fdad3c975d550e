"""The tables that show a run's files: its rejected rows, and if wanted its accepted ones.

A table of ours is a Parquet table partitioned by run; a run comes into it by one change of metadata, which does nothing
when repeated. A table that is there already in another form gets the rejected rows appended, once a run.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from inferlake.errors import TableDiffers
from inferlake.routing.columns import input_names
from inferlake.routing.layout import ACCEPTED, REJECTED, REJECTED_DDL, outcome_folder, quoted
from inferlake.routing.marker import Marker
from inferlake.routing.small_files import make_folder


def show_rejected(spark: SparkSession, table: Sequence[str], base: str, marker: Marker) -> None:
    """Make a run's rejected rows visible in the table; raises TableDiffers when it cannot take them."""
    create_rejected(spark, table, base)
    if not marker.report.rejected:
        return
    if takes_partitions(spark, table):
        add_partition(spark, table, marker.report.run_id, outcome_folder(marker.report.location, REJECTED))
    else:
        _append_once(spark, table, marker)


def create_rejected(spark: SparkSession, table: Sequence[str], base: str) -> None:
    """Create a table of rejected rows, unless a table of that name is there."""
    _create(spark, table, REJECTED_DDL, f"{base}/table")


def show_accepted(spark: SparkSession, table: Sequence[str], base: str, marker: Marker) -> None:
    """Make a run's accepted rows visible in a table; raises TableDiffers when one of that name cannot take them.

    Where a column has another name in the files, the table is called ``…_files`` and a view has the name and columns
    that were asked for.
    """
    names = input_names(marker.input_schema)
    renamed = any(name != stored for name, stored in names.items())
    files = [*table[:-1], f"{table[-1]}_files"] if renamed else table
    _create(spark, files, marker.file_schema.toDDL(), f"{base}/accepted")
    if not takes_partitions(spark, files):
        raise TableDiffers(quoted(files), "it is not a Parquet table partitioned by run_id", marker.report.location)
    if marker.report.accepted:
        add_partition(spark, files, marker.report.run_id, outcome_folder(marker.report.location, ACCEPTED))
    if renamed:
        columns = ", ".join(f"{quoted([stored])} AS {quoted([name])}" for name, stored in names.items())
        run_id = "" if "run_id" in map(str.casefold, names) else ", run_id"
        spark.sql(f"CREATE VIEW IF NOT EXISTS {quoted(table)} AS SELECT {columns}{run_id} FROM {quoted(files)}")


def _create(spark: SparkSession, table: Sequence[str], ddl: str, location: str) -> None:
    if spark.catalog.tableExists(quoted(table)):
        return
    # Spark logs a stack trace each time it reads a table whose own folder is not there.
    make_folder(spark, location)
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {quoted(table)} ({ddl}, run_id STRING) USING parquet PARTITIONED BY (run_id) "
        f"LOCATION {_literal(location)}"
    )


def takes_partitions(spark: SparkSession, table: Sequence[str]) -> bool:
    """Tell whether a table is of our form: Parquet, partitioned by run_id."""
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {quoted(table)}").collect()
    names = [row["col_name"] for row in rows]
    provider = next((row["data_type"] for row in rows if row["col_name"] == "Provider"), "")
    if "# Partition Information" not in names or provider.lower() != "parquet":
        return False
    start = names.index("# Partition Information") + 2  # a heading follows it
    partition = names[start : names.index("", start)] if "" in names[start:] else names[start:]
    return partition == ["run_id"]


def add_partition(spark: SparkSession, table: Sequence[str], run: str, folder: str) -> None:
    """Put a run's files into a table of ours; nothing happens when they are there."""
    partition = f"PARTITION (run_id = {_literal(run)}) LOCATION {_literal(folder)}"
    spark.sql(f"ALTER TABLE {quoted(table)} ADD IF NOT EXISTS {partition}")


def _append_once(spark: SparkSession, table: Sequence[str], marker: Marker) -> None:
    existing = spark.table(quoted(table))
    columns = existing.columns
    rejected = marker.rejected(spark)
    missing = sorted(set(columns) - set(rejected.columns)) or sorted({"run_id", "rejected_id"} - set(columns))
    if missing:
        reason = f"it is no table of rejected rows (column {missing[0]!r})"
        raise TableDiffers(quoted(table), reason, marker.report.location)
    if existing.where(sf.col("run_id") == marker.report.run_id).limit(1).count():
        return
    try:
        rejected.select(*columns).write.insertInto(quoted(table))
    except AnalysisException as error:
        raise TableDiffers(quoted(table), str(error.getCondition()), marker.report.location) from error


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
