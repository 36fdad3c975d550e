"""The way from a worker to its registry, for what is asked several times a second.

A registry's address is the operator's own: it is called where it is, past the proxies of the environment and past the
rules for endpoints, which anybody may register.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from functools import cached_property
from typing import Final

import httpx

from inferlake.worker.calls import Break, TransportFailed
from inferlake.worker.dialing import Peer, dial
from inferlake.worker.http1 import Connection
from inferlake.worker.idle import IdleConnections
from inferlake_registry.client import Reply
from inferlake_registry.contract.problems import RegistryUnreachable

_CONNECT_S: Final = 5.0
_ANSWER_S: Final = 60.0  # every call is one short transaction
_IDLE_S: Final = 4.0  # the registry closes connections that are idle for five seconds
_BODY_LIMIT: Final = 64 << 20
_CAUSES: Final = {
    Break.CONNECT: "nothing listens there",
    Break.TIMEOUT: "it did not answer in time",
    Break.FORBIDDEN: "its certificate is not trusted",
}


class RegistryLink:
    """Carries an ``AsyncClient``'s requests over kept-alive connections of the engine's own kind."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle = IdleConnections(_IDLE_S)
        self._open: set[Connection] = set()
        self._context: ssl.SSLContext | None = None

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return what the registry answers. Raises RegistryUnreachable."""
        try:
            request = self._request(path, headers, body)
            connection = self._idle.take() or await self._connect()
            reply = await connection.exchange(request, _ANSWER_S)
        except TransportFailed as failed:
            raise self._unreachable(_CAUSES.get(failed.kind, "the connection broke")) from failed
        return Reply(reply.status, reply.content_type, reply.body)

    async def close(self) -> None:
        """Close the connections."""
        self._idle.close()
        for connection in tuple(self._open):
            connection.abort()

    def _request(self, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        # The values are those of the client: who asks, percent-encoded, and a token that somebody wrote into a file.
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise self._unreachable("the token holds a character that no header may hold")
        url = self._address
        lines = [f"POST {url.raw_path.decode().rstrip('/')}{path} HTTP/1.1", f"host: {url.netloc.decode()}"]
        lines += (f"{name}: {value}" for name, value in headers.items())
        return "\r\n".join((*lines, f"content-length: {len(body)}", "", "")).encode() + body

    async def _connect(self) -> Connection:
        url = self._address
        secure = url.scheme == "https"
        peer = Peer(secure, url.raw_host.decode(), url.port or (443 if secure else 80))
        try:
            async with asyncio.timeout(_CONNECT_S):
                connection = await dial(peer, peer.host, None, self._trusted, self._make)
        except TimeoutError:
            raise self._unreachable("it did not answer in time") from None
        if not connection.usable:
            raise self._unreachable("the connection broke")
        self._open.add(connection)
        return connection

    def _make(self) -> Connection:
        return Connection(_BODY_LIMIT, self._idle.put, self._lost)

    def _lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._idle.forget(connection)

    def _trusted(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = httpx.create_ssl_context(trust_env=False)  # whom the driver's client trusts, too
        return self._context

    @cached_property
    def _address(self) -> httpx.URL:
        try:
            url = httpx.URL(self._url)
        except httpx.InvalidURL:
            raise self._unreachable("this is no http address") from None
        if url.scheme not in ("http", "https") or not url.host:
            raise self._unreachable("this is no http address")
        return url

    def _unreachable(self, cause: str) -> RegistryUnreachable:
        return RegistryUnreachable(self._url, cause)
