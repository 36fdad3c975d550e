"""POST /v1/sql."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from inferlake_registry.api.state import State, clock
from inferlake_registry.contract.problems import BadRequest
from inferlake_registry.contract.wire import encode
from inferlake_registry.services.probing import test_model
from inferlake_registry.services.statements import execute
from inferlake_sql.parse import parse
from inferlake_sql.statements import TestModel


def build_router(state: State) -> APIRouter:
    """Return the route that statements take."""
    router = APIRouter()

    @router.post("/v1/sql")
    def sql(request: Request, body: dict[str, Any]) -> Response:
        text = body.get("statement")
        if not isinstance(text, str):
            raise BadRequest("'statement' must be a text")
        statement = parse(text, args=body.get("args"))
        if statement is None:
            raise BadRequest("this is no statement about models; Spark's own statements run with spark.sql")
        actor = request.headers.get("x-inferlake-user", "anonymous")[:200]
        if isinstance(statement, TestModel):
            result = test_model(state.database, state.ring, statement, clock())
        else:
            dry_run = body.get("dry_run") is True
            result = execute(state.database, state.ring, statement, actor=actor, now=clock(), dry_run=dry_run)
        return JSONResponse(encode(result))

    return router
