"""One limit for many callers, over HTTP: exact with two processes, and obeyed at once when it changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from registry_fixtures import RegistryProcess, StartRegistry
from registry_sql import Sql

from inferlake_registry.client import AsyncClient
from inferlake_registry.contract.leases import Lease, LeaseRequest


def run(registry: RegistryProcess, work: Callable[[AsyncClient], Awaitable[None]]) -> None:
    async def with_client() -> None:
        client = AsyncClient(registry.url)
        try:
            await work(client)
        finally:
            await client.close()

    asyncio.run(with_client())


def ask(count: int = 10, holder: str = "host:1:a", in_flight: int = 0, pause_ms: int = 0) -> LeaseRequest:
    return LeaseRequest(holder, count, in_flight, pause_ms)


def test_leases_follow_each_other(quiet_registry: RegistryProcess, sql: Sql) -> None:
    sql.create("'qps.limit'=20, 'concurrency.limit'=9")

    async def work(client: AsyncClient) -> None:
        first = await client.lease(sql.name, ask())
        second = await client.lease(sql.name, ask(holder="host:2:b"))
        assert (first.count, first.spacing_ms, first.first_delay_ms) == (10, 50, 0)
        assert (first.concurrency, first.holders, first.qps_limit, first.enabled) == (9, 1, 20, True)
        assert second.first_delay_ms == pytest.approx(500, abs=200)
        assert (second.count, second.holders, second.concurrency) == (5, 2, 4)
        assert second.expires_in_ms > second.first_delay_ms + second.count * second.spacing_ms

    run(quiet_registry, work)


def test_two_busy_holders_have_a_share_each_while_the_limit_holds_nobody_up(
    quiet_registry: RegistryProcess, sql: Sql
) -> None:
    sql.create("'qps.limit'=1000")

    async def work(client: AsyncClient) -> None:
        def busy(holder: str, recent: int = 100) -> LeaseRequest:
            return LeaseRequest(holder, 4, 0, recent=recent)

        alone = await client.lease(sql.name, busy("host:1:a"))
        assert (alone.share, alone.count, alone.spacing_ms) == (False, 4, 1)
        await asyncio.sleep(0.05)
        shares = [await client.lease(sql.name, busy(holder)) for holder in ("host:2:b", "host:1:a")]
        assert [(lease.share, lease.count) for lease in shares] == [(True, 225)] * 2
        assert [lease.spacing_ms for lease in shares] == pytest.approx([1_000 / 450] * 2)
        assert [lease.first_delay_ms for lease in shares] == [0, 0]
        # The next one begins where the last one ends, and until then a third holder has what is left of the limit.
        following = await client.lease(sql.name, busy("host:2:b"))
        assert (following.share, following.count) == (True, 225)
        assert following.first_delay_ms == pytest.approx(500, abs=200)
        third = await client.lease(sql.name, ask(count=2, holder="host:3:c"))
        assert (third.share, third.count, third.spacing_ms) == (False, 2, pytest.approx(10))
        await client.release(sql.name, following.lease_id, 225)  # lapses anyway
        # Who wants more than its part gets slots one after the other.
        assert not (await client.lease(sql.name, busy("host:2:b", recent=400))).share

    run(quiet_registry, work)


def test_without_a_limit_calls_go_at_once(quiet_registry: RegistryProcess, sql: Sql) -> None:
    sql.create()

    async def work(client: AsyncClient) -> None:
        lease = await client.lease(sql.name, ask(count=700))
        assert (lease.count, lease.spacing_ms, lease.first_delay_ms, lease.qps_limit) == (700, 0, 0, None)
        assert lease.concurrency == 1024
        assert lease.expires_in_ms >= 1000

    run(quiet_registry, work)


def test_what_is_given_back_is_given_again(quiet_registry: RegistryProcess, sql: Sql) -> None:
    sql.create("'qps.limit'=2")

    async def work(client: AsyncClient) -> None:
        first = await client.lease(sql.name, ask(count=1))
        second = await client.lease(sql.name, ask(count=1, holder="host:2:b"))
        third = await client.lease(sql.name, ask(count=1, holder="host:3:c"))
        assert third.first_delay_ms == pytest.approx(1000, abs=300)
        await client.release(sql.name, second.lease_id, 1)  # not the last one: kept for whoever asks next
        assert (await client.lease(sql.name, ask(count=1))).first_delay_ms == pytest.approx(500, abs=300)
        await client.release(sql.name, third.lease_id, 1)  # the last one: the clock goes back
        assert (await client.lease(sql.name, ask(count=1))).first_delay_ms == pytest.approx(1000, abs=300)
        await client.release(sql.name, first.lease_id, 1)
        await client.release(sql.name, first.lease_id, 1)  # again, and unknown ones: no error, they lapsed
        await client.release(sql.name, "unknown", 5)

    run(quiet_registry, work)


def test_a_pause_stops_every_holder(quiet_registry: RegistryProcess, sql: Sql) -> None:
    sql.create("'qps.limit'=50")

    async def work(client: AsyncClient) -> None:
        await client.lease(sql.name, ask(pause_ms=3_000))
        other = await client.lease(sql.name, ask(holder="host:2:b", pause_ms=1_000))
        assert other.first_delay_ms == pytest.approx(3_000, abs=400)

    run(quiet_registry, work)
    assert sql.described()["paused_until"] is not None


def test_a_new_limit_and_the_switch_act_with_the_next_lease(quiet_registry: RegistryProcess, sql: Sql) -> None:
    sql.create("'qps.limit'=0.1")

    async def work(client: AsyncClient) -> None:
        before = [await client.lease(sql.name, ask(count=1, holder=f"host:{n}:x")) for n in range(4)]
        assert before[-1].first_delay_ms == pytest.approx(30_000, abs=1_000)
        sql("ALTER MODEL {m} SET qps.limit=500")
        after = await client.lease(sql.name, ask())
        assert after.first_delay_ms < 300
        assert (after.spacing_ms, after.qps_limit) == (2, 500)
        assert after.epoch > before[-1].epoch
        sql("ALTER MODEL {m} UNSET qps.limit")
        assert (await client.lease(sql.name, ask())).qps_limit is None
        sql("ALTER MODEL {m} DISABLE")
        stopped = await client.lease(sql.name, ask())
        assert not stopped.enabled
        assert stopped.epoch > after.epoch

    run(quiet_registry, work)


def test_a_silent_holder_is_forgotten(quiet_registry: RegistryProcess, sql: Sql) -> None:
    sql.create("'qps.limit'=100")

    async def work(client: AsyncClient) -> None:
        await client.lease(sql.name, ask(count=1, holder="host:1:gone"))
        assert (await client.lease(sql.name, ask(holder="host:2:b"))).holders == 2
        await asyncio.sleep(3.3)  # slots, grace and the holder's own time
        assert (await client.lease(sql.name, ask(holder="host:2:b"))).holders == 1

    run(quiet_registry, work)


@dataclass(frozen=True, slots=True)
class Sent:
    at: list[float]
    leases: int


async def _caller(client: AsyncClient, name: str, holder: str, until: float) -> Sent:
    """Behave as a worker with more to send than it may: ask, send at the slots, ask again."""
    sent, leases = list[float](), 0
    while time.time() < until:
        lease: Lease = await client.lease(name, LeaseRequest(holder, 10, 0))
        leases += 1
        assert lease.granted_at is not None
        first = lease.granted_at + lease.first_delay_ms / 1000  # both registries have this host's clock
        slots = [first + lease.spacing_ms / 1000 * index for index in range(lease.count)]
        sent += slots
        await asyncio.sleep(max(0.0, slots[-1] - time.time() - 0.05))
    return Sent(sent, leases)


def test_two_processes_share_one_limit_exactly(start_registry: StartRegistry) -> None:
    """Eight callers on two registries, limit 100: the worst sliding second holds 101 at most, and none is wasted."""
    registries = [start_registry("--no-probes"), start_registry("--no-probes")]
    with registries[0].client() as control:
        control.execute("CREATE MODEL m LOCATION 'http://127.0.0.1:9/v1/chat/completions' PROPERTIES ('qps.limit'=100)")

    async def work() -> list[Sent]:
        clients = [AsyncClient(registry.url) for registry in registries]
        begin = time.time()
        try:
            callers = (_caller(clients[n % 2], "m", f"host:{n}:x", begin + 4) for n in range(8))
            return await asyncio.gather(*callers)
        finally:
            for client in clients:
                await client.close()

    answers = asyncio.run(work())
    sent = sorted(at for answer in answers for at in answer.at)
    whole = [at for at in sent if at < sent[0] + 4]
    worst = max(sum(1 for other in whole if at <= other < at + 1.0) for at in whole)
    assert worst <= 101
    assert len(whole) >= 380
    assert sum(answer.leases for answer in answers) <= len(sent) * 0.5
