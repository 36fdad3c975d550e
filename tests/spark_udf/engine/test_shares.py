"""A limit that holds nobody up costs next to nothing: two busy workers ask a few times a second, not a hundred."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from registry_fixtures import StartRegistry

from inferlake.worker.limit import LeaseBook, LimitedModel
from inferlake_registry.client import AsyncClient, Client
from inferlake_registry.contract.leases import Lease, LeaseRequest


class Asking(AsyncClient):
    """The client, and what it was granted."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.leases: list[Lease] = []

    async def lease(self, name: str, request: LeaseRequest) -> Lease:
        lease = await super().lease(name, request)
        self.leases.append(lease)
        return lease


@pytest.fixture
def client(start_registry: StartRegistry) -> Iterator[Client]:
    with start_registry("--no-probes").client() as client:
        yield client


async def _called(book: LeaseBook, rate: float, until: float, sent: list[float]) -> None:
    """Take slots at a rate, some at a time, as answers come in."""
    loop, at_once = asyncio.get_running_loop(), max(5, round(rate / 50))

    async def call() -> None:
        await book.slot(float("inf"))
        sent.append(loop.time())

    while loop.time() < until:
        await asyncio.gather(*(call() for _ in range(at_once)))
        await asyncio.sleep(at_once / rate)


async def _two_workers(
    url: str, name: str, rates: tuple[float, float], seconds: float
) -> tuple[list[float], list[Asking]]:
    loop, sent = asyncio.get_running_loop(), list[float]()
    clients = [Asking(url), Asking(url)]
    books = [
        LeaseBook(client, LimitedModel(name, None, None), f"host:{number}:x", time.monotonic)
        for number, client in enumerate(clients)
    ]
    until = loop.time() + seconds
    await asyncio.gather(*(_called(book, rate, until, sent) for book, rate in zip(books, rates, strict=True)))
    for book in books:
        book.close()
    await asyncio.sleep(0.05)
    for client in clients:
        await client.close()
    return sent, clients


def test_two_busy_workers_below_the_limit_live_on_shares(client: Client) -> None:
    client.execute("CREATE MODEL m LOCATION 'http://127.0.0.1:9/v1/chat/completions' PROPERTIES ('qps.limit'=2000)")
    sent, workers = asyncio.run(_two_workers(client.url, "m", (400.0, 400.0), 3.0))
    assert len(sent) > 1_000
    for worker in workers:
        granted = [lease.share for lease in worker.leases]
        # Shares of half a second that are renewed 0.1 s before their end; the first tenth of a second has none.
        assert 5 <= sum(granted) <= 8
        assert len(granted) <= 30


def test_workers_that_want_more_than_the_limit_have_no_shares_and_use_all_of_it(client: Client) -> None:
    client.execute("CREATE MODEL m LOCATION 'http://127.0.0.1:9/v1/chat/completions' PROPERTIES ('qps.limit'=400)")
    sent, workers = asyncio.run(_two_workers(client.url, "m", (5_000.0, 5_000.0), 4.0))
    late = [lease.share for worker in workers for lease in worker.leases[len(worker.leases) // 2 :]]
    assert not any(late)
    first = min(sent)
    inside = sum(first + 1.0 <= moment < first + 3.0 for moment in sent)
    assert 400 * 2 / 1.5 <= inside <= 400 * 2.05  # a busy machine misses slots; more than there are is never sent
