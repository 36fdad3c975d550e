"""The loop that probes and forgets: one process a database, each model in its own place of the interval."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import uuid
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import delete
from sqlalchemy.exc import SQLAlchemyError

from inferlake_registry.services.probing import due, probe_one
from inferlake_registry.services.retention import forget
from inferlake_registry.store.database import Database
from inferlake_registry.store.schema import LeaderLease
from inferlake_registry.store.secrets import KeyRing

_LOG = logging.getLogger(__name__)
_TICK_S: Final = 1.0
# A leader that is killed is replaced after this.
_LEASE_S: Final = 10.0
# A probe takes 10 s at most, or 20 s with two questions: with every endpoint silent, 190 of them are probed a minute.
_AT_ONCE: Final = 64
_FORGET_EVERY: Final = timedelta(minutes=10)
_TASK: Final = "probe"


class Prober:
    """Asks every second who is due. Several processes on one database take turns by a lease."""

    def __init__(self, database: Database, ring: KeyRing) -> None:
        self._database = database
        self._ring = ring
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._leads_until = 0.0
        self._forget_at = datetime.now(UTC)

    async def run(self) -> None:
        """Probe until cancelled; then drop what is under way, and let another process take over at once."""
        try:
            while True:
                try:
                    await self._round()
                except SQLAlchemyError as error:
                    # The database may come back; the next tick sees.
                    _LOG.warning("probing waits for the database (%s)", type(error).__name__)
                await asyncio.sleep(_TICK_S)
        finally:
            for task in self._under_way.values():
                task.cancel()
            await asyncio.gather(*self._under_way.values(), return_exceptions=True)
            self._resign()

    async def _round(self) -> None:
        now = datetime.now(UTC)
        for model_id in await asyncio.to_thread(self._waiting, now):
            if model_id not in self._under_way:
                task = asyncio.create_task(self._probe(model_id))
                self._under_way[model_id] = task
                task.add_done_callback(lambda done, key=model_id: self._ended(key, done))  # type: ignore[misc]

    def _waiting(self, now: datetime) -> list[str]:
        """Return the models that are due; none while another process is the one that probes."""
        if not self._leads(now):
            return []
        if now >= self._forget_at:
            with self._database.write() as session:
                forget(session, now)
            self._forget_at = now + _FORGET_EVERY
        with self._database.read() as session:
            return due(session, now)

    async def _probe(self, model_id: str) -> None:
        async with self._places:
            await probe_one(self._database, self._ring, model_id, datetime.now(UTC))

    def _ended(self, model_id: str, done: asyncio.Task[None]) -> None:
        del self._under_way[model_id]
        if not done.cancelled() and (error := done.exception()) is not None:
            # Only its type: a message may hold what was sent. The model is due again at the next tick.
            _LOG.error("a probe could not be made or stored (%s)", type(error).__name__)

    def _leads(self, now: datetime) -> bool:
        """Whether this process is the one that probes; the lease is renewed when half of it is over."""
        at = now.timestamp()
        if at < self._leads_until - _LEASE_S / 2:
            return True
        with self._database.write() as session:
            lease = session.get(LeaderLease, _TASK, with_for_update=True)
            if lease is None or lease.holder == self._holder or lease.expires <= at:
                session.merge(LeaderLease(task=_TASK, holder=self._holder, expires=at + _LEASE_S))
                self._leads_until = at + _LEASE_S
            else:
                self._leads_until = 0.0
        return self._leads_until > at

    def _resign(self) -> None:
        try:
            with self._database.write() as session:
                session.execute(delete(LeaderLease).where(LeaderLease.holder == self._holder))
        except SQLAlchemyError as error:
            # The lease ends by itself.
            _LOG.warning("the prober could not say that it ends (%s)", type(error).__name__)
