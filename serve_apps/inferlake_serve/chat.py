"""The shipped model as a bound application: ``serve run inferlake_serve.chat:app``.

INFERLAKE_SERVE_MODEL (a folder or a hub id) and INFERLAKE_SERVE_NAME choose another one.
"""

from __future__ import annotations

import os

from inferlake_serve.model_source import resolve_source
from inferlake_serve.qwen import build_app
from inferlake_serve.settings import DEFAULT_NAME, Accelerator, ServeSettings

_ACCELERATOR = Accelerator(os.environ.get("INFERLAKE_SERVE_ACCELERATOR", Accelerator.CPU))

app = build_app(
    ServeSettings(
        name=os.environ.get("INFERLAKE_SERVE_NAME", DEFAULT_NAME),
        source=resolve_source(os.environ.get("INFERLAKE_SERVE_MODEL"), _ACCELERATOR),
        accelerator=_ACCELERATOR,
    )
)
