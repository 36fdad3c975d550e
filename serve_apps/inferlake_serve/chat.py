"""The application for Serve's own command.

``serve run inferlake_serve.chat:app`` serves the model that ships; ``… model=Qwen/Qwen3-0.6B accelerator=gpu`` another.
"""

from __future__ import annotations

from pydantic import BaseModel
from ray import serve

from inferlake_serve.installation import check_engine
from inferlake_serve.model_source import SHIPPED_NAME, check_head_size, find_model
from inferlake_serve.replica import application
from inferlake_serve.settings import Accelerator, ModelSettings


class ChatArguments(BaseModel):
    """What ``serve run`` and a Serve configuration file may give; the same as the options of ``inferlake serve up``."""

    model: str | None = None
    name: str | None = None
    accelerator: Accelerator = Accelerator.CPU
    gpu_type: str | None = None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    replicas: int = 1
    context_tokens: int | None = None


def app(arguments: ChatArguments) -> serve.Application:
    """Return the bound application of one chat model. Raises the errors of ``inferlake_serve.errors``."""
    return application(settings_of(arguments))


def settings_of(arguments: ChatArguments) -> ModelSettings:
    """Return the settings, checked against this machine before anything is started."""
    check_engine()
    source = find_model(arguments.model)
    if arguments.accelerator is Accelerator.CPU:
        check_head_size(source)
    return ModelSettings(
        name=arguments.name or arguments.model or SHIPPED_NAME,
        source=source,
        **arguments.model_dump(exclude={"model", "name"}),
    )
