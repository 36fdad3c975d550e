"""Addresses of pages: every filter lives in them, so that what one sees can be sent to a colleague."""

from __future__ import annotations

from urllib.parse import quote, urlencode


def model_address(name: str) -> str:
    """Return the address of a model's page; a name may hold slashes, dots and backquotes."""
    return f"/models/{quote(name, safe='')}"


def with_query(path: str, **filters: str) -> str:
    """Return a path with the filters that are set; empty ones are left out."""
    chosen = {name: value for name, value in filters.items() if value}
    return f"{path}?{urlencode(chosen)}" if chosen else path
