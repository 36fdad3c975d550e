"""Test doubles for users and for ourselves: an endpoint on loopback that answers by script and counts.

    with StubEndpoint() as stub:
        ...                                  # point a model at stub.url
    assert stub.calls == 100

``script`` decides each answer: a ``Reply`` or ``Fault``, a sequence of them (the last one repeats), or a function from
the received ``Received`` to one of them.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

JsonObject: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Received:
    """One request as the endpoint saw it."""

    number: int  # from 0, in order of arrival
    at: float  # seconds of the endpoint's own monotonic clock
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        """The parsed body."""
        return json.loads(self.body)

    @property
    def prompt(self) -> str:
        """The user's message, the prompt of a completion, or the (first) input of an embedding."""
        document = self.json
        if "messages" in document:
            return str(document["messages"][-1]["content"])
        text = document.get("prompt", document.get("input"))
        return str(text[0] if isinstance(text, list) else text)


class Fault(Enum):
    """Ways of failing below HTTP."""

    SILENT = auto()  # accepts the request and never answers
    RESET = auto()  # closes the connection instead of answering
    RESET_IN_BODY = auto()  # announces 1,000 bytes, sends ten and closes
    DRIBBLE = auto()  # sends one byte of the answer every 300 ms
    NOT_HTTP = auto()  # answers bytes that are no HTTP
    ENDLESS = auto()  # an answer without end, as fast as it is read


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer; ``delay_s`` passes before its first byte."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    content_type: str = "application/json"


Answer: TypeAlias = Reply | Fault
Script: TypeAlias = Answer | Sequence[Answer] | Callable[[Received], Answer]

_WATCHED_EVERY_S: Final = 0.01
USAGE: Final = {"prompt_tokens": 20, "completion_tokens": 6, "total_tokens": 26}


def chat(content: str | None, *, finish_reason: str = "stop", delay_s: float = 0.0, **extra: Any) -> Reply:
    """Return a chat completion with this text; ``extra`` are further members of the body."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    document = {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "model": "stub",
        "choices": [choice],
        "usage": USAGE,
    }
    return Reply(200, json.dumps({**document, **extra}).encode(), delay_s=delay_s)


def completion(text: str, *, finish_reason: str = "stop") -> Reply:
    """Return a text completion."""
    choice = {"index": 0, "text": text, "finish_reason": finish_reason}
    return Reply(200, json.dumps({"object": "text_completion", "choices": [choice], "usage": USAGE}).encode())


def embedding(*vectors: Sequence[float]) -> Reply:
    """Return the embeddings of as many inputs."""
    data = [{"object": "embedding", "index": at, "embedding": list(vector)} for at, vector in enumerate(vectors)]
    return Reply(
        200, json.dumps({"object": "list", "data": data, "usage": {"prompt_tokens": 4, "total_tokens": 4}}).encode()
    )


def error(
    status: int, *, code: str | None = None, message: str = "no", headers: Mapping[str, str] | None = None
) -> Reply:
    """Return an error in the shape of the OpenAI API."""
    document = {"error": {"message": message, "type": "stub_error", "code": code}}
    return Reply(status, json.dumps(document).encode(), headers or {})


def echo(received: Received) -> Reply:
    """Answer the prompt itself, in the API's shape that the path asks for."""
    if received.path.endswith("/embeddings"):
        inputs = received.json["input"]
        texts = inputs if isinstance(inputs, list) else [inputs]
        return embedding(*([float(len(text)), 1.0] for text in texts))
    if received.path.endswith("/chat/completions"):
        return chat(received.prompt)
    return completion(received.prompt)


class StubEndpoint:
    """An OpenAI-compatible server on a free loopback port, in a thread of its own, for the length of a ``with``."""

    def __init__(self, script: Script = echo, *, tls: ssl.SSLContext | None = None) -> None:
        self.script = script
        self._tls = tls
        self.requests: list[Received] = []
        self.in_flight = 0
        self.peak_in_flight = 0
        self.open_connections = 0
        self.accepted_connections = 0
        self.worst_lag_s = 0.0  # how late this thread ran at the worst: moments of arrival are no more exact than that
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="stub-endpoint", daemon=True)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self.listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """Complete address of the chat API."""
        return f"{self.origin}/v1/chat/completions"

    @property
    def calls(self) -> int:
        """Requests received so far."""
        return len(self.requests)

    def listen(self) -> None:
        """Accept connections, on the same port as before if there was one."""
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def shut(self) -> None:
        """Stop accepting and cut every connection: the endpoint is down until ``listen``."""
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.call_soon(self._watch, self._loop.time())
        self._loop.run_forever()

    def _watch(self, due: float) -> None:
        now = self._loop.time()
        self.worst_lag_s = max(self.worst_lag_s, now - due)
        self._loop.call_at(now + _WATCHED_EVERY_S, self._watch, now + _WATCHED_EVERY_S)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, backlog=4096, ssl=self._tls)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _shut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.open_connections += 1
        self.accepted_connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, which is its right
        except asyncio.CancelledError:
            pass  # shut
        finally:
            writer.transport.abort()
            self.open_connections -= 1
            self._connections.discard(task)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        received = Received(len(self.requests), self._loop.time(), first.split(" ")[1], headers, body)
        self.requests.append(received)
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            return await self._reply(self._answer(received), reader, writer)
        finally:
            self.in_flight -= 1

    def _answer(self, received: Received) -> Answer:
        if callable(self.script):
            return self.script(received)
        if isinstance(self.script, Reply | Fault):
            return self.script
        return self.script[min(received.number, len(self.script) - 1)]

    async def _reply(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if isinstance(answer, Fault):
            await self._fail(answer, reader, writer)
            return False
        if answer.delay_s:
            await self._pause(answer.delay_s, reader)
        writer.write(_head(answer) + answer.body)
        await writer.drain()
        return True

    async def _pause(self, seconds: float, reader: asyncio.StreamReader) -> None:
        """Wait, but notice a client that goes away meanwhile: it sends nothing while it waits for an answer."""
        gone = asyncio.ensure_future(reader.read(1))
        done, _ = await asyncio.wait([gone], timeout=seconds)
        if done:
            raise ConnectionResetError
        gone.cancel()
        await asyncio.wait([gone])

    async def _fail(self, fault: Fault, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match fault:
            case Fault.SILENT:
                await reader.read(1)
            case Fault.RESET:
                pass
            case Fault.RESET_IN_BODY:
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n" + b'{"choices"'
                )
                await writer.drain()
                await asyncio.sleep(0.05)
            case Fault.DRIBBLE:
                reply = chat("late")
                writer.write(_head(reply))
                for byte in reply.body:
                    writer.write(bytes([byte]))
                    await self._pause(0.3, reader)
            case Fault.ENDLESS:
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
                while True:
                    writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
                    await writer.drain()
            case Fault.NOT_HTTP:
                writer.write(b"\x15\x03\x01\x00\x02\x02\x28")
                await writer.drain()


def _head(reply: Reply) -> bytes:
    lines = [
        f"HTTP/1.1 {reply.status} Stub",
        f"content-length: {len(reply.body)}",
        f"content-type: {reply.content_type}",
    ]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
