"""A local Ray cluster with one served model in it: up, ready, down, and nothing left behind."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable
from typing import Final

import httpx
import ray
from ray import serve
from ray.exceptions import RayError

from inferlake_serve.errors import ServeFailed, ServePortInUse
from inferlake_serve.qwen import build_app
from inferlake_serve.settings import Accelerator, ServeSettings

APPLICATION: Final = "inferlake"
# Two logical cores whatever the machine has: the shares in ``qwen`` are fractions of them.
_CPUS: Final = 2
_READY_S: Final = 300.0


def choose_port(port: int) -> int:
    """Return the port, or a free one for 0. Raises ServePortInUse."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise ServePortInUse(port) from None
        return int(probe.getsockname()[1])


def up(settings: ServeSettings, port: int, said: Callable[[str], None]) -> str:
    """Start Ray, the model and its HTTP front; return the address when a real answer has come back.

    ``said`` hears in a few words what is happening. Raises ServeFailed, EngineConflict, EngineMissing.
    """
    said("starting Ray")
    _start_ray(settings)
    said("loading vLLM and the model")
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        serve.run(build_app(settings), name=APPLICATION, route_prefix="/")
    except (RayError, RuntimeError) as error:
        raise ServeFailed(str(error).strip().splitlines()[-1][:300]) from error
    said("asking it a first question")
    url = f"http://127.0.0.1:{port}"
    _first_answer(settings.name, url)
    return url


def down() -> None:
    """Stop the application and Ray with all their processes."""
    serve.shutdown()
    ray.shutdown()


def _start_ray(settings: ServeSettings) -> None:
    # Nothing is reported to anybody, and a cluster on loopback needs no tokens between its own processes.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    on_cpu = settings.accelerator is Accelerator.CPU
    ray.init(
        address="local",
        num_cpus=max(_CPUS, settings.tensor_parallel) if on_cpu else None,
        num_gpus=0 if on_cpu else None,
        include_dashboard=False,
        log_to_driver=True,
        logging_level=logging.WARNING,
    )


def _first_answer(name: str, url: str) -> None:
    """Ask for one token: a model that only claims to be healthy is found out here and not by the first user."""
    body = {"model": name, "messages": [{"role": "user", "content": "ping"}], "max_tokens": 1, "temperature": 0}
    deadline = time.monotonic() + _READY_S
    while True:
        try:
            answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60, trust_env=False)
        except httpx.TransportError as error:
            answer, why = None, type(error).__name__
        else:
            why = f"HTTP {answer.status_code}"
        if answer is not None and answer.status_code == httpx.codes.OK:
            return
        if time.monotonic() > deadline or (answer is not None and answer.is_client_error):
            raise ServeFailed(f"its first answer was {why}")
        time.sleep(0.2)
