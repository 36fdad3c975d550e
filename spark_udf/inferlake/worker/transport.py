"""The transport that reaches real endpoints: HTTP/1.1 over connections that are kept alive.

It follows no redirect, decompresses nothing (a small body cannot grow into a large one), reads a bounded body, and
connects to addresses that ``inferlake_sql.location`` allows.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import Final

import httpx

from inferlake.worker.calls import Break, HttpReply, TransportFailed
from inferlake.worker.dialing import Peer, Proxy, dial, proxy_of
from inferlake.worker.http1 import Connection
from inferlake.worker.idle import IdleConnections
from inferlake.worker.tls import tls_context
from inferlake_sql.location import read_address, refuse_address

BODY_LIMIT: Final = 16 << 20  # bytes of one answer
_RESOLVED_FOR_S: Final = 30.0  # how long checked addresses stay pinned
_IDLE_S: Final = 30.0  # an idle connection that is older is not used again: load balancers drop them after a minute
_USER_AGENT: Final = "user-agent: inferlake\r\n"
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110, 5.6.2


@dataclass(frozen=True, slots=True)
class TransportSettings:
    """What makes one transport differ from another in the same process."""

    connect_timeout_ms: int = 5_000
    tls_ca: str | None = None  # PEM text, or the path of a PEM file on this machine
    body_limit: int = BODY_LIMIT


class Route:
    """The way to one URL: the addresses that were checked, and the connections to them."""

    def __init__(
        self, url: httpx.URL, addresses: tuple[str, ...], proxy: Proxy | None, opened: set[Connection]
    ) -> None:
        self.expires = 0.0  # when the addresses have to be looked at again
        self._addresses = addresses
        self._peer = Peer.of(url)
        self._proxy = proxy
        self.start = _request_start(url, None if self._peer.secure else proxy)
        self._idle = IdleConnections(_IDLE_S)
        self._opened = opened  # those of all routes of a transport
        self._retired = False

    def leads(self, addresses: tuple[str, ...], proxy: Proxy | None) -> bool:
        """Tell whether this is the way to these addresses, in whatever order."""
        return self._proxy == proxy and set(self._addresses) == set(addresses)

    def idle(self) -> Connection | None:
        """Take a connection that carries nothing, if there is one."""
        return self._idle.take()

    async def connect(self, body_limit: int, context: Callable[[], ssl.SSLContext]) -> Connection:
        """Open another connection, to the first address that takes it. Raises ``TransportFailed``."""
        make = partial(Connection, body_limit, self._freed, self._lost)
        failed = TransportFailed(Break.CONNECT, "No connection to the endpoint (closed).")
        for address in self._addresses or ("",):
            try:
                connection = await dial(self._peer, address, self._proxy, context, make)
            except BaseException as error:  # also when the time was over: the address may be one that never answers
                self._try_last(address)
                if not isinstance(error, TransportFailed) or error.kind is not Break.CONNECT:
                    raise
                failed = error
            else:
                if connection.usable:
                    self._opened.add(connection)
                    return connection
        self.expires = 0.0  # the name may have other addresses by now
        raise failed

    def retire(self) -> None:
        """Use no connection for another exchange."""
        self._retired = True
        self._idle.close()

    def _try_last(self, address: str) -> None:
        """Let the next connection begin with another address, unless that has been seen to already."""
        if self._addresses[:1] == (address,):
            self._addresses = (*self._addresses[1:], address)

    def _freed(self, connection: Connection) -> None:
        if self._retired:
            connection.abort()
        else:
            self._idle.put(connection)

    def _lost(self, connection: Connection) -> None:
        self._opened.discard(connection)
        self._idle.forget(connection)


class Http1Transport:
    """Posts requests, each over a connection of its own for as long as it takes."""

    def __init__(self, settings: TransportSettings) -> None:
        self._settings = settings
        self._routes: dict[str, Route] = {}
        self._resolving: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._opened: set[Connection] = set()
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._context: ssl.SSLContext | None = None

    async def post(self, url: str, headers: dict[str, str], body: bytes, timeout_s: float) -> HttpReply:
        """Return the complete answer, or raise ``TransportFailed``."""
        head = _request_head(headers, len(body))
        now = self._loop.time()
        route = self._routes.get(url)
        connection = None
        if route is not None and route.expires >= now:
            connection = route.idle()
        if route is None or connection is None:
            route, connection = await self._connected(url, timeout_s)
            timeout_s -= self._loop.time() - now
        return await connection.exchange(b"".join((route.start, head, body)), timeout_s)

    async def close(self) -> None:
        """Close all connections; requests under way fail."""
        self._closed = True
        for route in self._routes.values():
            route.retire()
        for connection in tuple(self._opened):
            connection.abort()

    async def _connected(self, url: str, timeout_s: float) -> tuple[Route, Connection]:
        """Return a connection, within the time for connecting and within the row's."""
        began = self._loop.time()
        try:
            async with asyncio.timeout(min(timeout_s, self._settings.connect_timeout_ms / 1_000)):
                route = await self._route(url)
                connection = route.idle() or await route.connect(self._settings.body_limit, self._tls)
        except TimeoutError:
            raise TransportFailed(Break.CONNECT, "No connection within connect.timeout.ms.") from None
        if self._closed or self._loop.time() - began >= timeout_s:
            connection.abort()  # what is sent now could be paid, and nobody would wait for its answer
            raise TransportFailed(Break.CONNECT, "No connection within the time of the call.")
        return route, connection

    async def _route(self, url: str) -> Route:
        """Return the way to a URL, its host resolved and its addresses checked at most half a minute ago."""
        async with self._resolving[url]:
            known = self._routes.get(url)
            if known is not None and known.expires >= self._loop.time():
                return known
            if self._settings.tls_ca is not None:
                self._tls()  # what cannot be used is said at once, also where it is not needed
            target = _read_url(url)
            proxy = proxy_of(target)
            addresses = await self._addresses(Peer.of(target), proxy)
            if known is None or not known.leads(addresses, proxy):
                if known is not None:
                    known.retire()
                known = self._routes[url] = Route(target, addresses, proxy, self._opened)
            known.expires = self._loop.time() + _RESOLVED_FOR_S
            return known

    async def _addresses(self, peer: Peer, proxy: Proxy | None) -> tuple[str, ...]:
        literal = read_address(peer.host)
        if literal is None and proxy is not None:
            return ()  # the proxy resolves and connects: it is the guard
        found = (str(literal),) if literal else await self._resolve(peer)
        allowed = tuple(address for address in found if refuse_address(ip_address(address)) is None)
        if not allowed:
            raise TransportFailed(Break.FORBIDDEN, "The endpoint's host has a link-local or metadata address only.")
        return allowed

    async def _resolve(self, peer: Peer) -> tuple[str, ...]:
        try:
            found = await self._loop.getaddrinfo(peer.host, peer.port, type=socket.SOCK_STREAM)
        except OSError:
            raise TransportFailed(Break.CONNECT, "The name of the endpoint's host cannot be resolved.") from None
        return tuple(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = tls_context(self._settings.tls_ca)
        return self._context


def _read_url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.raw_host:
        raise TransportFailed(Break.FORBIDDEN, "The endpoint's address is not a valid http or https URL.")
    return url


def _request_start(url: httpx.URL, proxy: Proxy | None) -> bytes:
    """Return what is the same in all requests to a URL: the first line, the host, and whom a proxy has to do with."""
    path, host = url.raw_path.decode(), url.netloc.decode()
    place = path if proxy is None else f"{url.scheme}://{host}{path}"
    start = f"POST {place} HTTP/1.1\r\nhost: {host}\r\n"
    if proxy is not None and proxy.authorization is not None:
        start += f"proxy-authorization: {proxy.authorization}\r\n"
    return start.encode("ascii")


def _request_head(headers: dict[str, str], length: int) -> bytes:
    """Return a request's own headers. Raises ``TransportFailed`` for one that is none."""
    lines = [] if "user-agent" in headers else [_USER_AGENT]
    for name, value in headers.items():
        if not value.isprintable() or not _NAME.fullmatch(name):
            raise TransportFailed(Break.FORBIDDEN, "The request cannot be built: a header is not valid.")
        lines.append(f"{name}: {value}\r\n")
    lines.append(f"content-length: {length}\r\n\r\n")
    return "".join(lines).encode()  # what is no ASCII goes as UTF-8; a lonely surrogate is not printable
