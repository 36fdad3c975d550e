"""POST /v1/sql."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from inferlake_registry.api.state import State, clock
from inferlake_registry.client import USER_HEADER
from inferlake_registry.contract.problems import BadRequest
from inferlake_registry.contract.wire import encode
from inferlake_registry.services.statements import execute
from inferlake_registry.services.trial import probe_definition, try_model, wants_probe
from inferlake_sql.parse import parse
from inferlake_sql.statements import CreateModel, TestModel

_ACTOR_CHARACTERS: Final = 200


def build_router(state: State) -> APIRouter:
    """Return the route that statements take."""
    router = APIRouter()

    @router.post("/v1/sql")
    def sql(request: Request, body: dict[str, Any]) -> Response:
        text = body.get("statement")
        if not isinstance(text, str):
            raise BadRequest("'statement' must be a text")
        args = body.get("args")
        if args is not None and not isinstance(args, (list, dict)):
            raise BadRequest("'args' must be a list or an object")
        statement = parse(text, args=args)
        if statement is None:
            raise BadRequest("this is no statement about models; Spark's own statements run with spark.sql")
        actor = _actor(request)
        dry_run = body.get("dry_run") is True
        exact = body.get("case_sensitive") is True
        if isinstance(statement, TestModel) and not dry_run:
            result = try_model(state.database, state.ring, statement, case_sensitive=exact)
        else:
            if isinstance(statement, CreateModel) and wants_probe(statement) and not dry_run:
                probe_definition(state.ring, statement)
            result = execute(
                state.database,
                state.ring,
                statement,
                actor=actor,
                now=clock(),
                dry_run=dry_run,
                case_sensitive=exact,
            )
        return JSONResponse(encode(result))

    return router


def _actor(request: Request) -> str:
    """Return who asks, as they say; what could not be shown in one line is left out."""
    said = unquote(request.headers.get(USER_HEADER, ""))[:_ACTOR_CHARACTERS]
    return "".join(character for character in said if character.isprintable()).strip() or "anonymous"
