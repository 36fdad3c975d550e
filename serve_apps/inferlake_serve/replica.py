"""The deployment: one process that holds the engine's front and answers HTTP itself.

``ray.serve.llm`` by default puts an ingress before the server, a second process that imports vLLM only to hand requests
on. Here the server's own application (vLLM's OpenAI-compatible one) is what Serve's proxy calls. Measured on two cores
with a model of 1 M parameters: ready after 27 s in place of 54 s, 85 in place of 44 requests a second at 16 in flight.
"""

from __future__ import annotations

from typing import Any, Protocol

from ray import serve

from inferlake_serve.qwen import deployment_options
from inferlake_serve.request_count import Application, RequestCount
from inferlake_serve.settings import ModelSettings


class Server(Protocol):
    """What is used of Ray's ``LLMServer``."""

    async def __serve_build_asgi_app__(self) -> Application:
        """Return the engine's own OpenAI-compatible application."""
        ...

    async def check_health(self) -> None:
        """Raise when the engine is dead."""


class ServedModel:
    """A replica. What it needs of the engine is imported when it starts, so that the class can be deployed cheaply."""

    async def __init__(self, settings: ModelSettings) -> None:  # type: ignore[misc] # Serve awaits it
        from inferlake_serve.engine import start_server

        self._settings = settings
        self._server: Server = await start_server(settings)

    async def __serve_build_asgi_app__(self) -> Application:
        """Return the application that Serve mounts; called once, when the engine is up."""
        application = await self._server.__serve_build_asgi_app__()
        replica = serve.get_replica_context().replica_id.unique_id
        return RequestCount(application, replica=replica, replicas=self._settings.replicas)

    async def check_health(self) -> None:
        """Raise when the engine is dead: Serve then replaces the replica."""
        await self._server.check_health()


def application(settings: ModelSettings) -> serve.Application:
    """Return the bound application of one model, for ``serve.run`` or for a Serve configuration file."""
    deployment: Any = serve.deployment(serve.ingress()(ServedModel), **deployment_options(settings))
    bound: serve.Application = deployment.bind(settings)
    return bound
