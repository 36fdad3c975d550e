"""The loop that probes: one prober a database, each model in its own place of the interval."""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Final

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from inferlake_registry.services.probing import due, probe_one
from inferlake_registry.store.database import Database
from inferlake_registry.store.schema import LeaderLease
from inferlake_registry.store.secrets import KeyRing
from inferlake_sql.errors import InferlakeError

_LOG = logging.getLogger(__name__)
_TICK_S: Final = 1.0
_LEASE_S: Final = 10.0
_AT_ONCE: Final = 8
_TASK: Final = "probe"


class Scheduler:
    """A thread that asks every second who is due. Several processes on one database take turns by a lease."""

    def __init__(self, database: Database, ring: KeyRing) -> None:
        self._database = database
        self._ring = ring
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="probes", daemon=True)

    def start(self) -> None:
        """Begin to probe."""
        self._thread.start()

    def stop(self) -> None:
        """Stop and wait for the probes under way."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="probe") as pool:
            while not self._stop.wait(_TICK_S):
                try:
                    self._round(pool)
                except SQLAlchemyError as error:
                    # The database may come back; the next tick sees.
                    _LOG.warning("probing waits for the database (%s)", type(error).__name__)

    def _round(self, pool: ThreadPoolExecutor) -> None:
        now = datetime.now(UTC)
        with self._database.write() as session:
            if not self._leads(session, now):
                return
        with self._database.read() as session:
            waiting = due(session, now)
        for done in [pool.submit(self._probe, model_id) for model_id in waiting]:
            done.result()

    def _probe(self, model_id: str) -> None:
        try:
            probe_one(self._database, self._ring, model_id, datetime.now(UTC))
        except InferlakeError as error:
            _LOG.warning("a model could not be probed: %s", error)

    def _leads(self, session: Session, now: datetime) -> bool:
        at = now.timestamp()
        lease = session.get(LeaderLease, _TASK, with_for_update=True)
        if lease is not None and lease.holder != self._holder and lease.expires > at:
            return False
        session.merge(LeaderLease(task=_TASK, holder=self._holder, expires=at + _LEASE_S))
        return True
