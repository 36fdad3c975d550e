"""What workers say about their breakers is shown beside what probes found."""

from __future__ import annotations

import asyncio
import time

import pytest
from registry_fixtures import RegistryProcess
from registry_sql import Sql

from inferlake_registry.client import AsyncClient
from inferlake_registry.contract.health import BreakerReport
from inferlake_registry.contract.problems import ModelNotFound

ADDRESS = "http://127.0.0.1:9/v1/chat/completions"


def tell(registry: RegistryProcess, model: str, *reports: BreakerReport) -> None:
    async def send() -> None:
        client = AsyncClient(registry.url)
        try:
            for report in reports:
                await client.report_breaker(model, report)
        finally:
            await client.close()

    asyncio.run(send())


def shown(sql: Sql) -> tuple[object, object]:
    (row,) = sql.table("SHOW MODEL HEALTH LIKE '{m}'")
    return row["breaker"], sql.described()["breaker"]


def test_the_worst_of_the_workers_breakers_is_shown(quiet_registry: RegistryProcess, sql: Sql) -> None:
    sql.create()
    assert shown(sql) == ("closed", "closed")
    tell(quiet_registry, sql.name, BreakerReport("a", ADDRESS, 60_000), BreakerReport("b", ADDRESS, 1))
    assert shown(sql) == ("open", "open")
    tell(quiet_registry, sql.name, BreakerReport("a", ADDRESS, None), BreakerReport("c", ADDRESS, None))
    time.sleep(0.01)
    assert shown(sql) == ("half-open", "half-open")
    tell(quiet_registry, sql.name, BreakerReport("b", ADDRESS, None))
    assert shown(sql) == ("closed", "closed")


def test_a_report_is_about_the_model_that_was_called_and_not_about_its_namesake(
    quiet_registry: RegistryProcess, sql: Sql
) -> None:
    sql.create()
    identity = sql.client.resolve(sql.name).model_id
    sql("DROP MODEL {m}")
    sql.create()
    tell(quiet_registry, sql.name, BreakerReport("a", ADDRESS, 60_000, identity))
    assert shown(sql) == ("closed", "closed")
    with pytest.raises(ModelNotFound):
        tell(quiet_registry, sql.name + "x", BreakerReport("a", ADDRESS, 60_000))
