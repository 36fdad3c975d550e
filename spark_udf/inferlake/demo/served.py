"""The endpoint's own count of the requests it has seen: the other side of the bill."""

from __future__ import annotations

import httpx


class Served:
    """Asks a model served by ``inferlake serve`` how many model requests have reached it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, timeout=5.0, trust_env=False)

    def requests(self) -> int | None:
        """Return the count since the endpoint's start, or None when it does not answer (any more)."""
        try:
            answer = self._http.get("/v1/requests")
        except httpx.TransportError:
            return None
        return int(answer.json()["requests"]) if answer.is_success else None
