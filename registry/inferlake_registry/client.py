"""Client of the registry: the contract's values in and out, errors of the family, no retries.

``Client`` is for the driver, the command line and the serve apps, ``AsyncClient`` for the engine's loop in a worker,
which brings a way of its own to carry what it asks several times a second. What the registry answers is read in one
place, and what httpx can raise is translated in one.
"""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar
from urllib.parse import quote, urlencode

import httpx

from inferlake_registry.contract.health import BreakerReport, HealthReport
from inferlake_registry.contract.leases import Lease, LeaseRequest, LimitsReport
from inferlake_registry.contract.models import Credentials, CredentialsRequest, ModelSnapshot
from inferlake_registry.contract.problems import (
    PROBLEM_MEDIA_TYPE,
    BadSetting,
    RegistryProtocolError,
    RegistryUnreachable,
    from_problem,
)
from inferlake_registry.contract.runs import RejectedListing, RejectedSample, RunListing, RunReport, UsageReport
from inferlake_registry.contract.statements import StatementResult
from inferlake_registry.contract.wire import WireError, decode, encode
from inferlake_sql.errors import JsonValue
from inferlake_sql.secret import Secret

T = TypeVar("T")
Arguments = Mapping[str, object] | Sequence[object] | None

# Says who asks, percent-encoded. The history notes it as a claim: nothing proves it.
USER_HEADER: Final = "x-inferlake-user"
DEFAULT_URL: Final = "http://127.0.0.1:8085"
# Every call is one short transaction; TEST MODEL, which calls an endpoint, is the one that may take long.
_TIMEOUT: Final = httpx.Timeout(60.0, connect=5.0)


class Registry(Protocol):
    """What the driver needs of a registry; ``Client`` is the real one, tests may stand in for it."""

    @property
    def url(self) -> str:
        """Where it is."""
        ...

    def execute(
        self, statement: str, args: Arguments = None, *, dry_run: bool = False, case_sensitive: bool = False
    ) -> StatementResult:
        """Carry out one statement, or with ``dry_run`` only say what it would do.

        ``case_sensitive``: a model is found only by its name in the very same letters.
        """
        ...

    def resolve(self, reference: str, *, case_sensitive: bool = False) -> ModelSnapshot:
        """Return the model that a call names, as it is now."""
        ...

    def report_run(self, report: RunReport) -> None:
        """Store a run's summary; the same run again replaces it."""
        ...

    def report_rejected(self, run_id: str, samples: Sequence[RejectedSample]) -> None:
        """Store rejected rows for people to look at; the same row again changes nothing."""
        ...


class WorkerRegistry(Protocol):
    """What a worker needs of a registry."""

    async def resolve(self, reference: str, *, case_sensitive: bool = False) -> ModelSnapshot:
        """Return the model that a call names, as it is now."""
        ...

    async def credentials(self, name: str, request: CredentialsRequest = CredentialsRequest()) -> Credentials:  # noqa: B008 - a frozen value
        """Return the headers that must not be seen."""
        ...

    async def lease(self, name: str, request: LeaseRequest) -> Lease:
        """Take send slots."""
        ...

    async def release(self, name: str, lease_id: str, unused: int) -> None:
        """Give back the slots that will not be used."""
        ...

    async def report_usage(self, reports: Sequence[UsageReport]) -> None:
        """Add what was called since the last report."""
        ...

    async def report_breaker(self, name: str, report: BreakerReport) -> None:
        """Tell that this worker has stopped calling an address, or calls it again."""
        ...


