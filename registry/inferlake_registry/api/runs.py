"""What drivers and workers report."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from inferlake_registry.api.state import State, clock
from inferlake_registry.contract.runs import RejectedSample, RunReport, UsageReport
from inferlake_registry.contract.wire import decode
from inferlake_registry.services import runs


def build_router(state: State) -> APIRouter:
    """Return the routes that take reports."""
    router = APIRouter()

    @router.post("/v1/runs")
    def run(body: dict[str, Any]) -> Response:
        with state.database.write() as session:
            runs.store_run(session, decode(RunReport, body))
        return Response(status_code=204)

    @router.post("/v1/runs/{run_id:path}/rejected")
    def rejected(run_id: str, body: list[Any]) -> Response:
        with state.database.write() as session:
            runs.store_rejected(session, run_id, decode(tuple[RejectedSample, ...], body))
        return Response(status_code=204)

    @router.post("/v1/usage")
    def usage(body: list[Any]) -> Response:
        with state.database.write() as session:
            runs.store_usage(session, decode(tuple[UsageReport, ...], body), clock())
        return Response(status_code=204)

    return router
