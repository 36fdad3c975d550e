"""The dashboard: pages drawn on the server, over the same services as the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import APIRouter

    from inferlake_registry.web.router import Clock, Read
    from inferlake_sql.secret import Secret

__all__ = ("build_router",)


def build_router(read: Read, clock: Clock, token: Secret | None = None) -> APIRouter:
    """Return the dashboard's routes, at the root of the service; see ``router.build_router``."""
    # Here and not above: setting up the front-end libraries runs a module of this package before anything is installed.
    from inferlake_registry.web import router

    return router.build_router(read, clock, token)
