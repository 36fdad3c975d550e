"""Every way of failing, as one problem document."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response

from inferlake_registry.contract.problems import (
    PROBLEM_MEDIA_TYPE,
    BadRequest,
    MethodNotAllowed,
    NotFound,
    RegistryError,
    to_problem,
)
from inferlake_registry.contract.wire import WireError
from inferlake_sql.errors import InferlakeError


def problem(error: InferlakeError) -> Response:
    """Return an error as its response."""
    return JSONResponse(to_problem(error), status_code=error.status, media_type=PROBLEM_MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Make every failure that is foreseen a problem document; ``api.last_resort`` is for the rest."""

    @app.exception_handler(InferlakeError)
    async def known(_: Request, error: InferlakeError) -> Response:
        return problem(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        # The message of a validation error may quote the input, and the input may be a secret: only its place is told.
        return problem(BadRequest(f"{'.'.join(map(str, first['loc']))} has a wrong form ({first['type']})"))

    @app.exception_handler(WireError)
    async def malformed(_: Request, error: WireError) -> Response:
        return problem(BadRequest(str(error)))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        return problem(_http(request, error.status_code))


def _http(request: Request, status: int) -> RegistryError:
    if status == 404:
        return NotFound("page or address " + request.url.path)
    return MethodNotAllowed(request.method) if status == 405 else BadRequest(f"HTTP {status}")
