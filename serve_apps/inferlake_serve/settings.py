"""What is served, under which name, and on what: plain values that reach the replica as they are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inferlake_serve.model_source import ModelSource

# Below this size of weights a second thread costs more than it gives, and float32 is as fast as bfloat16.
_SMALL: Final = 64 * 1024 * 1024


class Accelerator(StrEnum):
    """What the engine computes on."""

    CPU = "cpu"
    GPU = "gpu"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One served model. ``name`` is what callers put into ``model``."""

    name: str
    source: ModelSource
    accelerator: Accelerator = Accelerator.CPU
    gpu_type: str | None = None  # a Ray accelerator type such as H200; None takes any GPU
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    replicas: int = 1
    context_tokens: int | None = (
        None  # tokens of prompt and answer together; None is what the model and the machine allow
    )

    @property
    def is_small(self) -> bool:
        """Whether the weights are so few that one thread serves best. Weights that are not here yet are not small."""
        size = self.source.weight_bytes
        return size is not None and size < _SMALL
