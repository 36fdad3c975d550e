"""The configuration of ``ray.serve.llm`` for a Qwen model (or any that vLLM knows), the same function for GPU and CPU.

Importing ``ray.serve.llm`` costs about 6 s of a core, since it imports vLLM. So it is imported where the engine is, in
the replica; the process that deploys needs it on a GPU only, whose placement it has to work out.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, assert_never

from inferlake_serve.settings import Accelerator, ModelSettings

if TYPE_CHECKING:
    from ray.serve.llm import LLMConfig

_MEBIBYTE: Final = 1024 * 1024
_SMALL_KEY_VALUE_CACHE: Final = 128 * _MEBIBYTE  # 64 sessions of 1,024 tokens of the shipped model
_KEY_VALUE_CACHE: Final = 1024 * _MEBIBYTE
_CPU_CONTEXT: Final = 4_096  # longest by default: what a model of the hub claims would need gigabytes of cache
_CPU_SEQUENCES: Final = 64  # computed together; more wait in the engine
_CPU_SHARE: Final = 0.5  # of a core, by Ray's book: it must fit beside Serve's own actors on two cores

# Weak models fill an answer with newlines where the grammar allows white space; the option needs a named backend.
_JSON: Final = {"backend": "xgrammar", "disable_any_whitespace": True}


def llm_config(settings: ModelSettings) -> LLMConfig:
    """Return the configuration that ``ray.serve.llm`` makes a deployment or a replica's engine of."""
    from ray.serve.llm import LLMConfig

    return LLMConfig(
        model_loading_config={"model_id": settings.name, "model_source": settings.source.source},
        engine_kwargs=engine_arguments(settings),
        deployment_config={"num_replicas": settings.replicas},
        runtime_env={"env_vars": environment(settings)},
        log_engine_metrics=False,
        **_placement(settings),
    )


def engine_arguments(settings: ModelSettings) -> dict[str, Any]:
    """Return vLLM's engine arguments."""
    arguments: dict[str, Any] = {
        "tensor_parallel_size": settings.tensor_parallel,
        "pipeline_parallel_size": settings.pipeline_parallel,
        "structured_outputs_config": _JSON,
    }
    context = settings.context_tokens
    match settings.accelerator:
        case Accelerator.GPU:
            pass
        case Accelerator.CPU:
            if context is None and not settings.is_small:
                context = _CPU_CONTEXT
            arguments |= {
                "dtype": "float32" if settings.is_small else "bfloat16",
                # Compiling costs 30 to 40 s at the first start.
                "enforce_eager": True,
                # A prompt that is split, with a seed and a temperature above 0, ends the engine on a CPU
                # ("CPU Generator does not use offset"): so no prompt is split.
                "enable_chunked_prefill": False,
                "max_num_batched_tokens": max(2_048, context or 0),
                "max_num_seqs": _CPU_SEQUENCES,
                "kv_cache_memory_bytes": _SMALL_KEY_VALUE_CACHE if settings.is_small else _KEY_VALUE_CACHE,
            }
        case _:
            assert_never(settings.accelerator)
    if context is not None:
        arguments["max_model_len"] = context
    return arguments


def environment(settings: ModelSettings) -> dict[str, str]:
    """Return the variables of the replica's process and of what it starts."""
    variables = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    if settings.source.is_local:
        variables["HF_HUB_OFFLINE"] = "1"
    if settings.accelerator is Accelerator.CPU:
        # Without it the first sampled token compiles a kernel, 14 s on two cores.
        variables["TORCH_COMPILE_DISABLE"] = "1"
        variables["OMP_NUM_THREADS"] = "1" if settings.is_small else str(os.cpu_count() or 1)
        if settings.tensor_parallel > 1:
            # One list of cores a rank; the default refuses more ranks than memory nodes.
            variables["VLLM_CPU_OMP_THREADS_BIND"] = "|".join(map(str, range(settings.tensor_parallel)))
    return variables


def deployment_options(settings: ModelSettings) -> dict[str, Any]:
    """Return Serve's options for the deployment, placement included."""
    shared: dict[str, Any] = {
        "name": settings.name.replace("/", "--").replace("#", "-"),
        # The engine batches what it gets, so Serve holds nothing back.
        "max_ongoing_requests": 1_000_000_000,
        "max_constructor_retry_count": 1,
        "graceful_shutdown_timeout_s": 5.0,
    }
    match settings.accelerator:
        case Accelerator.CPU:
            actor = {"num_cpus": _CPU_SHARE, "runtime_env": {"env_vars": environment(settings)}}
            return {**shared, "num_replicas": settings.replicas, "ray_actor_options": actor}
        case Accelerator.GPU:
            from ray.serve.llm.deployment import LLMServer

            return {**LLMServer.get_deployment_options(llm_config(settings)), **shared}
        case _:
            assert_never(settings.accelerator)


def _placement(settings: ModelSettings) -> dict[str, Any]:
    match settings.accelerator:
        case Accelerator.CPU:
            # The type of a GPU and this one exclude each other.
            bundles = [{"CPU": _CPU_SHARE / 2 / settings.tensor_parallel}] * settings.tensor_parallel
            return {"accelerator_config": {"kind": "cpu"}, "placement_group_config": {"bundles": bundles}}
        case Accelerator.GPU:
            return {} if settings.gpu_type is None else {"accelerator_type": settings.gpu_type}
        case _:
            assert_never(settings.accelerator)
