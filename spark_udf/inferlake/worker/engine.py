"""One engine per worker process: a daemon thread with its own loop, and what its calls share.

Spark forks workers before anything of ours runs and keeps them for many tasks, so the engine is made at first use, found
by process id, and captures nothing that a later job could want to change.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import uvloop

from inferlake.call import CallDescriptor
from inferlake.worker.answer import Source
from inferlake.worker.attempt import Attempt
from inferlake.worker.calls import Sender, Transport
from inferlake.worker.credentials import ModelHeaders, Renewing
from inferlake.worker.retry import Retry, RetryBudget
from inferlake.worker.rows import Lane
from inferlake.worker.transport import PyreqwestTransport, TransportSettings
from inferlake.worker.window import Aimd, Paced, Window
from inferlake_registry.client import AsyncClient, WorkerRegistry
from inferlake_registry.contract.models import CallSettings, Endpoint, ModelSnapshot
from inferlake_sql.secret import Secret

T = TypeVar("T")

TOKEN_VARIABLE = "INFERLAKE_REGISTRY_TOKEN"


class Engine:
    """The loop and the shared state of this process. Everything but ``submit`` and ``start`` belongs to the loop."""

    def __init__(self) -> None:
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="inferlake-engine", daemon=True)
        self._transports: dict[TransportSettings, Transport] = {}
        self._registries: dict[str, WorkerRegistry] = {}
        self._windows: dict[str, Window] = {}
        self._budgets: dict[str, RetryBudget] = {}
        self._resolved: dict[str, ModelSnapshot] = {}
        self._headers: dict[tuple[str, str], ModelHeaders] = {}

    def start(self) -> None:
        """Start the loop's thread."""
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop; called from other threads."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def stop(self) -> None:
        """End the loop and its thread; for tests, since a worker process just ends."""
        self.submit(self._close()).result(5)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)

    def registry(self, url: str) -> WorkerRegistry:
        """Return the client of a registry."""
        if url not in self._registries:
            token = os.environ.get(TOKEN_VARIABLE)
            self._registries[url] = AsyncClient(url, Secret(token) if token else None)
        return self._registries[url]

    def transport(self, settings: CallSettings) -> Transport:
        """Return the transport for a model's network settings."""
        key = TransportSettings(settings.connect_timeout_ms, settings.tls_ca)
        if key not in self._transports:
            self._transports[key] = PyreqwestTransport(key)
        return self._transports[key]

    async def resolve(self, descriptor: CallDescriptor) -> ModelSnapshot:
        """Return the model of a call that was not planned on the driver, once per query and process."""
        known = self._resolved.get(descriptor.query_id) if descriptor.query_id else None
        if known is None:
            known = await self.registry(descriptor.registry_url).resolve(descriptor.reference)
            if descriptor.query_id:
                self._resolved[descriptor.query_id] = known
        return known

    def lane(self, descriptor: CallDescriptor, snapshot: ModelSnapshot, endpoint: Endpoint) -> Lane:
        """Build the way to one version of a model, on the state that the process shares for its address."""
        settings = snapshot.settings
        window = self._window(endpoint.url, settings)
        sender = self._stack(descriptor, snapshot, endpoint, window)
        return Lane(endpoint.version, window, sender)

    def _window(self, url: str, settings: CallSettings) -> Window:
        cap = min(settings.concurrency_per_worker, settings.concurrency_limit)
        if url not in self._windows:
            self._windows[url] = Window(Aimd(cap), self.loop)
        self._windows[url].set_cap(cap)
        return self._windows[url]

    def _stack(self, descriptor: CallDescriptor, snapshot: ModelSnapshot, endpoint: Endpoint, window: Window) -> Sender:
        """Stack the parts, innermost first."""
        settings = snapshot.settings
        clock: Callable[[], float] = time.monotonic
        source = Source(
            snapshot.name, endpoint.version, endpoint.model_type, settings.price_input, settings.price_output
        )
        headers = self._model_headers(descriptor.registry_url, snapshot)
        attempt_timeout_s = None if settings.attempt_timeout_ms is None else settings.attempt_timeout_ms / 1_000
        sender: Sender = Attempt(self.transport(settings), endpoint.url, source, headers, attempt_timeout_s, clock)
        sender = Renewing(sender, headers)
        sender = Paced(sender, window, clock)
        budget = self._budgets.setdefault(endpoint.url, RetryBudget())
        return Retry(sender, settings.retry_attempts, budget, clock, random.random)

    def _model_headers(self, registry_url: str, snapshot: ModelSnapshot) -> ModelHeaders:
        key = (registry_url, snapshot.model_id)
        if key not in self._headers:
            self._headers[key] = ModelHeaders(self.registry(registry_url), snapshot)
        return self._headers[key]

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def _close(self) -> None:
        for transport in self._transports.values():
            await transport.close()


_engine: Engine | None = None
_engine_pid: int | None = None
_making = threading.Lock()


def engine() -> Engine:
    """Return this process's engine; a forked child gets its own."""
    global _engine, _engine_pid, _making
    if _engine_pid != os.getpid():
        _making = threading.Lock()  # the parent's may have been held by a thread that does not exist here
        _engine, _engine_pid = None, os.getpid()
    with _making:
        if _engine is None:
            _engine = Engine()
            _engine.start()
        return _engine
