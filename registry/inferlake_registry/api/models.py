"""Models for callers: what is registered, snapshots, credentials and leases.

A name is one path segment, percent-encoded, so that slashes and dots in it survive.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from sqlalchemy.orm import Session

from inferlake_registry.api.segments import segments
from inferlake_registry.api.state import State, clock
from inferlake_registry.contract.health import BreakerReport
from inferlake_registry.contract.leases import LeaseRequest
from inferlake_registry.contract.models import CredentialsRequest, ModelSnapshot
from inferlake_registry.contract.problems import BadRequest, NotFound
from inferlake_registry.contract.statements import StatementResult
from inferlake_registry.contract.wire import decode, encode
from inferlake_registry.services import breakers, leases, snapshot
from inferlake_registry.services.health import health_of
from inferlake_registry.services.models import get_referred
from inferlake_registry.services.statements import execute
from inferlake_sql.names import ModelName, parse_name, parse_reference
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
        return _show(state, request)

    @router.post("/v1/models/{rest:path}")
    def act(request: Request, body: dict[str, Any]) -> Response:
        return _act(state, request, body)

    return router


def _read(state: State, statement: Statement) -> Response:
    result = execute(state.database, state.ring, statement, actor="", now=clock())
    return JSONResponse(_objects(result))


def _show(state: State, request: Request) -> Response:
    name, *below = segments(request, _PREFIX)
    with state.database.read() as session:
        # As a call would find it: a bare name with dots may be a path or one name.
        model = get_referred(session, parse_reference(name))
        found = parse_name(model.name)
        match below:
            case ["health"]:
                return JSONResponse(encode(health_of(session, model, clock())))
            case ["limits"]:
                return JSONResponse(encode(leases.limits_of(session, model, clock())))
            case _:
                return _read(state, _statement(found, below, request))


def _statement(name: ModelName, below: list[str], request: Request) -> Statement:
    match below:
        case []:
            return DescribeModel(name, extended=True)
        case ["versions"]:
            return ShowVersions(name)
        case ["history"]:
            return DescribeHistory(name)
        case ["properties"]:
            return ShowProperties(name)
        case _:
            raise NotFound("page or address " + request.url.path)


def _act(state: State, request: Request, body: dict[str, Any]) -> Response:
    name, *below = segments(request, _PREFIX)
    match below:
        case ["resolve"]:
            with state.database.read() as session:
                return JSONResponse(encode(_resolved(session, name, body)))
        case ["credentials"]:
            with state.database.read() as session:
                found = snapshot.credentials(session, state.ring, name, decode(CredentialsRequest, body))
            return JSONResponse(encode(found, reveal=True), headers={"cache-control": "no-store"})
        case ["breakers"]:
            with state.database.write() as session:
                breakers.store_breaker(session, name, decode(BreakerReport, body), clock())
            return Response(status_code=204)
        case ["leases"]:
            with state.database.write() as session:
                return JSONResponse(encode(leases.take(session, name, decode(LeaseRequest, body), clock())))
        case ["leases", lease_id, "release"]:
            with state.database.write() as session:
                leases.release(session, name, lease_id, _unused(body), clock())
            return Response(status_code=204)
        case _:
            raise NotFound("page or address " + request.url.path)


def _resolved(session: Session, name: str, body: dict[str, Any]) -> ModelSnapshot:
    case_sensitive = body.get("case_sensitive") is True
    return snapshot.resolve(session, _reference(body, name), case_sensitive=case_sensitive)


def _reference(body: dict[str, Any], name: str) -> str:
    reference = body.get("reference", name)
    if not isinstance(reference, str):
        raise BadRequest("'reference' must be a text")
    return reference


def _unused(body: dict[str, Any]) -> int:
    unused = body.get("unused")
    if not isinstance(unused, int) or isinstance(unused, bool):
        raise BadRequest("'unused' must be a whole number")
    return unused


def _objects(result: StatementResult) -> list[dict[str, Any]]:
    names = [column.name for column in result.columns]
    return [dict(zip(names, row, strict=True)) for row in result.rows]
