"""The dashboard's routes: read the address, ask a service, draw the view."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from sqlalchemy.orm import Session

from inferlake_registry.contract.problems import Unauthorised
from inferlake_registry.services.listings.keyset import read_place
from inferlake_registry.services.listings.models import list_models
from inferlake_registry.services.listings.overview import read_overview
from inferlake_registry.services.listings.portrait import read_portrait
from inferlake_registry.services.listings.rejected import RejectedFilter, list_rejected
from inferlake_registry.services.listings.runs import list_runs
from inferlake_registry.web.assets import Asset, load
from inferlake_registry.web.pages.model import model_page
from inferlake_registry.web.pages.models import models_page
from inferlake_registry.web.pages.overview import overview_page
from inferlake_registry.web.pages.rejected import rejected_page
from inferlake_registry.web.pages.runs import runs_page
from inferlake_registry.web.rendering import Page, Renderer, build_renderer
from inferlake_registry.web.security import CHALLENGE, PAGE_HEADERS, refuse_cross_site, refuse_stranger
from inferlake_registry.web.views import ErrorPage, Frame
from inferlake_sql.errors import InferlakeError
from inferlake_sql.secret import Secret

Read = Callable[[], AbstractContextManager[Session]]
Clock = Callable[[], datetime]

# A file's name changes with its content, so a browser need never ask for it again.
_KEPT = "public, max-age=31536000, immutable"


def build_router(read: Read, clock: Clock, token: Secret | None = None) -> APIRouter:
    """Return the dashboard's routes, at the root of the service.

    ``read`` opens a session for reading, ``clock`` tells the present moment with its time zone, and with a ``token``
    every page wants it. Front-end libraries are looked for now; without them every page works and none refreshes.
    """
    assets = load()
    renderer = build_renderer(assets)
    router = APIRouter(include_in_schema=False, route_class=_page_route(renderer, clock, token))

    @router.get("/")
    def overview(request: Request) -> Response:
        now = clock()
        with read() as session:
            found = read_overview(session, now)
        return _draw(renderer, request, overview_page(found, now))

    @router.get("/models")
    def models(request: Request, q: str = "", state: str = "", after: str = "") -> Response:
        now = clock()
        with read() as session:
            found = list_models(session, now, q.strip(), state, after)
        return _draw(renderer, request, models_page(found, q.strip(), state, after, now))

    @router.get("/models/{name:path}")
    def model(request: Request, name: str) -> Response:
        now = clock()
        with read() as session:
            portrait = read_portrait(session, name, now)
        return _draw(renderer, request, model_page(portrait, now))

    @router.get("/rejected")
    def rejected(
        request: Request, reason: str = "", model: str = "", version: str = "", run: str = "", after: str = ""
    ) -> Response:
        narrow, place, now = RejectedFilter(reason, model, version, run), read_place(after), clock()
        with read() as session:
            found = list_rejected(session, narrow, place)
        return _draw(renderer, request, rejected_page(found, narrow, place, now))

    @router.get("/runs")
    def runs(request: Request, model: str = "", after: str = "") -> Response:
        place, now = read_place(after), clock()
        with read() as session:
            found = list_runs(session, model, place)
        return _draw(renderer, request, runs_page(found, model, place, now))

    @router.get("/static/{name}")
    def static(request: Request, name: str) -> Response:
        asset = assets.find(name)
        return _send(request, asset) if asset else Response(status_code=404)

    return router


def _draw(renderer: Renderer, request: Request, view: Page) -> Response:
    """Draw the whole page, or for a refresh only what it replaces; packed, since fifty rows repeat themselves."""
    refresh = request.headers.get("hx-request") == "true"
    html = (renderer.live(view) if refresh else renderer.page(view)).encode()
    if not _takes_packed(request):
        return HTMLResponse(html)
    return HTMLResponse(gzip.compress(html, compresslevel=5, mtime=0), headers={"content-encoding": "gzip"})


def _send(request: Request, asset: Asset) -> Response:
    headers = {"cache-control": _KEPT, "vary": "accept-encoding"}
    if not _takes_packed(request):
        return Response(asset.body, media_type=asset.media_type, headers=headers)
    return Response(asset.packed, media_type=asset.media_type, headers={**headers, "content-encoding": "gzip"})


def _takes_packed(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def _page_route(renderer: Renderer, clock: Clock, token: Secret | None) -> type[APIRoute]:
    class PageRoute(APIRoute):
        """Puts the content policy on every answer, and shows an error as a page instead of a problem document."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def guarded(request: Request) -> Response:
                try:
                    refuse_cross_site(request.method, request.headers)
                    refuse_stranger(request.headers, token)
                    response = await handle(request)
                except InferlakeError as error:
                    response = _error(renderer, error, clock())
                for name, value in PAGE_HEADERS.items():
                    response.headers.setdefault(name, value)
                return response

            return guarded

    return PageRoute


def _error(renderer: Renderer, error: InferlakeError, now: datetime) -> HTMLResponse:
    frame = Frame(title=f"Error {error.status}", section=None, as_of=now, address=None)
    view = ErrorPage(frame, error.status, error.code, error.message, back="/models", back_label="Show all models")
    headers = {"www-authenticate": CHALLENGE} if isinstance(error, Unauthorised) else None
    return HTMLResponse(renderer.page(view), status_code=error.status, headers=headers)
