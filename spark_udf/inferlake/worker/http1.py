"""One kept-alive HTTP/1.1 connection: bytes of a request out, one answer in, one exchange at a time.

Parsing is llhttp's, by way of httptools. What is ours is small and is what an engine that pays for requests has to know
for certain: whether an answer had begun when the connection was lost, how much of a body is read, and when an exchange
is over. An exchange costs 12 microseconds of CPU here and 45 in pyreqwest, the fastest client that there was to
measure: that one runs its sockets on a thread of its own, and each answer then changes hands between two threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from email.utils import formatdate
from typing import Final, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from inferlake.worker.calls import Break, HttpReply, TransportFailed
from inferlake.worker.window import EARLY_S

HEAD_LIMIT: Final = 256 << 10  # bytes without one of the body: a head, or what stands between and behind chunks
ERROR_LIMIT: Final = 1 << 20  # bytes of an error that are looked at; what follows is not even read
_BEGINNING: Final = b"HTTP/1."
_READ: Final = frozenset({b"content-type", b"retry-after", b"retry-after-ms", b"x-request-id", b"date"})


class Connection(asyncio.Protocol):
    """A connection that belongs to one exchange at a time and in between to whoever keeps it.

    ``on_free`` is called with the connection when it can carry the next exchange, ``on_lost`` when it never will.
    """

    def __init__(
        self, body_limit: int, on_free: Callable[[Connection], None], on_lost: Callable[[Connection], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._body_limit = body_limit
        self._on_free = on_free
        self._on_lost = on_lost
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[HttpReply] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self.idle_since = 0.0
        self._forget_answer()

    def _forget_answer(self) -> None:
        self._first = b""  # the first piece: not empty means that an answer has begun
        self._bodiless = 0  # bytes since the last one of the body
        self._status = 0  # once the head is complete
        self._room = 0  # bytes that the body may still have
        self._sized = False  # the head says where the body ends
        self._keep = False
        self._complete = False
        self._headers: dict[bytes, bytes] = {}
        self._body = bytearray()

    @property
    def usable(self) -> bool:
        """Whether a request can be sent: the other end may have closed the connection since it was last used."""
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, timeout_s: float) -> HttpReply:
        """Send a request and return its answer. Raises ``TransportFailed``; the connection is closed then."""
        assert self._transport is not None
        answer: asyncio.Future[HttpReply] = self._loop.create_future()
        self._answer = answer
        self._deadline = self._loop.call_later(timeout_s + EARLY_S, self._late)
        self._transport.write(request)
        try:
            return await answer
        except asyncio.CancelledError:
            if self._answer is answer:  # else the answer was here already, and the connection may be another call's
                self.abort()
            raise

    def abort(self) -> None:
        """Close the connection at once; an exchange that is under way fails."""
        if self._first:
            self._fail(Break.BODY, "The connection was lost in the middle of the answer.")
        else:
            self._fail(Break.RESET, "The connection was lost before an answer came.")

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection that was opened."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's over TLS has the methods and not the class

    def data_received(self, data: bytes) -> None:
        """Read a piece of an answer."""
        if self._answer is None:  # nobody asked: what follows could be taken for the next answer
            self.abort()
            return
        if not self._first:
            self._first = data
        self._bodiless += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            if not self._complete:
                # What begins like an answer may be one that was paid, however badly it goes on.
                kind = Break.BODY if _BEGINNING.startswith(self._first[: len(_BEGINNING)]) else Break.RESET
                self._fail(kind, "The endpoint did not answer in HTTP.")
                return
            self._keep = False  # the answer is whole, and what follows it is not for us
        if self._complete:
            self._finish()
        elif self._room < 0:
            self._overflow()
        elif self._bodiless > HEAD_LIMIT:
            self._fail(Break.BODY, f"The headers of the answer are larger than {HEAD_LIMIT >> 10} KiB.")

    def eof_received(self) -> None:
        """Take the other end's last byte for the end of an answer that has no other; the connection closes."""
        if self._status and not self._sized:
            self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        """Learn that the connection is gone, and with it an answer that is not whole."""
        self._transport = None
        self._on_lost(self)
        self.abort()

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Refuse a second answer to one request."""
        if self._complete:
            self._keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the few headers that the engine reads, of several with one name the first."""
        if self._complete:
            return
        name = name.lower()
        if name in _READ:
            self._headers.setdefault(name, value)
        elif name == b"content-length" or (name == b"transfer-encoding" and b"chunked" in value.lower()):
            self._sized = True

    def on_headers_complete(self) -> None:
        """Learn the status; an interim one (100 to 199) says nothing."""
        status = self._parser.get_status_code()
        if self._complete or status < 200:
            return
        self._status = status
        self._sized = self._sized or status in (204, 304)
        self._keep = self._sized and self._parser.should_keep_alive()
        self._room = self._body_limit if status < 300 else ERROR_LIMIT

    def on_body(self, data: bytes) -> None:
        """Keep a piece of the body, as long as there is room."""
        if self._status and not self._complete:
            self._room -= len(data)
            self._bodiless = 0
            self._body += data

    def on_message_complete(self) -> None:
        """Learn that the answer is whole, unless it was an interim one."""
        if self._status:
            self._complete = True
        else:
            self._headers.clear()
            self._sized = False

    # The ends that an exchange has.

    def _finish(self) -> None:
        if self._room < 0:
            self._overflow()
            return
        reply = _reply(self._status, bytes(self._body), self._headers)
        keep = self._keep
        answer = self._end()
        # An answer may come before the request was sent to its end: the rest of it must not meet the next one.
        if keep and self._transport is not None and not self._transport.get_write_buffer_size():
            self.idle_since = self._loop.time()
            self._on_free(self)
        else:
            self.abort()
        if answer is not None and not answer.done():
            answer.set_result(reply)

    def _overflow(self) -> None:
        """End an answer that is larger than what is read of it: an error is cut off, anything else is none."""
        if self._status < 300:
            message = f"The answer is larger than {self._body_limit >> 20} MiB."
            self._fail(Break.TOO_LARGE, message, self._status)
        else:
            del self._body[ERROR_LIMIT:]
            self._room = 0
            self._keep = False
            self._finish()

    def _late(self) -> None:
        part = "an incomplete answer" if self._first else "no answer"
        self._fail(Break.TIMEOUT, f"The endpoint gave {part} in time.")

    def _fail(self, kind: Break, message: str, status: int | None = None) -> None:
        answer = self._end()
        if self._transport is not None:
            self._transport.abort()
        if answer is not None and not answer.done():
            answer.set_exception(TransportFailed(kind, message, http_status=status))

    def _end(self) -> asyncio.Future[HttpReply] | None:
        """Forget the exchange and return its future."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        answer, self._answer = self._answer, None
        self._forget_answer()
        return answer


def _reply(status: int, body: bytes, headers: dict[bytes, bytes]) -> HttpReply:
    content_type, request_id = _text(headers, b"content-type"), _text(headers, b"x-request-id")
    if status == 200:
        return HttpReply(200, body, content_type, request_id=request_id)
    return HttpReply(
        status,
        body,
        content_type,
        _text(headers, b"retry-after"),
        _text(headers, b"retry-after-ms"),
        request_id,
        _text(headers, b"date") or formatdate(usegmt=True),
    )


def _text(headers: dict[bytes, bytes], name: bytes) -> str | None:
    """Return a header's value; None for one that is no ASCII text, since it says nothing that we read."""
    value = headers.get(name)
    return value.decode() if value is not None and value.isascii() else None
