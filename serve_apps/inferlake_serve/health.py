"""What a served model says about itself over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import httpx

from inferlake_serve.request_count import COUNT_PATH

_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Health:
    """``ok`` is the engine's word, not the proxy's; ``requests`` is None where nobody counts."""

    ok: bool
    models: tuple[str, ...]
    requests: int | None
    cause: str = ""


def ask_health(url: str) -> Health:
    """Ask the engine, through the proxy. None of these requests costs a token or is counted.

    That the model can answer at all was proven by a real request in the replica before it took any.
    """
    try:
        with httpx.Client(base_url=url, timeout=_SECONDS, trust_env=False) as http:
            state = http.get("/health")
            models = http.get("/v1/models")
            count = http.get(COUNT_PATH)
    except httpx.TransportError as error:
        return Health(False, (), None, type(error).__name__)
    if not (state.is_success and models.is_success):
        return Health(False, (), None, f"HTTP {state.status_code}")
    names = tuple(str(model["id"]) for model in models.json()["data"])
    return Health(True, names, int(count.json()["requests"]) if count.is_success else None)
