"""Builds the application from its settings; nothing else is global."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from inferlake_registry.api import models, problems, rejected, runs, statements
from inferlake_registry.api.last_resort import LastResort
from inferlake_registry.api.metrics import render
from inferlake_registry.api.state import State, clock
from inferlake_registry.api.token_guard import TokenGuard
from inferlake_registry.contract.problems import BadSetting
from inferlake_registry.services.properties import some_secret
from inferlake_registry.services.schedule import Prober
from inferlake_registry.settings import Settings
from inferlake_registry.store.database import open_database
from inferlake_registry.store.secrets import key_ring_from


def build_app(settings: Settings, pages: Callable[[State], APIRouter]) -> FastAPI:
    """Open the database and return the application, with the routes that ``pages`` makes. Raises BadSetting."""
    state = _open(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        prober = asyncio.create_task(Prober(state.database, state.ring).run()) if settings.probes else None
        yield
        if prober is not None:
            prober.cancel()
            with suppress(asyncio.CancelledError):
                await prober
        state.database.close()

    app = FastAPI(title="Inferlake registry", lifespan=lifespan, docs_url=None, redoc_url=None)
    problems.install(app)
    if settings.token is not None:
        app.add_middleware(TokenGuard, token=settings.token)
    app.add_middleware(LastResort)
    _operations(app, state)
    for build in (statements.build_router, models.build_router, runs.build_router, rejected.build_router, pages):
        app.include_router(build(state))
    return app


def _open(settings: Settings) -> State:
    """Open the database and the keys of its secrets, and see that the one fits the other. Raises BadSetting."""
    database = open_database(settings.database)
    if settings.secret_key is None and settings.key_file is None and not settings.database.endswith(":memory:"):
        raise BadSetting("INFERLAKE_SECRET_KEY", "must be set for a database that is no local SQLite file")
    with database.read() as session:
        encrypted = some_secret(session)
    ring = key_ring_from(settings.secret_key, settings.key_file, may_make=encrypted is None)
    if encrypted is not None:
        ring.decrypt(encrypted)
    return State(database, ring, settings)


def _operations(app: FastAPI, state: State) -> None:
    @app.get("/livez", include_in_schema=False)
    def alive() -> Response:
        return PlainTextResponse("ok")

    @app.get("/readyz", include_in_schema=False)
    def ready() -> Response:
        try:
            with state.database.read() as session:
                session.execute(select(1))
        except SQLAlchemyError as error:
            return JSONResponse({"state": "unavailable", "why": type(error).__name__}, status_code=503)
        return JSONResponse({"state": "ready"})

    @app.get("/metrics", include_in_schema=False)
    def metrics() -> Response:
        return Response(render(state.database, clock()), media_type=CONTENT_TYPE_LATEST)
