"""Lets only those to the API who give the token; what an operator looks at besides is not the API."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from inferlake_registry.api.problems import problem
from inferlake_registry.contract.problems import Unauthorised
from inferlake_sql.secret import Secret


class TokenGuard:
    """Asks every request below /v1 for the token, before anything reads it."""

    def __init__(self, app: ASGIApp, token: Secret) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer that the token is missing or wrong."""
        if scope["type"] == "http" and scope["path"].startswith("/v1/") and not self._admits(Headers(scope=scope)):
            await problem(Unauthorised())(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _admits(self, headers: Headers) -> bool:
        expected = f"Bearer {self._token.reveal()}".encode()
        return hmac.compare_digest(headers.get("authorization", "").encode(), expected)
