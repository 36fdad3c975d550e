"""The parts of a path as it was sent: a name is one of them, percent-encoded, so slashes and dots in it survive."""

from __future__ import annotations

from urllib.parse import unquote

from fastapi import Request


def segments(request: Request, prefix: bytes) -> list[str]:
    """Return what follows ``prefix``, decoded piece by piece: a slash that was encoded is no border."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.split(b"?", 1)[0].removeprefix(prefix)
    return [unquote(segment.decode("ascii", "replace")) for segment in path.split(b"/")]
