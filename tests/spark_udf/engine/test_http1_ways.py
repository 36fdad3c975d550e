"""The ways to a peer: TLS that ends or begins badly, and proxies that do not do what they are asked."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from raw_peer import Peer, Play, Visit, meeting, peer_playing, played
from self_signed import certificate

from inferlake.worker import transport as transport_module
from inferlake.worker.calls import Break, HttpReply, TransportFailed
from inferlake.worker.http1 import HEAD_LIMIT
from inferlake.worker.transport import Http1Transport, TransportSettings

OK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
ANSWERED: Final = HttpReply(200, b"ok")
UNTIL_THE_END: Final = b"HTTP/1.1 200 OK\r\n\r\nok"
NO_TLS: Final = (Break.CONNECT, "No connection to the endpoint (no TLS).")
TOO_SLOW: Final = (Break.CONNECT, "No connection within connect.timeout.ms.")

Handler: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the proxies of the machine that runs the tests."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        for form in (name.upper(), name):
            monkeypatch.delenv(form, raising=False)


async def outcome(transport: Http1Transport, url: str, timeout_s: float = 10.0) -> HttpReply | tuple[Break, str]:
    """Return the answer, or how there is none."""
    try:
        return await transport.post(url, {}, b"{}", timeout_s)
    except TransportFailed as failed:
        return failed.kind, failed.message


async def answering(visit: Visit) -> None:
    """Answer every request with OK."""
    while await visit.request() is not None:
        await visit.send(OK)


class Secured:
    """A server that speaks TLS; it counts the connections that came to speak with it."""

    def __init__(self, handler: Handler) -> None:
        self.connections = 0
        self.port = 0
        self._handler = handler

    @property
    def url(self) -> str:
        """Where it is called."""
        return f"https://127.0.0.1:{self.port}/v1"

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        try:
            await self._handler(reader, writer)
        finally:
            writer.close()


@asynccontextmanager
async def secured(handler: Handler, context: ssl.SSLContext) -> AsyncIterator[Secured]:
    """Give a server with TLS."""
    server = Secured(handler)
    listening = await asyncio.start_server(server, "127.0.0.1", 0, ssl=context)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()


async def polite(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every request with OK."""
    while (await reader.read(1 << 16)).endswith(b"{}"):
        writer.write(OK)


