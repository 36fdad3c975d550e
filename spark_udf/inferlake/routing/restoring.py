"""Makes rejected tables visible again in a session whose catalog forgot them; their files never went away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyspark.sql import SparkSession

from inferlake.connection import log
from inferlake.routing.layout import REJECTED, base_folder, outcome_folder, table_parts
from inferlake.routing.tables import add_partition, create_rejected, takes_partitions
from inferlake_registry.client import Client
from inferlake_registry.contract.problems import RegistryError
from inferlake_registry.contract.runs import RunReport

_MAX_RUNS: Final = 500  # the latest; each is one change of metadata, about 10 ms


def restore_tables(spark: SparkSession, client: Client) -> None:
    """Add the runs that the registry knows, and whose files lie in this session's warehouse, to their tables.

    With a persistent catalog there is nothing to do: it still has its tables.
    """
    if str(spark.conf.get("spark.sql.catalogImplementation", "in-memory")) != "in-memory":
        return
    warehouse = str(spark.conf.get("spark.sql.warehouse.dir"))
    try:
        runs = [run for run in _runs(client) if _is_here(run, warehouse)]
    except RegistryError as error:
        log.warning("Tables of earlier runs are not shown: %s", error)
        return
    for run in runs:
        table = table_parts(run.rejected_table)
        create_rejected(spark, table, base_folder(None, warehouse, table))
        if run.rejected and takes_partitions(spark, table):
            add_partition(spark, table, run.run_id, outcome_folder(run.location, REJECTED))


def _runs(client: Client) -> Iterator[RunReport]:
    after, seen = "", 0
    while seen < _MAX_RUNS:
        page = client.runs(after=after)
        yield from page.runs
        seen += len(page.runs)
        if page.following is None:
            return
        after = page.following


def _is_here(run: RunReport, warehouse: str) -> bool:
    return run.location.startswith(f"{base_folder(None, warehouse, table_parts(run.rejected_table))}/run_id=")
