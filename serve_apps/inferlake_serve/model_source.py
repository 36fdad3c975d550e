"""Where a model comes from: the one that ships, a local folder, the hub's cache on this machine, or the hub itself.

Asked before anything is started, so that a model that nobody can give costs no minute of waiting.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from inferlake_serve.errors import ModelUnavailable, UnsupportedHeadSize

SHIPPED_NAME: Final = "session-classifier"
SHIPPED_MODEL: Final = Path(__file__).parent / "models" / SHIPPED_NAME

# vLLM 0.29.0, csrc/cpu/cpu_attn: any other size is refused when the first request comes, not at start.
CPU_HEAD_SIZES: Final = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)

_HUB: Final = "https://huggingface.co"
_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model that can be had. ``source`` is an absolute path or a hub id, ``folder`` where its files lie, if here."""

    source: str
    folder: Path | None

    @property
    def is_local(self) -> bool:
        """Whether the engine needs no network for it."""
        return self.folder is not None

    @property
    def weight_bytes(self) -> int | None:
        """The size of the weights, or None while they are not here."""
        if self.folder is None:
            return None
        return sum(file.stat().st_size for file in self.folder.glob("*.safetensors"))


def find_model(model: str | None, environment: Mapping[str, str] = os.environ) -> ModelSource:
    """Return where ``model`` is to be had; None stands for the one that ships. Raises ModelUnavailable.

    The variables are the hub client's own: HF_ENDPOINT, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE.
    """
    folder = SHIPPED_MODEL if model is None else Path(model).expanduser()
    named = SHIPPED_NAME if model is None else model
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelUnavailable(named, "the folder has no config.json")
        return ModelSource(str(folder.resolve()), folder.resolve())
    if named.startswith((".", "/", "~")):
        raise ModelUnavailable(named, "there is no such folder")
    cached = _cached(named, environment)
    if cached is None:
        _ask_hub(named, environment)
    return ModelSource(named, cached)


def check_head_size(source: ModelSource) -> None:
    """Refuse a model whose attention heads the CPU kernels do not have. A model that is not here yet passes."""
    if source.folder is None:
        return
    config = json.loads((source.folder / "config.json").read_text(encoding="utf-8"))
    config = config.get("text_config", config)
    size = config.get("head_dim")
    if size is None and {"hidden_size", "num_attention_heads"} <= set(config):
        size = config["hidden_size"] // config["num_attention_heads"]
    if size is not None and size not in CPU_HEAD_SIZES:
        raise UnsupportedHeadSize(source.source, size, CPU_HEAD_SIZES)


def _cached(model: str, environment: Mapping[str, str]) -> Path | None:
    home = environment.get("HF_HOME") or str(Path.home() / ".cache" / "huggingface")
    cache = Path(environment.get("HF_HUB_CACHE") or Path(home) / "hub")
    configs = cache.glob(f"models--{model.replace('/', '--')}/snapshots/*/config.json")
    return next((config.parent for config in configs if any(config.parent.glob("*.safetensors"))), None)


def _ask_hub(model: str, environment: Mapping[str, str]) -> None:
    if environment.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        raise ModelUnavailable(model, "it is not in the hub's cache here and HF_HUB_OFFLINE is set")
    hub = environment.get("HF_ENDPOINT") or _HUB
    try:
        answer = httpx.get(f"{hub}/api/models/{model}", timeout=_SECONDS, follow_redirects=True)
    except httpx.HTTPError as error:
        raise ModelUnavailable(model, f"there is no network to the hub ({error})") from error
    if answer.is_error:
        raise ModelUnavailable(model, f"the hub answers HTTP {answer.status_code}")
