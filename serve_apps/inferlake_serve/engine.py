"""The engine inside a replica: importing this module imports vLLM."""

from __future__ import annotations

from typing import Any

from ray.llm._internal.serve.core.server.llm_server import LLMServer
from ray.llm._internal.serve.engines.vllm.vllm_engine import VLLMEngine
from ray.serve.llm.openai_api_models import ChatCompletionRequest, ErrorResponse

from inferlake_serve.qwen import llm_config
from inferlake_serve.settings import Accelerator, ModelSettings


async def start_server(settings: ModelSettings) -> LLMServer:
    """Start the engine and let it do a piece of real work, which is what makes it ready.

    Raises RuntimeError with the engine's own words when that work fails.
    """
    config = llm_config(settings)
    single = settings.accelerator is Accelerator.CPU and settings.tensor_parallel == 1
    engine = (OneProcessEngine if single else VLLMEngine)(config)
    callback = config.get_or_create_callback()
    if settings.source.is_local and callback is not None:
        # Nothing to fetch: without this Ray starts a worker that imports vLLM only to find the folder.
        callback.ctx.run_init_node = False
    # The server would start the engine too, and an actor that reports usage.
    await engine.start()
    server = LLMServer.sync_init(config, engine_cls=type(engine))
    server.engine = engine
    await _prove(server, settings.name)
    return server


class OneProcessEngine(VLLMEngine):
    """Computes in the engine's core process itself, for a model that one CPU process serves.

    vLLM gives the work to a further process so that it can pin threads. That process imports everything once more,
    7 s of a core and 0.6 GB, and each step crosses one more border.
    """

    def _prepare_engine_config(self, callback_ctx: Any) -> Any:
        engine_arguments, frontend_arguments, config = super()._prepare_engine_config(callback_ctx)
        config.parallel_config.distributed_executor_backend = "uni"
        return engine_arguments, frontend_arguments, config


async def _prove(server: LLMServer, name: str) -> None:
    """Ask for a few tokens of JSON by the way that requests take, below HTTP so that nobody counts it."""
    schema = {"type": "object", "properties": {"label": {"enum": ["normal"]}}, "required": ["label"]}
    request = ChatCompletionRequest.model_validate(
        {
            "model": name,
            "messages": [{"role": "user", "content": "ping"}],
            "max_tokens": 16,
            "temperature": 0,
            "response_format": {"type": "json_schema", "json_schema": {"name": "proof", "schema": schema}},
        }
    )
    async for answer in await server.chat(request):
        if isinstance(answer, ErrorResponse):
            raise RuntimeError(answer.error.message)
