"""One engine per worker process: a daemon thread with its own loop, and what its calls share.

Spark forks workers before anything of ours runs and keeps them for many tasks, so the engine is made at first use,
found by process id, and captures nothing that a later job could want to change.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import uvloop

from inferlake.call import CallDescriptor
from inferlake.worker.answer import Source
from inferlake.worker.answer_store import AnswerStore, application_directory
from inferlake.worker.attempt import Attempt
from inferlake.worker.breaker import Breaker, BreakerGate, Circuit
from inferlake.worker.breaker_news import BreakerNews
from inferlake.worker.calls import Sender, Transport
from inferlake.worker.coalesce import Coalesce, UnderWay
from inferlake.worker.credentials import ModelHeaders, Renewing
from inferlake.worker.errors import ModelUnusable
from inferlake.worker.gather import Gather
from inferlake.worker.limit import LeaseBook, Limit, LimitedModel
from inferlake.worker.pay_once import Ahead, Claims, PayOnce
from inferlake.worker.registry_link import RegistryLink
from inferlake.worker.request import request_form
from inferlake.worker.retry import Retry, RetryBudget
from inferlake.worker.reuse import Journal
from inferlake.worker.rows import Lane
from inferlake.worker.tracing import traced
from inferlake.worker.transport import Http1Transport, TransportSettings
from inferlake.worker.usage import Counted, Usage
from inferlake.worker.window import Aimd, Paced, Window
from inferlake_registry.client import AsyncClient, WorkerRegistry
from inferlake_registry.contract.models import CallSettings, CredentialsRequest, Endpoint, ModelSnapshot, ModelType
from inferlake_sql.location import Location
from inferlake_sql.secret import Secret

T = TypeVar("T")

_OBJECTS_BETWEEN_COLLECTIONS: Final = 20_000
_QUERIES_REMEMBERED: Final = 64
_STOP_S: Final = 5.0
TOKEN_VARIABLE: Final = "INFERLAKE_REGISTRY_TOKEN"


@dataclass(frozen=True, slots=True)
class AddressState:
    """What all calls of the process to one address share."""

    window: Window
    circuit: Circuit
    budget: RetryBudget


_clock = time.monotonic  # the same as the loop's, but finer


class Engine:
    """The loop and the shared state of this process. Everything but ``submit`` and ``start`` belongs to the loop."""

    def __init__(self) -> None:
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="inferlake-engine", daemon=True)
        self._transports: dict[TransportSettings, Transport] = {}
        self._registries: dict[str, AsyncClient] = {}
        self._usages: dict[str, Usage] = {}
        self._resolved: dict[tuple[str, str, str], ModelSnapshot] = {}
        self._headers: dict[tuple[str, str, str, bool, str | None, tuple[str, ...]], ModelHeaders] = {}
        self._leases: dict[tuple[str, str], LeaseBook] = {}
        self._addresses: dict[str, AddressState] = {}
        self._claims: dict[str, Claims] = {}
        self._journals: dict[tuple[str, str], Journal] = {}
        self._under_way: UnderWay = {}

    def start(self) -> None:
        """Start the loop's thread.

        Thousands of rows wait at any time, and by default the collector of cycles would walk them once for every 700
        new objects: a third of the engine's own time. What is imported by now stays, and new objects are looked at
        less often.
        """
        gc.freeze()
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop; called from other threads."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def stop(self) -> None:
        """End the loop and its thread; a worker process just ends."""
        self.submit(self._close()).result(_STOP_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_STOP_S)
        self.loop.close()

    def registry(self, url: str) -> WorkerRegistry:
        """Return the client of a registry."""
        if url not in self._registries:
            token = os.environ.get(TOKEN_VARIABLE)
            self._registries[url] = AsyncClient(url, Secret(token) if token else None, RegistryLink(url))
        return self._registries[url]

    def transport(self, settings: CallSettings) -> Transport:
        """Return the transport for a model's network settings."""
        key = TransportSettings(settings.connect_timeout_ms, settings.tls_ca)
        if key not in self._transports:
            self._transports[key] = Http1Transport(key)
        return self._transports[key]

    async def resolve(self, descriptor: CallDescriptor) -> ModelSnapshot:
        """Return the model of a call that was not planned on the driver, once per query and process."""
        key = (descriptor.query_id, descriptor.registry_url, descriptor.reference)
        known = self._resolved.get(key) if descriptor.query_id else None
        if known is None:
            registry = self.registry(descriptor.registry_url)
            known = await registry.resolve(descriptor.reference, case_sensitive=descriptor.case_sensitive)
            if descriptor.query_id:
                known = self._resolved.setdefault(key, known)  # two tasks may have asked at once
                if len(self._resolved) > _QUERIES_REMEMBERED:
                    del self._resolved[next(iter(self._resolved))]
        return known

    def lane(self, descriptor: CallDescriptor, snapshot: ModelSnapshot, endpoint: Endpoint) -> Lane:
        """Build the way to one version of a model, on the state that the process shares for its address."""
        address = self._address(endpoint.url, snapshot.settings)
        sender = self._stack(descriptor, snapshot, endpoint, address)
        return Lane(endpoint.version, address.window, sender)

    def _stack(
        self, descriptor: CallDescriptor, snapshot: ModelSnapshot, endpoint: Endpoint, address: AddressState
    ) -> Sender:
        """Stack the parts, innermost first."""
        settings, leases = snapshot.settings, self._leases_of(descriptor.registry_url, snapshot)
        headers = self._headers_of(descriptor, snapshot, endpoint)
        source = Source(
            snapshot.name, endpoint.version, endpoint.model_type, settings.price_input, settings.price_output
        )
        attempt_timeout_s = None if settings.attempt_timeout_ms is None else settings.attempt_timeout_ms / 1_000
        sender: Sender = Attempt(self.transport(settings), endpoint.url, source, headers, attempt_timeout_s, _clock)
        sender = Renewing(sender, headers)
        sender = Paced(sender, address.window, _clock)
        if leases is not None:
            cap = min(settings.concurrency_per_worker, settings.concurrency_limit)
            leases.attach(address.window, cap)
            sender = Limit(sender, leases)
        if descriptor.registry_url:
            self._watch(address.circuit, descriptor.registry_url, snapshot, endpoint.url)
        sender = BreakerGate(sender, address.circuit, settings.timeout_ms / 1_000, _clock)
        sender = Retry(sender, settings.retry_attempts, address.budget, _clock, random.random)
        sender = traced(sender, descriptor.traceparent, snapshot.name, endpoint.version)
        if descriptor.registry_url:
            sender = Counted(sender, self.usage(descriptor.registry_url), snapshot.name, endpoint.version)
        if endpoint.model_type is ModelType.EMBEDDING:
            sender = Gather(sender, request_form(endpoint, descriptor))
        sender = PayOnce(sender, self._claims_of(descriptor.application_id), self._journal(descriptor))
        return Coalesce(sender, self._under_way)

    def _address(self, url: str, settings: CallSettings) -> AddressState:
        cap = min(settings.concurrency_per_worker, settings.concurrency_limit)
        if url not in self._addresses:
            # A probe has to fall into the time of a row that waits for one.
            breaker = Breaker(longest_open_s=settings.timeout_ms / 2_000)
            window = Window(Aimd(cap), self.loop)
            self._addresses[url] = AddressState(window, Circuit(breaker, _clock), RetryBudget())
        self._addresses[url].window.set_cap(cap)
        return self._addresses[url]

    def _watch(self, circuit: Circuit, registry_url: str, snapshot: ModelSnapshot, url: str) -> None:
        """Have the registry told when calls of a model to an address stop, and when they go on."""
        news = BreakerNews(self.registry(registry_url), snapshot, self.holder, url)
        circuit.watch((registry_url, snapshot.model_id), news.tell)

    def _headers_of(self, descriptor: CallDescriptor, snapshot: ModelSnapshot, endpoint: Endpoint) -> ModelHeaders:
        """Return the headers of a model's calls to a host; a model that was given a key meanwhile gets new ones.

        A version with secret members of the body has its own, and what a call says itself is not added to it.
        """
        host, url = Location(endpoint.url).host, descriptor.registry_url
        version = endpoint.version if endpoint.secret_request else None
        members = tuple(name for name in endpoint.secret_request if name not in descriptor.options)
        key = (url, snapshot.model_id, host, snapshot.has_secrets, version, members)
        if key not in self._headers:
            registry = self.registry(url) if url else None
            request = CredentialsRequest(snapshot.model_id, host, version)
            self._headers[key] = ModelHeaders(registry, snapshot, request, members, _clock)
        return self._headers[key]

    def _leases_of(self, registry_url: str, snapshot: ModelSnapshot) -> LeaseBook | None:
        """Return the send slots that all calls of a model share; None without a registry, where no limit is kept."""
        if not registry_url:
            if snapshot.settings.qps_limit is not None or snapshot.has_secrets:
                raise ModelUnusable(snapshot.name, "its limit or its key needs a registry, and the call names none")
            return None
        key = (registry_url, snapshot.model_id)
        if key not in self._leases:
            limited = LimitedModel(snapshot.name, snapshot.model_id, snapshot.settings.qps_limit)
            self._leases[key] = LeaseBook(self.registry(registry_url), limited, self.holder, _clock)
        return self._leases[key]

    @property
    def windows(self) -> tuple[Window, ...]:
        """Return the places of all addresses, to look at."""
        return tuple(address.window for address in self._addresses.values())

    def usage(self, registry_url: str) -> Usage:
        """Return the sums of what this process called for a registry."""
        if registry_url not in self._usages:
            self._usages[registry_url] = Usage(self.registry(registry_url), self.holder)
        return self._usages[registry_url]

    async def journal(self, descriptor: CallDescriptor) -> Journal | None:
        """Return the durable record that the call names, read into this host's store; None if it names none."""
        if descriptor.reuse is None:
            return None
        key = (descriptor.application_id, descriptor.reuse)
        if key not in self._journals:
            journal = Journal(descriptor.reuse, self._claims_of(descriptor.application_id).store)
            await asyncio.to_thread(journal.load)
            self._journals.setdefault(key, journal)
        return self._journals[key]

    def _journal(self, descriptor: CallDescriptor) -> Journal | None:
        return None if descriptor.reuse is None else self._journals[descriptor.application_id, descriptor.reuse]

    def ahead(self, descriptor: CallDescriptor) -> Ahead:
        """Return what a task asks the store with; its journal has been read."""
        return Ahead(self._claims_of(descriptor.application_id), self._journal(descriptor))

    def _claims_of(self, application_id: str) -> Claims:
        if application_id not in self._claims:
            directory = application_directory(application_id or f"process-{self.holder}")
            self._claims[application_id] = Claims(AnswerStore(directory), _clock)
        return self._claims[application_id]

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def _close(self) -> None:
        for usage in self._usages.values():
            await usage.close()
        for leases in self._leases.values():
            leases.close()
        for journal in self._journals.values():
            journal.close()
        for claims in self._claims.values():
            claims.close()
        for transport in self._transports.values():
            await transport.close()
        for registry in self._registries.values():
            await registry.close()


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


def is_running() -> bool:
    """Tell whether this process has an engine already."""
    return _engine is not None and _engine_pid == os.getpid()


def forget_engine() -> None:
    """Stop this process's engine, if there is one; the next call makes another. For tests and for ends of programs."""
    global _engine
    if is_running():
        engine().stop()
    _engine = None
