"""What drivers and workers report."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from inferlake_registry.api.segments import segments
from inferlake_registry.api.state import State, clock
from inferlake_registry.contract.problems import NotFound
from inferlake_registry.contract.runs import RejectedSample, RunReport, UsageReport
from inferlake_registry.contract.wire import decode, encode
from inferlake_registry.services import runs
from inferlake_registry.services.listings.keyset import read_place

_PREFIX = b"/v1/runs/"


def build_router(state: State) -> APIRouter:
    """Return the routes that take reports, and show runs."""
    router = APIRouter()

    @router.post("/v1/runs")
    def run(body: dict[str, Any]) -> Response:
        with state.database.write() as session:
            runs.store_run(session, decode(RunReport, body))
        return Response(status_code=204)

    @router.get("/v1/runs")
    def listed(model: str = "", after: str = "") -> Response:
        with state.database.read() as session:
            return JSONResponse(encode(runs.read_runs(session, model, read_place(after))))

    @router.get("/v1/runs/{rest:path}")
    def one(request: Request) -> Response:
        match segments(request, _PREFIX):
            case [run_id]:
                with state.database.read() as session:
                    return JSONResponse(encode(runs.read_run(session, run_id)))
            case _:
                raise NotFound("page or address " + request.url.path)

    @router.post("/v1/runs/{rest:path}")
    def rejected(request: Request, body: list[Any]) -> Response:
        match segments(request, _PREFIX):
            case [run_id, "rejected"]:
                with state.database.write() as session:
                    runs.store_rejected(session, run_id, decode(tuple[RejectedSample, ...], body))
                return Response(status_code=204)
            case _:
                raise NotFound("page or address " + request.url.path)

    @router.post("/v1/usage")
    def usage(body: list[Any]) -> Response:
        with state.database.write() as session:
            runs.store_usage(session, decode(tuple[UsageReport, ...], body), clock())
        return Response(status_code=204)

    return router