def ending(*, properly: bool) -> Handler:
    """Answer without a length, and end with or without TLS's own word for it."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 16)
        writer.write(UNTIL_THE_END)
        await asyncio.sleep(0.02)
        if not properly:
            writer.transport.abort()

    return handler


# TLS.


@pytest.mark.parametrize("properly", [True, False])
def test_only_a_proper_end_of_tls_ends_an_answer_without_a_length(tmp_path: Path, *, properly: bool) -> None:
    context, pem = certificate(tmp_path)

    async def scenario() -> None:
        transport = Http1Transport(TransportSettings(tls_ca=pem))
        async with secured(ending(properly=properly), context) as server:
            lost = (Break.BODY, "The connection was lost in the middle of the answer.")
            assert await outcome(transport, server.url) == (ANSWERED if properly else lost)
            await transport.close()

    played(scenario())


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_connection_with_tls_is_used_again(tmp_path: Path, newest: ssl.TLSVersion) -> None:
    context, pem = certificate(tmp_path)
    context.maximum_version = newest

    async def scenario() -> None:
        transport = Http1Transport(TransportSettings(tls_ca=pem))
        async with secured(polite, context) as server:
            for _ in range(20):
                assert await outcome(transport, server.url) == ANSWERED
            assert server.connections == 1
            await transport.close()

    played(scenario())


def test_whom_one_setting_trusts_says_nothing_about_another(tmp_path: Path) -> None:
    context, pem = certificate(tmp_path)
    (tmp_path / "other").mkdir()
    _, other = certificate(tmp_path / "other")

    async def scenario() -> None:
        trusting, wary = (Http1Transport(TransportSettings(tls_ca=ca)) for ca in (pem, other))
        untrusted = (Break.FORBIDDEN, "The endpoint's certificate is not trusted: see tls.ca.")
        async with secured(polite, context) as server:
            for _ in range(3):
                assert await outcome(trusting, server.url) == ANSWERED
                assert await outcome(wary, server.url) == untrusted
            assert server.connections == 1
            await trusting.close()
            await wary.close()

    played(scenario())


def test_a_peer_that_speaks_no_tls_is_no_connection() -> None:
    async def play(visit: Visit) -> None:
        await visit.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def scenario() -> None:
        async with meeting(play) as (peer, transport):
            assert await outcome(transport, peer.url.replace("http:", "https:")) == NO_TLS

    played(scenario())


def test_a_handshake_that_hangs_has_the_time_for_connecting() -> None:
    async def play(visit: Visit) -> None:
        await visit.gone()

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        async with meeting(play, TransportSettings(connect_timeout_ms=300)) as (peer, transport):
            url = peer.url.replace("http:", "https:")
            began = loop.time()
            assert await outcome(transport, url) == TOO_SLOW
            assert 0.299 <= loop.time() - began < 3.0
            await peer.left()
            assert await outcome(transport, url, timeout_s=0.05) == TOO_SLOW
            call = asyncio.create_task(outcome(transport, url))
            await asyncio.sleep(0.05)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await peer.left()
            assert peer.visits == 3

    played(scenario())


def test_an_address_that_does_not_answer_is_not_the_first_one_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def names(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [(2, 1, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    async def hangs(visit: Visit) -> None:
        await visit.gone()

    async def no_tls(visit: Visit) -> None:
        await visit.send(b"hello")

    async def scenario() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", names)
        async with (
            meeting(no_tls, TransportSettings(connect_timeout_ms=300)) as (second, transport),
            peer_playing(hangs, "127.0.0.2", second.port) as first,
        ):
            url = f"https://model.invalid:{second.port}/v1"
            assert await outcome(transport, url) == TOO_SLOW
            assert (first.visits, second.visits) == (1, 0)
            await outcome(transport, url)
            assert (first.visits, second.visits) == (2, 1)

    played(scenario())


def test_authorities_of_the_environment_that_cannot_be_read_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/absent/secret.pem")

    async def scenario() -> None:
        async with meeting(answering) as (peer, transport):
            assert await outcome(transport, peer.url.replace("http:", "https:")) == (
                Break.FORBIDDEN,
                "SSL_CERT_FILE or SSL_CERT_DIR names no certificates that this worker can read.",
            )
            assert peer.visits <= 1

    played(scenario())


# Proxies.

CREDENTIALS: Final = "us%65r:p%40ss-word"
AUTHORIZATION: Final = f"Basic {b64encode(b'user:p@ss-word').decode()}"


def test_plain_http_through_a_proxy_has_the_whole_url_and_the_proxys_password(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with meeting(answering) as (proxy, transport):
            monkeypatch.setenv("http_proxy", f"http://{CREDENTIALS}@127.0.0.1:{proxy.port}")
            for _ in range(3):
                assert await outcome(transport, "http://model.invalid:8000/v1?a=b") == ANSWERED
            assert (proxy.visits, len(set(proxy.requests))) == (1, 1)
            assert (
                proxy.requests[0]
                == (
                    "POST http://model.invalid:8000/v1?a=b HTTP/1.1\r\nhost: model.invalid:8000\r\n"
                    f"proxy-authorization: {AUTHORIZATION}\r\n"
                    "user-agent: inferlake\r\n"
                    "content-length: 2\r\n\r\n{}"
                ).encode()
            )
            (route,) = transport._routes.values()
            assert "p@ss-word" not in repr(route._proxy) and "Basic" not in repr(route._proxy)

    played(scenario())


def connected(*answers: bytes, close: bool = False) -> Play:
    """Read a CONNECT and answer it with these pieces."""

    async def play(visit: Visit) -> None:
        await visit.request()
        await visit.send(*answers)
        if not close:
            await visit.gone()

    return play


def refused(reason: str) -> tuple[Break, str]:
    """Return the failure of a tunnel."""
    return Break.CONNECT, f"No connection to the endpoint ({reason})."


NO_HTTP: Final = refused("the proxy did not answer in HTTP")
TUNNELS: Final[dict[str, tuple[Play, tuple[Break, str]]]] = {
    "407": (
        connected(b"HTTP/1.1 407 Who?\r\nproxy-authenticate: Basic\r\n\r\n"),
        refused("the proxy answered HTTP 407"),
    ),
    "502 in HTTP/1.0": (connected(b"HTTP/1.0 502 Bad\r\n\r\n"), refused("the proxy answered HTTP 502")),
    "no reason": (connected(b"HTTP/1.1 503\r\n\r\n"), refused("the proxy answered HTTP 503")),
    "in pieces": (
        connected(*(bytes([byte]) for byte in b"HTTP/1.1 403 No\r\n\r\n")),
        refused("the proxy answered HTTP 403"),
    ),
    "garbage": (connected(b"SSH-2.0-x\r\n\r\n"), NO_HTTP),
    "a head without end": (connected(b"HTTP/1.1 200 OK\r\nx-a: " + b"b" * HEAD_LIMIT), NO_HTTP),
    "an end": (connected(close=True), refused("reset")),
    "an end within the head": (connected(b"HTTP/1.1 200 OK\r\n", close=True), refused("reset")),
    "nothing": (connected(), TOO_SLOW),
    "200, and no TLS behind it": (connected(b"HTTP/1.1 200 OK\r\n\r\nhello, hello"), TOO_SLOW),
    "200, and an end": (connected(b"HTTP/1.1 200 OK\r\n\r\n", close=True), refused("reset")),
}


@pytest.mark.parametrize("case", TUNNELS)
def test_a_proxy_that_makes_no_tunnel_is_no_connection(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    play, made = TUNNELS[case]

    async def scenario() -> None:
        async with meeting(play, TransportSettings(connect_timeout_ms=300)) as (proxy, transport):
            monkeypatch.setenv("https_proxy", f"http://{CREDENTIALS}@127.0.0.1:{proxy.port}")
            assert await outcome(transport, "https://model.invalid/v1") == made
            assert proxy.requests == [
                b"CONNECT model.invalid:443 HTTP/1.1\r\nhost: model.invalid:443\r\n"
                + f"proxy-authorization: {AUTHORIZATION}\r\n\r\n".encode()
            ]
            await proxy.left()

    played(scenario())


async def relaying(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Make the tunnel that is asked for."""
    place = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
    host, _, port = place.partition(":")
    there_reader, there_writer = await asyncio.open_connection(host, int(port))
    writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
    await asyncio.gather(_copy(reader, there_writer), _copy(there_reader, writer))


