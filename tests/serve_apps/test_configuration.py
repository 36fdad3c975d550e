"""What Ray and vLLM are told, for GPU and CPU, as data: no GPU is needed to see it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from serving_fixtures import need_engine, serving_environment

from inferlake_serve.model_source import SHIPPED_MODEL, ModelSource
from inferlake_serve.qwen import deployment_options, engine_arguments, environment
from inferlake_serve.settings import Accelerator, ModelSettings

HUB = ModelSource("Qwen/Qwen3-0.6B", None)
SHIPPED = ModelSource(str(SHIPPED_MODEL), SHIPPED_MODEL)


def settings(source: ModelSource = HUB, **more: object) -> ModelSettings:
    return ModelSettings("labels", source, **more)  # type: ignore[arg-type]


def test_on_a_gpu_the_engine_keeps_its_own_defaults() -> None:
    arguments = engine_arguments(settings(accelerator=Accelerator.GPU, tensor_parallel=2, pipeline_parallel=2))
    assert arguments == {
        "tensor_parallel_size": 2,
        "pipeline_parallel_size": 2,
        "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
    }


def test_on_a_cpu_no_prompt_is_split_and_the_cache_is_small() -> None:
    arguments = engine_arguments(settings(SHIPPED))
    assert arguments["enable_chunked_prefill"] is False
    assert arguments["max_num_batched_tokens"] >= 1024
    assert arguments["kv_cache_memory_bytes"] == 128 * 1024 * 1024
    assert (arguments["dtype"], arguments["enforce_eager"]) == ("float32", True)


def test_a_larger_model_on_a_cpu_gets_more_of_everything_but_a_bounded_context() -> None:
    arguments = engine_arguments(settings())
    assert (arguments["dtype"], arguments["max_model_len"]) == ("bfloat16", 4096)
    assert arguments["max_num_batched_tokens"] >= arguments["max_model_len"]
    assert engine_arguments(settings(context_tokens=8192))["max_num_batched_tokens"] == 8192


def test_nothing_is_reported_and_a_local_model_asks_no_hub() -> None:
    assert environment(settings(SHIPPED))["HF_HUB_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in environment(settings())
    for source in (SHIPPED, HUB):
        assert environment(settings(source))["VLLM_NO_USAGE_STATS"] == "1"


def test_two_ranks_on_a_cpu_have_a_core_each() -> None:
    assert environment(settings(SHIPPED, tensor_parallel=2))["VLLM_CPU_OMP_THREADS_BIND"] == "0|1"


def test_a_cpu_deployment_fits_on_one_core_beside_serve() -> None:
    options = deployment_options(settings(SHIPPED))
    assert options["ray_actor_options"]["num_cpus"] == 0.5
    assert options["num_replicas"] == 1


@pytest.mark.timeout(180)
def test_ray_makes_gpu_bundles_and_its_own_executor_of_it(tmp_path: Path) -> None:
    need_engine()
    program = """
import json
from inferlake_serve.model_source import ModelSource
from inferlake_serve.qwen import llm_config
from inferlake_serve.settings import Accelerator, ModelSettings
config = llm_config(ModelSettings(
    "labels", ModelSource("Qwen/Qwen3-0.6B", None), Accelerator.GPU, gpu_type="H200", tensor_parallel=2
))
engine = config.get_engine_config()
print(json.dumps({"bundles": engine.placement_bundles, "arguments": engine.get_initialization_kwargs()}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=serving_environment(tmp_path), check=True
    )
    made = json.loads(done.stdout.splitlines()[-1])
    assert [(bundle["GPU"], bundle["accelerator_type:H200"]) for bundle in made["bundles"]] == [(1, 0.001)] * 2
    assert made["arguments"]["distributed_executor_backend"] == "ray"
    assert made["arguments"]["model"] == "Qwen/Qwen3-0.6B"
    assert made["arguments"]["served_model_name"] == ["labels"]
