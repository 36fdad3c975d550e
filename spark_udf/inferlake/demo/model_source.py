"""Where the demo's model comes from: the one that ships, a folder, the local cache, or the hub.

Asked before anything is started, so that a model that nobody can give costs no minute of waiting.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx

from inferlake.demo.errors import ModelOutOfReach

_HUB: Final = "https://huggingface.co"
_SECONDS: Final = 5.0


def find(model: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return what to serve: the absolute path of a folder, or the hub's id of a model that can be had.

    Raises ModelOutOfReach. The variables are the hub client's own: HF_ENDPOINT, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelOutOfReach(model, "the folder has no config.json")
        return str(folder.resolve())
    if model.startswith((".", "/", "~")):
        raise ModelOutOfReach(model, "there is no such folder")
    if not _is_cached(model, environment):
        _ask_hub(model, environment)
    return model


def _is_cached(model: str, environment: Mapping[str, str]) -> bool:
    home = environment.get("HF_HOME") or str(Path.home() / ".cache" / "huggingface")
    cache = Path(environment.get("HF_HUB_CACHE") or Path(home) / "hub")
    return any(cache.glob(f"models--{model.replace('/', '--')}/snapshots/*/config.json"))


def _ask_hub(model: str, environment: Mapping[str, str]) -> None:
    if environment.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        raise ModelOutOfReach(model, "HF_HUB_OFFLINE is set")
    hub = environment.get("HF_ENDPOINT") or _HUB
    try:
        answer = httpx.get(f"{hub}/api/models/{model}", timeout=_SECONDS, follow_redirects=True)
    except httpx.HTTPError as error:
        raise ModelOutOfReach(model, f"no network to the hub: {error}") from error
    if answer.is_error:
        raise ModelOutOfReach(model, f"it answers HTTP {answer.status_code}")
