"""An exact count of model requests, readable at once by everyone who may call the model.

``GET /v1/requests`` answers ``{"requests": 512, "answered": {"200": 500, "400": 12}, "exact": true, "replica": "…"}``:
what has reached the replica since it started, whatever came of it, and how many of these were answered with which
status. A request counts when it arrives, before the engine sees it, and its answer before the first byte leaves; so who
has an answer finds it counted. With several replicas each counts its own and ``exact`` is false.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

COUNT_PATH: Final = "/v1/requests"
COUNTED_PATHS: Final = frozenset(
    ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/score", "/v1/audio/transcriptions")
)


class RequestCount:
    """Wraps an ASGI application: counts what asks the model for something, and answers ``GET /v1/requests`` itself.

    It lives in one event loop, so plain numbers suffice.
    """

    def __init__(self, application: Application, *, replica: str, replicas: int) -> None:
        self._application = application
        self._replica = replica
        self._replicas = replicas
        self._requests = 0
        self._answered: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
        elif scope["method"] == "GET" and scope["path"] == COUNT_PATH:
            await self._tell(send)
        elif scope["method"] == "POST" and scope["path"] in COUNTED_PATHS:
            self._requests += 1
            await self._application(scope, receive, self._noting(send))
        else:
            await self._application(scope, receive, send)

    def _noting(self, send: Send) -> Send:
        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._answered[str(message["status"])] += 1
            await send(message)

        return noted

    async def _tell(self, send: Send) -> None:
        document = {
            "requests": self._requests,
            "answered": dict(self._answered),
            "exact": self._replicas == 1,
            "replica": self._replica,
        }
        headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(document).encode()})
