"""Rejected rows for programs: the same list as the dashboard's, and one row in full."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from inferlake_registry.api.state import State
from inferlake_registry.contract.problems import NotFound
from inferlake_registry.contract.runs import RejectedListing, RejectedSample
from inferlake_registry.contract.wire import encode
from inferlake_registry.services.listings.keyset import read_place
from inferlake_registry.services.listings.rejected import LongText, RejectedFilter, RejectedItem, list_rejected
from inferlake_registry.store.schema import RejectedRow


def build_router(state: State) -> APIRouter:
    """Return the routes below /v1/rejected."""
    router = APIRouter()

    @router.get("/v1/rejected")
    def rejected(reason: str = "", model: str = "", version: str = "", run: str = "", after: str = "") -> Response:
        with state.database.read() as session:
            found = list_rejected(session, RejectedFilter(reason, model, version, run), read_place(after))
        following = None if found.following is None else found.following.write()
        listing = RejectedListing(tuple(_sample(item) for item in found.rows), found.matching, following)
        return JSONResponse(encode(listing))

    @router.get("/v1/rejected/{rejected_id:path}")
    def row(rejected_id: str) -> Response:
        with state.database.read() as session:
            stored = session.get(RejectedRow, rejected_id)
            if stored is None:
                raise NotFound(f"rejected row {rejected_id!r}")
            return JSONResponse(encode(_whole(stored)))

    return router


def _sample(item: RejectedItem) -> RejectedSample:
    return RejectedSample(
        rejected_id=item.rejected_id,
        run_id=item.run_id,
        row_key=item.row_key,
        model=item.model,
        model_version=item.version,
        reason=item.reason,
        errors="[]" if item.errors is None else item.errors,
        ai_output=_cut(item.output),
        input=_cut(item.input),
        rejected_at=item.at.isoformat(),
    )


def _whole(row: RejectedRow) -> RejectedSample:
    return RejectedSample(
        rejected_id=row.rejected_id,
        run_id=row.run_id,
        row_key=row.row_key,
        model=row.model,
        model_version=row.model_version,
        reason=row.reason,
        errors=row.errors,
        ai_output=row.ai_output,
        input=row.input,
        rejected_at=row.rejected_at.isoformat(),
    )


def _cut(text: LongText | None) -> str | None:
    if text is None:
        return None
    return text.beginning if len(text.beginning) == text.characters else f"{text.beginning}…"
