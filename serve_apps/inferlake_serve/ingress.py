"""The front of a served model: the OpenAI-compatible routes, its health, and an exact count of its requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from ray.exceptions import RayError
from ray.llm._internal.serve.core.configs.openai_api_models import to_model_metadata
from ray.llm._internal.serve.core.ingress.ingress import DEFAULT_ENDPOINTS
from ray.serve.llm import LLMConfig
from ray.serve.llm.ingress import OpenAiIngress

Route = Callable[[FastAPI], Any]

ENDPOINTS: Final[dict[str, Route]] = {
    **DEFAULT_ENDPOINTS,
    "health": lambda app: app.get("/health"),
    "requests": lambda app: app.get("/v1/requests"),
}


def model_card(name: str, config: LLMConfig) -> Any:
    """Return what /v1/models says of a model."""
    return to_model_metadata(name, config)


class ModelIngress(OpenAiIngress):  # type: ignore[misc] # Ray gives its classes no types
    """Ray's front, which also counts. There is one replica of it, so its counter is the whole truth."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._requests = 0

    async def _process_llm_request(self, *args: Any, **kwargs: Any) -> Response:
        # Counted when it arrives: a request that ends in an error was a request too.
        self._requests += 1
        response: Response = await super()._process_llm_request(*args, **kwargs)
        return response

    async def health(self) -> Response:
        """Answer 200 when every model's engine says that it works, else 503."""
        for name, handle in self._default_serve_handles.items():
            try:
                await handle.check_health.remote()
            except RayError:
                return JSONResponse({"status": "unhealthy", "model": name}, status_code=503)
        return JSONResponse({"status": "healthy"})

    async def requests(self) -> dict[str, int]:
        """Return how many model requests have arrived since the start, whatever became of them."""
        return {"requests": self._requests}
