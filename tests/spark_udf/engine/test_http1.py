"""HTTP/1.1 with peers that misbehave: which answer a request gets, what counts as lost, and what stays open."""

from __future__ import annotations

import asyncio
import gc
import random
import re
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import pytest
from raw_peer import Peer, Play, Visit, meeting, played

from inferlake.worker import transport as transport_module
from inferlake.worker.calls import Break, HttpReply, TransportFailed
from inferlake.worker.dialing import dial
from inferlake.worker.http1 import ERROR_LIMIT, HEAD_LIMIT, Connection
from inferlake.worker.transport import Http1Transport, TransportSettings

OK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
ANSWERED: Final = HttpReply(200, b"ok")
CHUNKED: Final = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
UNTIL_THE_END: Final = b"HTTP/1.1 200 OK\r\n\r\nok"
DATE: Final = "Mon, 30 Nov 2026 12:00:00 GMT"
NOT_HTTP: Final = "The endpoint did not answer in HTTP."
LOST_BEFORE: Final = "The connection was lost before an answer came."
LOST_IN: Final = "The connection was lost in the middle of the answer."
NO_ANSWER: Final = "The endpoint gave no answer in time."
INCOMPLETE: Final = "The endpoint gave an incomplete answer in time."

Cut = Callable[[bytes], list[bytes]]


def whole(data: bytes) -> list[bytes]:
    """Cut nothing."""
    return [data]


def bytewise(data: bytes) -> list[bytes]:
    """Cut into single bytes."""
    return [data[at : at + 1] for at in range(len(data))]


def anyhow(data: bytes, chance: random.Random) -> list[bytes]:
    """Cut into two to four pieces at places that chance chooses."""
    places = sorted({0, len(data), *(chance.randrange(1, len(data)) for _ in range(3))})
    return [data[start:end] for start, end in pairwise(places)]


async def outcome(
    transport: Http1Transport, url: str, body: bytes = b"{}", timeout_s: float = 10.0
) -> HttpReply | tuple[Break, str]:
    """Return the answer, or how there is none."""
    try:
        return await transport.post(url, {}, body, timeout_s)
    except TransportFailed as failed:
        return failed.kind, failed.message


async def answering(visit: Visit) -> None:
    """Answer every request with OK."""
    while await visit.request() is not None:
        await visit.send(OK)


def once(*pieces: bytes, close: bool = False, reset: bool = False) -> Play:
    """Answer the first of all requests with these pieces, every other one with OK."""

    async def play(visit: Visit) -> None:
        if visit.number == 0:
            await visit.request()
            await visit.send(*pieces)
            if reset:
                visit.reset()
            if reset or close:
                return
        await answering(visit)

    return play


@dataclass(frozen=True, slots=True)
class Case:
    """An answer, what is made of it, and whether its connection carries another request."""

    sent: bytes
    made: HttpReply | tuple[Break, str]
    kept: bool = True
    end: bool = False  # the peer closes behind it


def head(status: str, *lines: str, version: str = "1.1") -> bytes:
    """Return an answer's head."""
    return "".join(f"{line}\r\n" for line in (f"HTTP/{version} {status}", *lines, "")).encode()


LINKS: Final = head("103 Early Hints", "link: </a>; rel=preload", "content-type: text/html", "x-request-id: wrong")
FULL: Final = HttpReply(429, b"no", "text/plain", "7", "7000", "r-1", DATE)
FULL_LINES: Final = ("Content-Type: text/plain", "Retry-After: 7", "retry-after-ms: 7000", "X-Request-ID: r-1")
BROKEN_HTTP: Final = (Break.BODY, NOT_HTTP)