class Client:
    """Synchronous client."""

    def __init__(self, url: str = DEFAULT_URL, token: Secret | None = None) -> None:
        self.url = _address(url)
        self._http = httpx.Client(base_url=self.url, headers=_headers(token), timeout=_TIMEOUT, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ready(self) -> bool:
        """Return whether a registry answers at the address."""
        try:
            return self._http.get("/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def execute(
        self, statement: str, args: Arguments = None, *, dry_run: bool = False, case_sensitive: bool = False
    ) -> StatementResult:
        """Carry out one statement. Raises what the registry raised."""
        body: dict[str, JsonValue] = {"statement": statement, "args": _plain(args), "dry_run": dry_run}
        return self._ask(StatementResult, "/v1/sql", {**body, "case_sensitive": case_sensitive})

    def resolve(self, reference: str, *, case_sensitive: bool = False) -> ModelSnapshot:
        """Return the model that a call names. Raises ModelNotFound, VersionNotFound, ModelDisabled."""
        return self._ask(ModelSnapshot, *_resolve(reference, case_sensitive))

    def report_run(self, report: RunReport) -> None:
        """Store a run's summary."""
        self._send("/v1/runs", encode(report))

    def report_rejected(self, run_id: str, samples: Sequence[RejectedSample]) -> None:
        """Store rejected rows for people to look at."""
        self._send(f"/v1/runs/{quote(run_id, safe='')}/rejected", encode(tuple(samples)))

    def rejected(
        self, *, reason: str = "", model: str = "", version: str = "", run: str = "", after: str = ""
    ) -> RejectedListing:
        """Return one page of rejected rows; an empty text is any, ``after`` is the place that the page before named."""
        wanted = {"reason": reason, "model": model, "version": version, "run": run, "after": after}
        query = urlencode({name: value for name, value in wanted.items() if value})
        return _decoded(self.url, RejectedListing, self.get(f"/v1/rejected?{query}"))

    def rejected_row(self, rejected_id: str) -> RejectedSample:
        """Return one rejected row with its whole texts. Raises NotFound."""
        return _decoded(self.url, RejectedSample, self.get(f"/v1/rejected/{quote(rejected_id, safe='')}"))

    def health(self, name: str) -> HealthReport:
        """Return a model's state with its last probes. Raises ModelNotFound."""
        return _decoded(self.url, HealthReport, self.get(f"/v1/models/{quote(name, safe='')}/health"))

    def limits(self, name: str) -> LimitsReport:
        """Return what limits a model's calls now, and who shares it. Raises ModelNotFound."""
        return _decoded(self.url, LimitsReport, self.get(f"/v1/models/{quote(name, safe='')}/limits"))

    def runs(self, *, model: str = "", after: str = "") -> RunListing:
        """Return one page of runs, the latest first; ``after`` is the place that the page before named."""
        query = urlencode({name: value for name, value in {"model": model, "after": after}.items() if value})
        return _decoded(self.url, RunListing, self.get(f"/v1/runs?{query}"))

    def run(self, run_id: str) -> RunReport:
        """Return a run's summary. Raises NotFound."""
        return _decoded(self.url, RunReport, self.get(f"/v1/runs/{quote(run_id, safe='')}"))

    def get(self, path: str) -> JsonValue:
        """Return the JSON document at a path below the registry's address."""
        with _translated(self.url):
            return _document(self.url, _reply(self._http.get(path)))

    def _ask(self, kind: type[T], path: str, body: JsonValue) -> T:
        return _decoded(self.url, kind, self._send(path, body))

    def _send(self, path: str, body: JsonValue) -> JsonValue:
        with _translated(self.url):
            return _document(self.url, _reply(self._http.post(path, json=body)))


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back over HTTP, whatever its status."""

    status: int
    content_type: str | None
    content: bytes


class Carrier(Protocol):
    """Carries the requests of an ``AsyncClient`` to one registry."""

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return what the registry answers to a JSON body. Raises RegistryUnreachable."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class HttpxCarrier:
    """Carries requests by httpx."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http = httpx.AsyncClient(base_url=url, timeout=_TIMEOUT, trust_env=False)

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return what the registry answers. Raises RegistryUnreachable."""
        with _translated(self._url):
            return _reply(await self._http.post(path, headers=headers, content=body))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


class AsyncClient:
    """Asynchronous client; it belongs to the loop that it is used on."""

    def __init__(self, url: str = DEFAULT_URL, token: Secret | None = None, carrier: Carrier | None = None) -> None:
        self.url = _address(url)
        self._token = token
        self._carrier = carrier or HttpxCarrier(self.url)

    async def close(self) -> None:
        """Close the connections."""
        await self._carrier.close()

    async def resolve(self, reference: str, *, case_sensitive: bool = False) -> ModelSnapshot:
        """Return the model that a call names. Raises ModelNotFound, VersionNotFound, ModelDisabled."""
        return await self._ask(ModelSnapshot, *_resolve(reference, case_sensitive))

    async def credentials(self, name: str, request: CredentialsRequest = CredentialsRequest()) -> Credentials:  # noqa: B008 - a frozen value
        """Return the headers that must not be seen. Raises ModelNotFound, SecretUnavailable."""
        return await self._ask(Credentials, f"/v1/models/{quote(name, safe='')}/credentials", encode(request))

    async def lease(self, name: str, request: LeaseRequest) -> Lease:
        """Take send slots."""
        return await self._ask(Lease, f"/v1/models/{quote(name, safe='')}/leases", encode(request))

    async def release(self, name: str, lease_id: str, unused: int) -> None:
        """Give back the last ``unused`` slots of a lease."""
        await self._send(
            f"/v1/models/{quote(name, safe='')}/leases/{quote(lease_id, safe='')}/release", {"unused": unused}
        )

    async def report_usage(self, reports: Sequence[UsageReport]) -> None:
        """Add what was called since the last report."""
        await self._send("/v1/usage", encode(tuple(reports)))

    async def report_breaker(self, name: str, report: BreakerReport) -> None:
        """Tell that this worker has stopped calling an address, or calls it again."""
        await self._send(f"/v1/models/{quote(name, safe='')}/breakers", encode(report))

    async def _ask(self, kind: type[T], path: str, body: JsonValue) -> T:
        return _decoded(self.url, kind, await self._send(path, body))

    async def _send(self, path: str, body: JsonValue) -> JsonValue:
        headers = {**_headers(self._token), "content-type": "application/json"}
        return _document(self.url, await self._carrier.post(path, headers, json.dumps(body).encode()))


def _address(url: str) -> str:
    """Return the address as it is shown and put into plans, so it must hold no secret. Raises BadSetting."""
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise BadSetting("The registry's address", "holds credentials; give a token as INFERLAKE_REGISTRY_TOKEN")
    return url.rstrip("/")


def _headers(token: Secret | None) -> dict[str, str]:
    headers = {USER_HEADER: quote(_user())}
    if token is not None:
        headers["authorization"] = f"Bearer {token.reveal()}"
    return headers


@cache
def _user() -> str:
    """Return who the history is to name; a container's user may have no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"uid {os.getuid()}"


def _resolve(reference: str, case_sensitive: bool) -> tuple[str, JsonValue]:
    # The reference goes in the body as written; the path holds it only so that access logs say what was asked for.
    body: dict[str, JsonValue] = {"reference": reference, "case_sensitive": case_sensitive}
    return f"/v1/models/{quote(reference, safe='')}/resolve", body


def _plain(args: Arguments) -> JsonValue:
    if args is None:
        return None
    if isinstance(args, Mapping):
        return {str(name): _plain_value(value) for name, value in args.items()}
    return [_plain_value(value) for value in args]


def _plain_value(value: object) -> JsonValue:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


@contextmanager
def _translated(url: str) -> Iterator[None]:
    try:
        yield
    except httpx.TransportError as error:
        raise RegistryUnreachable(url, _cause(error)) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise RegistryUnreachable(url, "this is no http address") from error


def _cause(error: httpx.TransportError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "it did not answer in time"
    if isinstance(error, httpx.ConnectError):
        return "nothing listens there"
    if isinstance(error, httpx.UnsupportedProtocol):
        return "this is no http address"
    return "the connection broke"


def _reply(response: httpx.Response) -> Reply:
    return Reply(response.status_code, response.headers.get("content-type"), response.content)


def _document(url: str, reply: Reply) -> JsonValue:
    try:
        document: JsonValue = json.loads(reply.content) if reply.content else None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise RegistryProtocolError(url, reply.status) from None
    if httpx.codes.is_success(reply.status):
        return document
    if (reply.content_type or "").startswith(PROBLEM_MEDIA_TYPE) and isinstance(document, dict):
        raise from_problem(document)
    raise RegistryProtocolError(url, reply.status)


def _decoded(url: str, kind: type[T], document: JsonValue) -> T:
    try:
        return decode(kind, document)
    except WireError:
        raise RegistryProtocolError(url, httpx.codes.OK) from None
