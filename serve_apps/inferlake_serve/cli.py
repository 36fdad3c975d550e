"""`inferlake serve`: a model on a Ray cluster of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import click
import httpx

from inferlake_serve import records
from inferlake_serve.errors import NotServing
from inferlake_serve.model_source import resolve_source
from inferlake_serve.settings import DEFAULT_NAME, Accelerator, ServeSettings
from inferlake_sql.secret import Secret

_DOWN_S = 60.0


@click.group()
def serve() -> None:
    """Serve a model with Ray Serve and vLLM, OpenAI-compatible."""


@serve.command()
@click.option("--model", default=None, help="Folder or hub id; by default the small model that comes with Inferlake.")
@click.option("--name", default=DEFAULT_NAME, show_default=True, help="What callers say as `model`.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free port.")
@click.option("--accelerator", type=click.Choice(["cpu", "gpu"]), default="cpu", show_default=True)
@click.option("--context-tokens", default=1024, show_default=True, type=click.IntRange(16), help="Prompt and answer.")
@click.option("--tensor-parallel", default=1, show_default=True, type=click.IntRange(1))
@click.option("--pipeline-parallel", default=1, show_default=True, type=click.IntRange(1))
@click.option("--gpu-type", default=None, help="Ray's name of the card, such as H200.")
@click.option("--register", "registry_url", default=None, help="Address of a registry to register the model at.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as one line of JSON.")
def up(
    model: str | None,
    name: str,
    port: int,
    accelerator: str,
    context_tokens: int,
    tensor_parallel: int,
    pipeline_parallel: int,
    gpu_type: str | None,
    registry_url: str | None,
    as_json: bool,
) -> None:
    """Serve until Ctrl-C; `inferlake serve down` from elsewhere does the same."""
    kind = Accelerator(accelerator)
    settings = ServeSettings(
        name=name,
        source=resolve_source(model, kind),
        accelerator=kind,
        context_tokens=context_tokens,
        tensor_parallel=tensor_parallel,
        pipeline_parallel=pipeline_parallel,
        gpu_type=gpu_type,
    )
    stop = _stop_signal()
    # Everything that Ray and vLLM print goes to standard error; standard output is for the one line.
    with _only_stderr() as answer:
        # Here and not above: Ray takes seconds to import, and --help and wrong options should not wait for it.
        from inferlake_serve import runtime

        port = runtime.choose_port(port)
        begun = time.monotonic()
        try:
            url = runtime.up(
                settings, port, lambda text: click.echo(f"[{time.monotonic() - begun:5.1f} s] {text}", err=True)
            )
            record = records.write(records.Served(name, url, os.getpid(), settings.source))
            try:
                _announce(answer, settings, url, registry_url, as_json)
                stop.wait()
            finally:
                record.unlink(missing_ok=True)
        finally:
            click.echo("stopping", err=True)
            runtime.down()


def _stop_signal() -> threading.Event:
    """Turn Ctrl-C and SIGTERM into an event; before the model is up they end the start."""
    stop = threading.Event()

    def asked(number: int, _: object) -> None:
        if stop.is_set():
            return
        stop.set()
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, asked)
    signal.signal(signal.SIGINT, asked)
    return stop


@contextlib.contextmanager
def _only_stderr() -> Iterator[Any]:
    """Point file descriptor 1 at standard error, for child processes too, and give the real one."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as real:
        os.dup2(2, 1)
        yield real


def _announce(answer: Any, settings: ServeSettings, url: str, registry_url: str | None, as_json: bool) -> None:
    done = None
    if registry_url is not None:
        from inferlake_serve.announce import register

        token = os.environ.get("INFERLAKE_REGISTRY_TOKEN")
        done = register(registry_url, settings.name, url, Secret(token) if token else None)
    if as_json:
        print(json.dumps({"name": settings.name, "url": url, "pid": os.getpid(), "registered": done}), file=answer)
    else:
        print(f"{settings.name} at {url}/v1/chat/completions" + (f" (registered: {done})" if done else ""), file=answer)
    answer.flush()


@serve.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(as_json: bool) -> None:
    """Show what is served from this account: address, health, requests so far."""
    found = [_state(served) for served in records.read()]
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    elif not found:
        click.echo("Nothing is being served; `inferlake serve up` starts a model.")
    for state in [] if as_json else found:
        click.echo(
            f"{state['name']}  {state['url']}  {state['health']}  {state['requests']} requests  pid {state['pid']}"
        )


def _state(served: records.Served) -> dict[str, Any]:
    try:
        with httpx.Client(base_url=served.url, timeout=10, trust_env=False) as http:
            health = "healthy" if http.get("/health").is_success else "unhealthy"
            requests = http.get("/v1/requests").json()["requests"]
    except (httpx.TransportError, ValueError, KeyError):
        health, requests = "no answer", None
    return {"name": served.name, "url": served.url, "pid": served.pid, "health": health, "requests": requests}


@serve.command()
@click.option("--name", default=None, help="Only this model; by default all of this account.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def down(name: str | None, as_json: bool) -> None:
    """Stop what is served, and wait until it is gone."""
    found = [served for served in records.read() if name in (None, served.name)]
    if not found and name is not None:
        raise NotServing(name)
    for served in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(served.pid, signal.SIGTERM)
    deadline = time.monotonic() + _DOWN_S
    pids = {served.pid for served in found}
    while pids & {served.pid for served in records.read()} and time.monotonic() < deadline:
        time.sleep(0.2)
    stopped = [served.name for served in found]
    click.echo(json.dumps({"stopped": stopped}) if as_json else f"Stopped: {', '.join(stopped) or 'nothing was up'}")