CASES: Final[dict[str, Case]] = {
    "plain": Case(OK, ANSWERED),
    "every header that is read": Case(head("429 No", *FULL_LINES, f"Date: {DATE}", "Content-Length: 2") + b"no", FULL),
    "of two headers the first": Case(
        head("200 OK", "content-type: a/b", "content-type: c/d", "content-length: 2") + b"ok",
        HttpReply(200, b"ok", "a/b"),
    ),
    "a header that is no ASCII": Case(
        head("200 OK", "content-length: 2", "x-request-id: ü") + b"ok", HttpReply(200, b"ok")
    ),
    "no reason": Case(b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok", ANSWERED),
    "an empty reason": Case(b"HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok", ANSWERED),
    "no body": Case(head("200 OK", "content-length: 0"), HttpReply(200, b"")),
    "204": Case(head("204 No Content", f"date: {DATE}"), HttpReply(204, b"", date=DATE)),
    "304": Case(head("304 Not Modified", f"date: {DATE}"), HttpReply(304, b"", date=DATE)),
    "304 with the length of what it does not send": Case(
        head("304 Not Modified", f"date: {DATE}", "content-length: 5"), HttpReply(304, b"", date=DATE)
    ),
    "100": Case(head("100 Continue") + OK, ANSWERED),
    "100 with headers": Case(head("100 Continue", "x-request-id: wrong", "content-length: 7") + OK, ANSWERED),
    "103 three times": Case(LINKS * 3 + OK, ANSWERED),
    "102 and 103": Case(head("102 Processing") + LINKS + OK, ANSWERED),
    "101": Case(head("101 Switching Protocols", "upgrade: h2c", "connection: upgrade") + OK, BROKEN_HTTP, kept=False),
    "an Upgrade that is offered": Case(
        head("200 OK", "upgrade: h2", "connection: upgrade", "content-length: 2") + b"ok", ANSWERED
    ),
    "1.0": Case(head("200 OK", "content-length: 2", version="1.0") + b"ok", ANSWERED, kept=False),
    "1.0 kept alive": Case(
        head("200 OK", "content-length: 2", "connection: keep-alive", version="1.0") + b"ok", ANSWERED
    ),
    "1.0 until the end": Case(head("200 OK", version="1.0") + b"ok", ANSWERED, kept=False, end=True),
    "connection: close": Case(head("200 OK", "content-length: 2", "connection: close") + b"ok", ANSWERED, kept=False),
    "closed without a word": Case(OK, ANSWERED, kept=False, end=True),
    "until the end": Case(UNTIL_THE_END, ANSWERED, kept=False, end=True),
    "nothing until the end": Case(head("200 OK"), HttpReply(200, b""), kept=False, end=True),
    "an encoding that is not chunked": Case(
        head("200 OK", "transfer-encoding: identity") + b"ok", ANSWERED, kept=False, end=True
    ),
    "chunked": Case(CHUNKED + b"1\r\no\r\n1\r\nk\r\n0\r\n\r\n", ANSWERED),
    "chunked with extensions": Case(CHUNKED + b'1;a=b\r\no\r\n1;c="d"\r\nk\r\n0;e\r\n\r\n', ANSWERED),
    "chunked with trailers": Case(CHUNKED + b"2\r\nok\r\n0\r\nx-a: b\r\nx-c: d\r\n\r\n", ANSWERED),
    "chunked, empty": Case(CHUNKED + b"0\r\n\r\n", HttpReply(200, b"")),
    "chunked, no size": Case(CHUNKED + b"zz\r\nok\r\n", BROKEN_HTTP, kept=False),
    "chunked, an enormous size": Case(CHUNKED + b"fffffffffffffffff\r\nok\r\n", BROKEN_HTTP, kept=False),
    "chunked and a length": Case(
        head("200 OK", "content-length: 2", "transfer-encoding: chunked") + b"2\r\nok\r\n0\r\n\r\n",
        BROKEN_HTTP,
        kept=False,
    ),
    "two lengths": Case(head("200 OK", "content-length: 2", "content-length: 3") + b"ok", BROKEN_HTTP, kept=False),
    "a negative length": Case(head("200 OK", "content-length: -2") + b"ok", BROKEN_HTTP, kept=False),
    "a length that is none": Case(head("200 OK", "content-length: two") + b"ok", BROKEN_HTTP, kept=False),
    "a length beyond all numbers": Case(head("200 OK", f"content-length: {10**30}") + b"ok", BROKEN_HTTP, kept=False),
    "too short": Case(head("200 OK", "content-length: 9") + b"ok", (Break.BODY, LOST_IN), kept=False, end=True),
    "a space in a header's name": Case(head("200 OK", "x a : b", "content-length: 2") + b"ok", BROKEN_HTTP, kept=False),
    "another protocol": Case(b"SSH-2.0-OpenSSH_9.6\r\n", (Break.RESET, NOT_HTTP), kept=False),
    "HTTP/2": Case(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00", (Break.RESET, NOT_HTTP), kept=False),
    "no status": Case(head("OK OK") + b"ok", BROKEN_HTTP, kept=False),
    "nothing": Case(b"", (Break.RESET, LOST_BEFORE), kept=False, end=True),
}


@pytest.mark.parametrize("cut", [whole, bytewise])
@pytest.mark.parametrize("name", CASES)
def test_what_is_made_of_an_answer(name: str, cut: Cut) -> None:
    case = CASES[name]

    async def scenario() -> None:
        async with meeting(once(*cut(case.sent), close=case.end)) as (peer, transport):
            assert await outcome(transport, peer.url) == case.made
            await asyncio.sleep(0.002)  # a peer's end has arrived
            assert await outcome(transport, peer.url) == ANSWERED
            assert (len(peer.requests), peer.visits) == (2, 1 if case.kept else 2)

    played(scenario())


def test_an_answer_without_a_date_has_the_time_of_its_arrival() -> None:
    async def scenario() -> None:
        async with meeting(once(head("503 No", "content-length: 0"))) as (peer, transport):
            reply = await transport.post(peer.url, {}, b"{}", 10.0)
            assert reply.status == 503
            assert reply.date is not None
            assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", reply.date)

    played(scenario())


# Bytes behind an answer: it is whole and was paid, so it counts; what follows belongs to nobody.
SURPLUS: Final = {
    "another answer": OK,
    "half of another one": OK[:20],
    "one byte of another one": b"H",
    "one with a body that never ends": head("200 OK", "content-length: 99") + b"x",
    "an interim one": LINKS,
    "garbage": b"garbage",
    "a zero": b"\x00",
}


@pytest.mark.parametrize("surplus", SURPLUS)
@pytest.mark.parametrize("close", ["", "connection: close"])
def test_bytes_behind_an_answer_are_nobodys_and_end_its_connection(surplus: str, close: str) -> None:
    lines = ["content-length: 2", *([close] if close else [])]

    async def scenario() -> None:
        first = head("200 OK", *lines) + b"in"
        async with meeting(once(first + SURPLUS[surplus])) as (peer, transport):
            assert await outcome(transport, peer.url) == HttpReply(200, b"in")
            assert await outcome(transport, peer.url) == ANSWERED
            assert (len(peer.requests), peer.visits) == (2, 2)

    played(scenario())


@pytest.mark.parametrize("surplus", SURPLUS)
def test_bytes_on_an_idle_connection_end_it(surplus: str) -> None:
    async def play(visit: Visit) -> None:
        await visit.request()
        await visit.send(OK)
        if visit.number == 0:
            await asyncio.sleep(0.02)
            await visit.send(SURPLUS[surplus])
            await visit.gone()
        await visit.gone()

    async def scenario() -> None:
        async with meeting(play) as (peer, transport):
            assert await outcome(transport, peer.url) == ANSWERED
            await peer.left()
            assert await outcome(transport, peer.url) == ANSWERED
            assert (len(peer.requests), peer.visits) == (2, 2)

    played(scenario())


def test_a_thousand_answers_reach_their_own_requests_however_they_are_cut_and_doubled() -> None:
    chance = random.Random(20261130)

    async def play(visit: Visit) -> None:
        while (request := await visit.request()) is not None:
            mine = request.rpartition(b"\r\n\r\n")[2]
            answer = head("200 OK", f"content-length: {len(mine)}") + mine
            if chance.random() < 0.2:
                answer = head("100 Continue") + answer
            pieces = anyhow(answer, chance)
            if chance.random() < 0.1:  # twice, or the beginning of somebody else's
                pieces[-1] += answer[: chance.randrange(1, len(answer) + 1)]
            await visit.send(*pieces)

    async def scenario() -> None:
        async with meeting(play) as (peer, transport):

            async def calls(worker: int) -> None:
                for number in range(125):
                    body = f"{worker}-{number}".encode()
                    assert await outcome(transport, peer.url, body) == HttpReply(200, body)

            await asyncio.gather(*(calls(worker) for worker in range(8)))
            assert len(peer.requests) == len(set(peer.requests)) == 1_000
            assert 8 < peer.visits < 250

    played(scenario())


WHOLE: Final = head("200 OK", "content-type: a/b", "content-length: 5") + b"hello"


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize(
    "answer", [WHOLE, LINKS + OK, CHUNKED + b"2\r\nok\r\n0\r\n\r\n"], ids=["sized", "103", "chunked"]
)
def test_an_answer_that_is_cut_at_any_byte_is_lost_and_said_to_have_begun(answer: bytes, *, reset: bool) -> None:
    async def play(visit: Visit) -> None:
        await visit.request()
        await visit.send(answer[: visit.number])
        if reset:
            await asyncio.sleep(0.002)  # a reset drops what has not been read yet
            visit.reset()

    async def scenario() -> None:
        async with meeting(play) as (peer, transport):
            assert await outcome(transport, peer.url) == (Break.RESET, LOST_BEFORE)
            for _ in range(1, len(answer)):
                assert await outcome(transport, peer.url) == (Break.BODY, LOST_IN)
            assert peer.visits == len(peer.requests) == len(answer)
            assert isinstance(await outcome(transport, peer.url), HttpReply)

    played(scenario())


def test_a_reset_is_no_end_of_an_answer_without_a_length() -> None:
    async def play(visit: Visit) -> None:
        await visit.request()
        await visit.send(UNTIL_THE_END)
        await asyncio.sleep(0.01)
        visit.reset()

    async def scenario() -> None:
        async with meeting(play) as (peer, transport):
            assert await outcome(transport, peer.url) == (Break.BODY, LOST_IN)

    played(scenario())


# Connections: how many, how long, and in whose hands.


def test_calls_one_after_another_share_a_connection_and_calls_at_once_have_one_each() -> None:
    arrived = asyncio.Event()

    async def play(visit: Visit) -> None:
        while (request := await visit.request()) is not None:
            if request.endswith(b"together"):
                if len(peers[0].requests) == 20 + 50:
                    arrived.set()
                await arrived.wait()
            await visit.send(OK)

    peers: list[Peer] = []

    async def scenario() -> None:
        async with meeting(play) as (peer, transport):
            peers.append(peer)
            for _ in range(20):
                assert await outcome(transport, peer.url) == ANSWERED
            assert peer.visits == 1
            results = await asyncio.gather(*(outcome(transport, peer.url, b"together") for _ in range(50)))
            assert results == [ANSWERED] * 50
            assert (peer.visits, peer.open) == (50, 50)
            for _ in range(20):
                assert await outcome(transport, peer.url) == ANSWERED
            assert (peer.visits, len(peer.requests)) == (50, 90)

    played(scenario())


@pytest.mark.parametrize("again", [True, False], ids=["at the next call", "and no call comes"])
def test_connections_that_nobody_has_used_for_long_are_closed(monkeypatch: pytest.MonkeyPatch, *, again: bool) -> None:
    monkeypatch.setattr(transport_module, "_IDLE_S", 0.1)

    async def scenario() -> None:
        async with meeting(answering) as (peer, transport):
            await asyncio.gather(*(outcome(transport, peer.url) for _ in range(5)))
            assert (peer.visits, peer.open) == (5, 5)
            if again:
                time.sleep(0.15)  # noqa: ASYNC251 - the loop has no chance to look by itself
                assert await outcome(transport, peer.url) == ANSWERED
                assert peer.visits == 6
            await peer.left()
            assert not transport._opened

    played(scenario())


def test_a_name_that_is_looked_up_again_and_has_not_moved_costs_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "_RESOLVED_FOR_S", 0.0)
    orders = [("127.0.0.1", "127.0.0.3"), ("127.0.0.3", "127.0.0.1")]

    async def names(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        orders.append(orders.pop(0))
        return [(2, 1, 6, "", (address, port)) for address in orders[0]]

    async def scenario() -> None:
        async with meeting(answering) as (peer, transport):
            monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", names)
            for _ in range(5):
                await asyncio.sleep(0.002)
                assert await outcome(transport, f"http://model.invalid:{peer.port}/") == ANSWERED
            assert (peer.visits, len(peer.requests)) == (1, 5)

    played(scenario())


def test_a_peer_that_closes_while_the_next_request_is_written_has_it_once_at_most() -> None:
    async def play(visit: Visit) -> None:
        await visit.request()
        await visit.send(OK)
        if visit.number == 0:
            await visit.request()  # and closes instead of an answer
            return
        await answering(visit)

    async def scenario() -> None:
        async with meeting(play) as (peer, transport):
            assert await outcome(transport, peer.url) == ANSWERED
            assert await outcome(transport, peer.url) == (Break.RESET, LOST_BEFORE)
            assert (len(peer.requests), peer.visits) == (2, 1)
            assert await outcome(transport, peer.url) == ANSWERED
            assert (len(peer.requests), peer.visits) == (3, 2)

    played(scenario())


def test_a_peer_that_resets_every_new_connection_gets_no_request() -> None:
    async def play(visit: Visit) -> None:
        visit.reset()

    async def scenario() -> None:
        async with meeting(play) as (peer, transport):
            for _ in range(20):
                result = await outcome(transport, peer.url)
                assert not isinstance(result, HttpReply)
                assert result[0] in (Break.CONNECT, Break.RESET)  # it may be noticed before the writing or after it
            assert (len(peer.requests), peer.visits) == (0, 20)
            assert not transport._opened

    played(scenario())


def test_a_connection_that_is_just_being_closed_is_not_used() -> None:
    async def scenario() -> None:
        async with meeting(answering) as (peer, transport):
            assert await outcome(transport, peer.url) == ANSWERED
            (connection,) = transport._opened
            connection.data_received(b"unasked")  # and its loss is reported only when the loop comes round
            assert await outcome(transport, peer.url) == ANSWERED
            assert (len(peer.requests), peer.visits) == (2, 2)

    played(scenario())


def test_nothing_is_sent_over_a_new_connection_that_is_lost_or_late_already(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = asyncio.Event()

    async def play(visit: Visit) -> None:
        if visit.number == 0:
            visit.reset()
            lost.set()
        await answering(visit)

    async def slow_dial(*way: Any) -> Connection:
        connection = await dial(*way)
        await lost.wait()
        await asyncio.sleep(0.02)
        time.sleep(0.2)  # noqa: ASYNC251 - a loop that is busy elsewhere
        return connection

    async def scenario() -> None:
        monkeypatch.setattr(transport_module, "dial", slow_dial)
        async with meeting(play) as (peer, transport):
            closed = (Break.CONNECT, "No connection to the endpoint (closed).")
            assert await outcome(transport, peer.url) == closed
            assert not transport._opened
            late = (Break.CONNECT, "No connection within the time of the call.")
            assert await outcome(transport, peer.url, timeout_s=0.2) == late
            await peer.left()
            assert (len(peer.requests), peer.visits) == (0, 2)

    played(scenario())


def test_an_answer_that_comes_before_the_request_was_read_counts_and_ends_its_connection() -> None:
    async def play(visit: Visit) -> None:
        if visit.number == 0:
            await visit.send(head("413 Too Large", "content-length: 2", f"date: {DATE}") + b"no")
            await visit.gone()
        await answering(visit)

    async def scenario() -> None:
        async with meeting(play) as (peer, transport):
            assert await outcome(transport, peer.url, bytes(32 << 20)) == HttpReply(413, b"no", date=DATE)
            assert await outcome(transport, peer.url) == ANSWERED
            assert peer.visits == 2

    played(scenario())


# Ends that an answer does not have.


async def without_end(visit: Visit, start: bytes, again: bytes) -> None:
    """Send something again and again until nobody takes it."""
    await visit.request()
    await visit.send(start)
    while not visit.closed:
        await visit.send(again)


TOO_LARGE_HEAD: Final = (Break.BODY, f"The headers of the answer are larger than {HEAD_LIMIT >> 10} KiB.")
ENDLESS: Final[dict[str, tuple[bytes, bytes, tuple[Break, str]]]] = {
    "headers": (b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n" * 1_000, TOO_LARGE_HEAD),
    "a header": (b"HTTP/1.1 200 OK\r\nx-a: ", b"b" * 10_000, TOO_LARGE_HEAD),
    "a name": (b"HTTP/1.1 200 OK\r\n", b"b" * 10_000, TOO_LARGE_HEAD),
    "a reason": (b"HTTP/1.1 200 ", b"b" * 10_000, TOO_LARGE_HEAD),
    "interim answers": (b"", LINKS * 100, TOO_LARGE_HEAD),
    "the body of an interim answer": (head("199 Wait", "content-length: 999999999"), b"x" * 10_000, TOO_LARGE_HEAD),
    "empty lines": (b"", b"\r\n" * 5_000, TOO_LARGE_HEAD),
    "an extension of a chunk": (CHUNKED + b"2;", b"b" * 10_000, TOO_LARGE_HEAD),
    "trailers": (CHUNKED + b"2\r\nok\r\n0\r\n", b"x-a: b\r\n" * 1_000, TOO_LARGE_HEAD),
    "a trailer": (CHUNKED + b"2\r\nok\r\n0\r\nx-a: ", b"b" * 10_000, TOO_LARGE_HEAD),
    "a body": (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 60_000, (Break.TOO_LARGE, "The answer is larger than 2 MiB.")),
    "chunks": (CHUNKED, b"1\r\nx\r\n" * 10_000, (Break.TOO_LARGE, "The answer is larger than 2 MiB.")),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_what_never_ends_is_read_to_a_limit_and_its_connection_closed(what: str) -> None:
    start, again, made = ENDLESS[what]

    async def scenario() -> None:
        async with meeting(lambda visit: without_end(visit, start, again), TransportSettings(body_limit=2 << 20)) as (
            peer,
            transport,
        ):
            assert await outcome(transport, peer.url) == made
            await peer.left()
            assert (len(peer.requests), peer.visits) == (1, 1)

    played(scenario())


@pytest.mark.parametrize(
    "start", [head("500 No", f"date: {DATE}"), head("500 No", f"date: {DATE}", "content-length: 99999999")]
)
def test_an_error_without_end_is_an_error_with_its_first_part(start: bytes) -> None:
    async def scenario() -> None:
        async with meeting(lambda visit: without_end(visit, start, b"x" * 60_000)) as (peer, transport):
            assert await outcome(transport, peer.url) == HttpReply(500, b"x" * ERROR_LIMIT, date=DATE)
            await peer.left()
            assert peer.visits == 1

    played(scenario())


@pytest.mark.parametrize("size", [ERROR_LIMIT - 1, ERROR_LIMIT, ERROR_LIMIT + 1])
def test_an_error_of_about_the_limit_is_read_exactly(size: int) -> None:
    async def scenario() -> None:
        start = head("500 No", f"date: {DATE}", f"content-length: {size}")
        async with meeting(once(start + b"x" * size)) as (peer, transport):
            assert await outcome(transport, peer.url) == HttpReply(500, b"x" * min(size, ERROR_LIMIT), date=DATE)
            assert await outcome(transport, peer.url) == ANSWERED
            assert peer.visits == (2 if size > ERROR_LIMIT else 1)

    played(scenario())


@pytest.mark.parametrize("size", [4_096, 4_097])
def test_an_answer_of_the_limit_is_read_and_one_byte_more_is_too_large(size: int) -> None:
    async def scenario() -> None:
        play = once(head("200 OK", f"content-length: {size}") + b"x" * size)
        async with meeting(play, TransportSettings(body_limit=4_096)) as (peer, transport):
            if size == 4_096:
                assert await outcome(transport, peer.url) == HttpReply(200, b"x" * size)
                return
            with pytest.raises(TransportFailed) as failed:
                await transport.post(peer.url, {}, b"{}", 10.0)
            assert (failed.value.kind, failed.value.http_status) == (Break.TOO_LARGE, 200)

    played(scenario())


# Time, and callers who do not wait.


async def silent(visit: Visit) -> None:
    """Read and never answer."""
    await visit.gone()


async def deaf(visit: Visit) -> None:
    """Read nothing for as long as the request is under way."""
    await asyncio.sleep(0.4)
    await visit.gone()


async def headless(visit: Visit) -> None:
    """Stop in the middle of a head."""
    await visit.request()
    await visit.send(WHOLE[:30])
    await visit.gone()


async def bodiless(visit: Visit) -> None:
    """Stop in the middle of a body."""
    await visit.request()
    await visit.send(WHOLE[:-2])
    await visit.gone()


async def slow(visit: Visit) -> None:
    """Send a byte every 50 ms."""
    await visit.request()
    for piece in bytewise(WHOLE):
        if not visit.closed:
            await visit.send(piece)
            await asyncio.sleep(0.05)


STATES: Final[dict[str, tuple[Play, int, tuple[Break, str], tuple[Break, str]]]] = {
    "before the answer": (silent, 2, (Break.TIMEOUT, NO_ANSWER), (Break.RESET, LOST_BEFORE)),
    "while it is sent": (deaf, 32 << 20, (Break.TIMEOUT, NO_ANSWER), (Break.RESET, LOST_BEFORE)),
    "in the head": (headless, 2, (Break.TIMEOUT, INCOMPLETE), (Break.BODY, LOST_IN)),
    "in the body": (bodiless, 2, (Break.TIMEOUT, INCOMPLETE), (Break.BODY, LOST_IN)),
    "byte by byte": (slow, 2, (Break.TIMEOUT, INCOMPLETE), (Break.BODY, LOST_IN)),
}


def then_answering(play: Play) -> Play:
    """Play on the first connection, and answer on all others."""

    async def then(visit: Visit) -> None:
        await (play if visit.number == 0 else answering)(visit)

    return then


@pytest.mark.parametrize("state", STATES)
def test_at_the_deadline_a_request_ends_and_its_connection_with_it(state: str) -> None:
    play, size, late, _ = STATES[state]

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        async with meeting(then_answering(play)) as (peer, transport):
            began = loop.time()
            assert await outcome(transport, peer.url, bytes(size), timeout_s=0.3) == late
            assert 0.3 <= loop.time() - began < 3.0
            await peer.left()
            assert await outcome(transport, peer.url) == ANSWERED
            assert peer.visits == 2

    played(scenario())


@pytest.mark.parametrize("state", STATES)
def test_a_cancelled_request_ends_and_its_connection_with_it(state: str) -> None:
    play, size, _, _ = STATES[state]

    async def scenario() -> None:
        async with meeting(then_answering(play)) as (peer, transport):
            call = asyncio.create_task(transport.post(peer.url, {}, bytes(size), 10.0))
            await asyncio.sleep(0.1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await peer.left()
            assert await outcome(transport, peer.url) == ANSWERED
            assert peer.visits == 2

    played(scenario())


@pytest.mark.parametrize("state", STATES)
def test_closing_the_transport_ends_requests_under_way(state: str) -> None:
    play, size, _, closed = STATES[state]

    async def scenario() -> None:
        async with meeting(play) as (peer, transport):
            calls = [asyncio.create_task(outcome(transport, peer.url, bytes(size))) for _ in range(3)]
            await asyncio.sleep(0.1)
            await transport.close()
            assert await asyncio.gather(*calls) == [closed] * 3
            await peer.left()

    played(scenario())


def test_what_was_not_sent_does_not_stay_in_memory() -> None:
    async def scenario() -> None:
        async with meeting(deaf) as (peer, transport):
            tracemalloc.start()
            try:
                before, _ = tracemalloc.get_traced_memory()
                result = await outcome(transport, peer.url, bytes(32 << 20), timeout_s=0.3)
                assert result == (Break.TIMEOUT, NO_ANSWER)
                await peer.left()
                gc.collect()
                after, most = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert most - before > 64 << 20  # the body and the request: it is measured
            assert after - before < 1 << 20

    played(scenario())


def test_a_call_that_is_cancelled_as_its_answer_arrives_leaves_the_connection_to_the_next() -> None:
    # The answer frees the connection, the next call takes it, and only then does the cancelled one wake up.
    async def scenario() -> None:
        async with meeting(answering) as (peer, transport):
            assert await outcome(transport, peer.url) == ANSWERED
            (connection,) = transport._opened
            first = asyncio.create_task(transport.post(peer.url, {}, b"first", 10.0))
            await asyncio.sleep(0)
            second: list[asyncio.Task[HttpReply | tuple[Break, str]]] = []
            freed = connection._on_free

            def free(it: object) -> None:
                freed(connection)
                second.append(asyncio.create_task(outcome(transport, peer.url, b"second")))
                asyncio.get_running_loop().call_soon(first.cancel)

            connection._on_free = free
            with pytest.raises(asyncio.CancelledError):
                await first
            connection._on_free = freed
            assert await asyncio.gather(*second) == [ANSWERED]
            assert (len(peer.requests), peer.visits) == (3, 1)

    played(scenario())


# What is sent.


def test_a_request_is_these_bytes_and_no_others() -> None:
    async def scenario() -> None:
        async with meeting(answering) as (peer, transport):
            headers = {"content-type": "application/json", "x-name": "Zoë 語"}
            await transport.post(f"{peer.url}/chat?a=b&c=%20", headers, b'{"a":1}', 10.0)
            assert peer.requests == [
                f"POST /v1/chat?a=b&c=%20 HTTP/1.1\r\nhost: 127.0.0.1:{peer.port}\r\nuser-agent: inferlake\r\n"
                "content-type: application/json\r\nx-name: Zoë 語\r\ncontent-length: 7\r\n\r\n"
                '{"a":1}'.encode()
            ]

    played(scenario())


def test_a_model_may_call_itself_what_it_likes() -> None:
    async def scenario() -> None:
        async with meeting(answering) as (peer, transport):
            await transport.post(peer.url, {"user-agent": "me"}, b"{}", 10.0)
            assert peer.requests[0].count(b"user-agent") == 1
            assert b"\r\nuser-agent: me\r\n" in peer.requests[0]

    played(scenario())


HEADERS: Final = [
    ("x-a", "secret\r\nx-b: c"), ("x-a", "secret\n"), ("x-a", "secret\r"), ("x-a", "\0secret"), ("x-a", "secret\x7f"),
    ("x-a", "secret\ud800"), ("x-a", "secret\u2028"), ("x-a\r\nsecret", "b"), ("x-a:secret", "b"), ("x secret", "b"),
    ("", "secret"), ("x-sécret", "b"), ("x-a\n", "secret"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), HEADERS)
def test_a_header_that_is_none_is_refused_before_anything_is_sent(name: str, value: str) -> None:
    async def scenario() -> None:
        async with meeting(answering) as (peer, transport):
            for visits in (0, 1):
                with pytest.raises(TransportFailed) as failed:
                    await transport.post(peer.url, {"accept": "a/b", name: value}, b"{}", 10.0)
                assert failed.value.kind is Break.FORBIDDEN
                assert failed.value.message == "The request cannot be built: a header is not valid."
                assert "secret" not in repr(failed.value)
                assert (len(peer.requests), peer.visits) == (visits, visits)
                assert await outcome(transport, peer.url) == ANSWERED  # and no connection was lost by it
                assert peer.visits == 1

                if visits == 0:
                    assert len(peer.requests) == 1

    played(scenario())


URLS: Final = {
    "http://HOST:PORT": ("/", "HOST:PORT"),
    "http://HOST:PORT?a=b": ("/?a=b", "HOST:PORT"),
    "http://HOST:PORT/a b/ü?q=é ü#part": ("/a%20b/%C3%BC?q=%C3%A9%20%C3%BC", "HOST:PORT"),
    "http://HOST:PORT/%2f%zz/[x]": ("/%2f%zz/[x]", "HOST:PORT"),
    "http://user:word@HOST:PORT/a": ("/a", "HOST:PORT"),
    "HTTP://HOST:PORT/A": ("/A", "HOST:PORT"),
    "http://bücher.invalid:PORT/a": ("/a", "xn--bcher-kva.invalid:PORT"),
    "http://MODEL.invalid:PORT/a": ("/a", "model.invalid:PORT"),
}


@pytest.mark.parametrize("url", URLS)
def test_a_url_becomes_a_first_line_and_a_host(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def names(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    async def scenario() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", names)
        async with meeting(answering) as (peer, transport):

            def here(text: str) -> str:
                return text.replace("HOST", "127.0.0.1").replace("PORT", str(peer.port))

            assert await outcome(transport, here(url)) == ANSWERED
            path, host = map(here, URLS[url])
            assert peer.requests[0].startswith(f"POST {path} HTTP/1.1\r\nhost: {host}\r\nuser-agent".encode())
            assert asked == ([host.partition(":")[0]] if "invalid" in host else [])

    played(scenario())


@pytest.mark.parametrize(
    "url", ["", "ftp://a/b", "a/b", "http://", "http://a\nb/", "http://[::1", "http://a:b/", "//a/b"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    async def scenario() -> None:
        transport = Http1Transport(TransportSettings())
        refused = (Break.FORBIDDEN, "The endpoint's address is not a valid http or https URL.")
        assert await outcome(transport, url) == refused

    played(scenario())


# Names.


def test_a_name_service_that_hangs_costs_a_call_its_time_for_connecting_and_others_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    async def names(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        if host == "hangs.invalid":
            await asyncio.sleep(60)
        await asyncio.sleep(0.02)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "getaddrinfo", names)
        async with meeting(answering, TransportSettings(connect_timeout_ms=1_000)) as (peer, transport):
            began = loop.time()
            hanging = [asyncio.create_task(outcome(transport, f"http://hangs.invalid:{peer.port}/")) for _ in range(50)]
            await asyncio.sleep(0)
            fine = [outcome(transport, f"http://fine.invalid:{peer.port}/") for _ in range(50)]
            assert await asyncio.gather(*fine) == [ANSWERED] * 50
            assert not any(call.done() for call in hanging)
            short = await outcome(transport, f"http://hangs.invalid:{peer.port}/", timeout_s=0.05)
            assert short == (Break.CONNECT, "No connection within connect.timeout.ms.")
            assert not any(call.done() for call in hanging)
            assert await asyncio.gather(*hanging) == [(Break.CONNECT, "No connection within connect.timeout.ms.")] * 50
            assert 0.999 <= loop.time() - began < 3.0
            assert asked.count("fine.invalid") == 1

    played(scenario())


def test_closing_the_transport_ends_calls_that_still_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    release = asyncio.Event()

    async def names(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        await release.wait()
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    async def scenario() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", names)
        async with meeting(answering) as (peer, transport):
            call = asyncio.create_task(outcome(transport, f"http://model.invalid:{peer.port}/"))
            await asyncio.sleep(0.01)
            await transport.close()
            release.set()
            assert await call == (Break.CONNECT, "No connection within the time of the call.")
            await peer.left()
            assert peer.requests == []

    played(scenario())
