"""Opens connections: to an address that was checked, or through the proxy that the environment names."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from inferlake.worker.calls import Break, TransportFailed
from inferlake.worker.http1 import HEAD_LIMIT, Connection

_PORTS: Final = {"http": 80, "https": 443}
_ANSWERED: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?=[ \r]).*?\r\n\r\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy of the environment. ``authorization`` is the value of its header and is never shown."""

    secure: bool
    host: str
    port: int
    authorization: str | None

    def __repr__(self) -> str:
        return f"Proxy({self.host}:{self.port})"


@dataclass(frozen=True, slots=True)
class Peer:
    """Who answers at the other end: scheme, host name and port of the endpoint."""

    secure: bool
    host: str
    port: int

    @classmethod
    def of(cls, url: httpx.URL) -> Peer:
        """Return the peer that an http or https URL names."""
        return cls(url.scheme == "https", url.raw_host.decode(), url.port or _PORTS[url.scheme])

    @property
    def authority(self) -> str:
        """Host and port, IPv6 in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def proxy_of(url: httpx.URL) -> Proxy | None:
    """Return the proxy that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY name for a URL.

    Raises ``TransportFailed`` for one that cannot be used; what is wrong with it could be part of a password.
    """
    if proxy_bypass(url.netloc.decode()):
        return None
    proxies = getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named:
        return None
    try:
        return _read_proxy(named if "://" in named else f"http://{named}")
    except ValueError:
        message = "The proxy of the environment is neither an http nor an https address."
        raise TransportFailed(Break.FORBIDDEN, message) from None


def _read_proxy(text: str) -> Proxy:
    proxy = urlsplit(text)
    if proxy.scheme not in _PORTS or not proxy.hostname:
        raise ValueError("no proxy")
    authorization = None
    if proxy.username is not None:
        pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        authorization = f"Basic {b64encode(pair.encode()).decode()}"
    return Proxy(proxy.scheme == "https", proxy.hostname, proxy.port or _PORTS[proxy.scheme], authorization)


async def dial(
    peer: Peer,
    address: str,
    proxy: Proxy | None,
    context: Callable[[], ssl.SSLContext],
    make: Callable[[], Connection],
) -> Connection:
    """Open a connection to the peer, at this address or through the proxy. Raises ``TransportFailed``."""
    try:
        if proxy is None:
            return await _direct(peer, address, context, make)
        if peer.secure:
            return await _tunnelled(peer, proxy, context(), make)
        # A request for plain http goes to the proxy itself, with the whole URL.
        return await _direct(Peer(proxy.secure, proxy.host, proxy.port), proxy.host, context, make)
    except ssl.SSLCertVerificationError:
        raise TransportFailed(Break.FORBIDDEN, "The endpoint's certificate is not trusted: see tls.ca.") from None
    except (OSError, ValueError) as error:
        raise TransportFailed(Break.CONNECT, f"No connection to the endpoint ({_reason(error)}).") from None


async def _direct(
    peer: Peer, address: str, context: Callable[[], ssl.SSLContext], make: Callable[[], Connection]
) -> Connection:
    loop = asyncio.get_running_loop()
    if peer.secure:
        _, connection = await loop.create_connection(make, address, peer.port, ssl=context(), server_hostname=peer.host)
    else:
        _, connection = await loop.create_connection(make, address, peer.port)
    return connection


async def _tunnelled(peer: Peer, proxy: Proxy, context: ssl.SSLContext, make: Callable[[], Connection]) -> Connection:
    """Have the proxy connect to the peer; it sees nothing but the place."""
    loop = asyncio.get_running_loop()
    transport, tunnel = await loop.create_connection(
        _Tunnel, proxy.host, proxy.port, ssl=context if proxy.secure else None
    )
    try:
        refusal = await tunnel.opened(peer, proxy)
        if refusal is not None:
            raise TransportFailed(Break.CONNECT, f"No connection to the endpoint ({refusal}).")
        connection = make()
        secured = await loop.start_tls(transport, connection, context, server_hostname=peer.host)
        assert secured is not None
        connection.connection_made(secured)
    except BaseException:
        transport.abort()
        raise
    return connection


class _Tunnel(asyncio.Protocol):
    """The first exchange with a proxy: where to, and whether it got there."""

    def __init__(self) -> None:
        self._head = b""
        self._answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.WriteTransport | None = None

    async def opened(self, peer: Peer, proxy: Proxy) -> str | None:
        """Ask for the peer; return None once there is a way to it, else why there is none."""
        assert self._transport is not None
        asked = f"CONNECT {peer.authority} HTTP/1.1\r\nhost: {peer.authority}\r\n"
        if proxy.authorization is not None:
            asked += f"proxy-authorization: {proxy.authorization}\r\n"
        self._transport.write(f"{asked}\r\n".encode())
        answer = _ANSWERED.match(await self._answer)
        if answer is None:
            return "the proxy did not answer in HTTP"
        status = answer[1].decode()
        return None if status.startswith("2") else f"the proxy answered HTTP {status}"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection that was opened."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Read the proxy's answer up to its empty line: behind it the peer speaks, and not before we do."""
        self._head += data
        if not self._answer.done() and (b"\r\n\r\n" in self._head or len(self._head) > HEAD_LIMIT):
            self._answer.set_result(self._head)

    def connection_lost(self, exc: Exception | None) -> None:
        """Learn that there will be no answer."""
        if not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError())


def _reason(error: Exception) -> str:
    match error:
        case ConnectionRefusedError():
            return "refused"
        case socket.gaierror():
            return "unknown host"
        case ssl.SSLError():
            return "no TLS"
        case ConnectionError():
            return "reset"
        case OSError() if "unreachable" in str(error).lower():
            return "no route"
        case _:
            return "failed"
