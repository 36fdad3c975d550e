"""Models for callers: what is registered, snapshots, credentials and leases.

A name is one path segment, percent-encoded, so that slashes and dots in it survive.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from inferlake_registry.api.state import State, clock
from inferlake_registry.contract.leases import LeaseRequest
from inferlake_registry.contract.problems import BadRequest, NotFound
from inferlake_registry.contract.statements import StatementResult
from inferlake_registry.contract.wire import decode, encode
from inferlake_registry.services import leases, snapshot
from inferlake_registry.services.statements import execute
from inferlake_sql.names import parse_name
from inferlake_sql.statements import (
    DescribeHistory,
    DescribeModel,
    ShowHealth,
    ShowModels,
    ShowProperties,
    ShowVersions,
    Statement,
)

_PREFIX = b"/v1/models/"


def build_router(state: State) -> APIRouter:
    """Return the routes below /v1/models."""
    router = APIRouter()

    @router.get("/v1/models")
    def models() -> Response:
        return _read(state, ShowModels())

    @router.get("/v1/health")
    def health() -> Response:
        return _read(state, ShowHealth())

    @router.get("/v1/models/{rest:path}")
    def model(request: Request) -> Response:
        return _read(state, _shown(request))

    @router.post("/v1/models/{rest:path}")
    def act(request: Request, body: dict[str, Any]) -> Response:
        return _act(state, request, body)

    return router


def _read(state: State, statement: Statement) -> Response:
    result = execute(state.database, state.ring, statement, actor="", now=clock())
    return JSONResponse(_objects(result))


def _shown(request: Request) -> Statement:
    name, *below = _segments(request)
    parsed = parse_name(name)
    match below:
        case []:
            return DescribeModel(parsed, extended=True)
        case ["versions"]:
            return ShowVersions(parsed)
        case ["history"]:
            return DescribeHistory(parsed)
        case ["properties"]:
            return ShowProperties(parsed)
        case ["health"]:
            return ShowHealth(name)
        case _:
            raise NotFound("page or address " + request.url.path)


def _act(state: State, request: Request, body: dict[str, Any]) -> Response:
    name, *below = _segments(request)
    match below:
        case ["resolve"]:
            with state.database.read() as session:
                return JSONResponse(encode(snapshot.resolve(session, str(body.get("reference", name)))))
        case ["credentials"]:
            with state.database.read() as session:
                found = snapshot.credentials(session, state.ring, name)
            return JSONResponse(encode(found, reveal=True), headers={"cache-control": "no-store"})
        case ["leases"]:
            with state.database.write() as session:
                return JSONResponse(encode(leases.take(session, name, decode(LeaseRequest, body), clock())))
        case ["leases", lease_id, "release"]:
            with state.database.write() as session:
                leases.release(session, name, lease_id, _unused(body), clock())
            return Response(status_code=204)
        case _:
            raise NotFound("page or address " + request.url.path)


def _unused(body: dict[str, Any]) -> int:
    unused = body.get("unused")
    if not isinstance(unused, int) or isinstance(unused, bool):
        raise BadRequest("'unused' must be a whole number")
    return unused


def _segments(request: Request) -> list[str]:
    """Split the path as it was sent: a decoded slash inside a name would be taken for a border."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.split(b"?", 1)[0].removeprefix(_PREFIX)
    return [unquote(segment.decode("ascii", "replace")) for segment in path.split(b"/")]


def _objects(result: StatementResult) -> list[dict[str, Any]]:
    names = [column.name for column in result.columns]
    return [dict(zip(names, row, strict=True)) for row in result.rows]