async def _copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    while data := await source.read(1 << 16):
        to.write(data)
    to.close()


def test_a_proxy_may_itself_be_reached_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, pem = certificate(tmp_path)

    async def scenario() -> None:
        transport = Http1Transport(TransportSettings(tls_ca=pem))
        async with secured(polite, context) as server, secured(relaying, context) as proxy:
            monkeypatch.setenv("https_proxy", f"https://127.0.0.1:{proxy.port}")
            for _ in range(5):
                assert await outcome(transport, server.url) == ANSWERED
            assert (server.connections, proxy.connections) == (1, 1)
            await transport.close()

    played(scenario())


UNUSABLE: Final = {
    "socks": "socks5://user:p@ss-word@127.0.0.1:1",
    "no host": "http://user:p@ss-word@",
    "a password with a slash": "http://user:p/ss-word@127.0.0.1:1",
    "a port that is none": "http://127.0.0.1:p@ss-word:secret",
    "a port too large": "http://user:word@127.0.0.1:70000",
    "brackets": "http://[p@ss-word",
    "no text": "http://us\udce9r:word@127.0.0.1:1",
}


@pytest.mark.parametrize("unusable", UNUSABLE)
def test_a_proxy_that_cannot_be_used_is_said_without_its_password(
    unusable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with meeting(answering) as (peer, transport):
            monkeypatch.setenv("http_proxy", UNUSABLE[unusable])
            result = await outcome(transport, peer.url)
            assert result == (
                Break.FORBIDDEN,
                "The proxy of the environment is neither an http nor an https address.",
            )
            assert peer.visits == 0
            monkeypatch.setenv("no_proxy", "127.0.0.1")
            assert await outcome(transport, peer.url) == ANSWERED

    played(scenario())


def test_the_environments_proxy_is_read_whenever_the_name_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with meeting(answering) as (first, transport), peer_playing(answering) as second:
            try:
                monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{first.port}")
                await _ask(transport, first, 1)
                monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{second.port}")
                await _ask(transport, first, 2)
                monkeypatch.setattr(transport_module, "_RESOLVED_FOR_S", 0.0)
                (route,) = transport._routes.values()
                route.expires = 0.0
                await _ask(transport, second, 1)
                assert first.open == 0  # its connections are not kept for later
            finally:
                await transport.close()

    played(scenario())


async def _ask(transport: Http1Transport, proxy: Peer, requests: int) -> None:
    assert await outcome(transport, "http://model.invalid/v1") == ANSWERED
    await asyncio.sleep(0.02)
    assert len(proxy.requests) == requests
