"""What nobody expected: one problem document for the caller, one log entry without a value for the operator.

An exception that reaches the server is logged with its message, and a database driver's message holds the statement's
values; the server also cuts the connection. So none gets that far.
"""

from __future__ import annotations

import logging
import uuid

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inferlake_registry.api.problems import problem
from inferlake_registry.contract.problems import Unexpected

_LOG = logging.getLogger(__name__)


class LastResort:
    """Answers for an application that failed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; when that raises, log where and answer 500."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        failed: Exception | None = None
        try:
            await self._app(scope, receive, watched)
        except Exception as error:  # noqa: BLE001 - whatever it is, its message must not reach the server's log
            failed = error
        if failed is None:
            return
        request_id = uuid.uuid4().hex
        shown = _without_message(failed)
        _LOG.error("request %s failed with %s", request_id, type(failed).__name__, exc_info=shown)
        if begun:
            raise shown  # half an answer is out: only a broken connection can say that it is no whole one
        await problem(Unexpected(request_id))(scope, receive, send)


def _without_message(error: Exception) -> Exception:
    """Return an error with the type and the places in the code, and no word of what it said."""
    return RuntimeError(type(error).__name__).with_traceback(error.__traceback__)
