"""Puts the service together: the API, the dashboard, and what keeps other sites' pages away from both.

A registry on loopback is reached by every page that a browser on the machine shows. Such a page can send requests
(refused as cross-site) or make its own name lead to 127.0.0.1 and pass for same-origin (refused by the Host header).
"""

from __future__ import annotations

import ipaddress

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from inferlake_registry.api.app import build_app
from inferlake_registry.api.problems import problem
from inferlake_registry.api.state import clock
from inferlake_registry.contract.problems import ForeignHost
from inferlake_registry.settings import Settings
from inferlake_registry.web import build_router as build_dashboard
from inferlake_registry.web.security import refuse_cross_site
from inferlake_sql.errors import InferlakeError


def build_service(settings: Settings) -> FastAPI:
    """Open the database and return the whole application. Raises BadSetting."""
    app = build_app(settings, lambda state: build_dashboard(state.database.read, clock, settings.token))
    app.add_middleware(Guard, hosts=settings.hosts)
    return app


class Guard:
    """Refuses requests that another site's page caused, before anything reads them."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None) -> None:
        """``hosts`` are the names that requests may be for; None lets every name through."""
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer why not."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            try:
                refuse_foreign_host(headers.get("host", ""), self._hosts)
                refuse_cross_site(scope["method"], headers)
            except InferlakeError as error:
                await problem(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def refuse_foreign_host(host: str, allowed: frozenset[str] | None) -> None:
    """Raise ForeignHost when the request is for a name that is not ours; its port is of no interest."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    if allowed is not None and name.strip("[]").casefold() not in allowed:
        raise ForeignHost(name)


def hosts_for(listening: str, more: tuple[str, ...]) -> frozenset[str] | None:
    """Return the names that a service may be called by: on loopback the known ones and ``more``, elsewhere any."""
    try:
        loopback = ipaddress.ip_address(listening).is_loopback
    except ValueError:
        loopback = listening.casefold() == "localhost"
    return frozenset({"127.0.0.1", "::1", "localhost", listening, *map(str.casefold, more)}) if loopback else None
