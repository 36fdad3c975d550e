"""`inferlake serve`: a model on this machine, up, looked at and down again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final, TextIO

import click
from rich.console import Console
from rich.table import Table

from inferlake_serve import running as notes
from inferlake_serve.announce import CHAT_PATH, announce
from inferlake_serve.background import start_in_background, stop
from inferlake_serve.cluster import choose_port
from inferlake_serve.errors import NotServed
from inferlake_serve.health import ask_health
from inferlake_serve.installation import check_engine
from inferlake_serve.model_source import SHIPPED_NAME, check_head_size, find_model
from inferlake_serve.running import Running, list_running, sweep
from inferlake_serve.settings import Accelerator, ModelSettings
from inferlake_sql.secret import Secret

_TOKEN: Final = "INFERLAKE_REGISTRY_TOKEN"


@click.group()
def serve() -> None:
    """Serve a model on this machine, with Ray Serve and vLLM."""


@serve.command()
@click.option("--model", default=None, help="A folder or an id of the hub; by default the model that ships.")
@click.option("--name", default=None, help=f"What callers give as `model`; by default the id or {SHIPPED_NAME}.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=None, type=click.IntRange(0, 65535), help="0 takes any; by default 8000 if it is free.")
@click.option("--accelerator", type=click.Choice([one.value for one in Accelerator]), default="cpu", show_default=True)
@click.option("--gpu-type", default=None, help="A Ray accelerator type, e.g. H200; by default any GPU.")
@click.option("--tensor-parallel", default=1, show_default=True, type=click.IntRange(1), help="Parts of each layer.")
@click.option("--pipeline-parallel", default=1, show_default=True, type=click.IntRange(1), help="Groups of layers.")
@click.option("--context-tokens", default=None, type=click.IntRange(1), help="Most of prompt and answer together.")
@click.option("--register", "registry_url", default=None, metavar="URL", help="Register the model at that registry.")
@click.option("--foreground", is_flag=True, help="Stay until Ctrl-C instead of leaving the server in the background.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON with the address when the model is up.")
def up(
    model: str | None,
    name: str | None,
    host: str,
    port: int | None,
    accelerator: str,
    gpu_type: str | None,
    tensor_parallel: int,
    pipeline_parallel: int,
    context_tokens: int | None,
    registry_url: str | None,
    foreground: bool,
    as_json: bool,
) -> None:
    """Serve a model as an OpenAI-compatible endpoint.

    INFERLAKE_REGISTRY_TOKEN is the token for --register.
    """
    check_engine()
    source = find_model(model)
    if accelerator == Accelerator.CPU:
        check_head_size(source)
    settings = ModelSettings(
        name=name or model or SHIPPED_NAME,
        source=source,
        accelerator=Accelerator(accelerator),
        gpu_type=gpu_type,
        tensor_parallel=tensor_parallel,
        pipeline_parallel=pipeline_parallel,
        context_tokens=context_tokens,
    )
    sweep(notes.home())
    chosen = choose_port(host, port)
    if foreground:
        _stay(settings, host, chosen, registry_url, as_json)
    else:
        _leave(settings, host, chosen, registry_url, as_json)


@serve.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def status(as_json: bool) -> None:
    """Show what is served from this machine and how it is."""
    rows = [(one, ask_health(one.url) if one.url else None) for one in list_running(notes.home())]
    if as_json:
        click.echo(json.dumps([{**asdict(one), "health": asdict(health) if health else None} for one, health in rows]))
        return
    table = Table("name", "state", "address", "requests", "since", "pid", box=None, header_style="bold cyan")
    for one, health in rows:
        state = "starting" if health is None else "healthy" if health.ok else f"unhealthy: {health.cause}"
        count = "" if health is None or health.requests is None else str(health.requests)
        table.add_row(one.name, state, one.url or "", count, one.since, str(one.pid))
    Console().print(table if rows else "Nothing is served.", soft_wrap=True)


@serve.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def down(name: str | None, as_json: bool) -> None:
    """Stop the model served as NAME, or everything that is served from this machine."""
    sweep(notes.home())
    served = list_running(notes.home())
    chosen = [one for one in served if name in (None, one.name)]
    if name is not None and not chosen:
        raise NotServed(name, [one.name for one in served])
    for one in chosen:
        stop(one)
        if not as_json:
            click.echo(f"stopped {one.name} ({one.url or 'while it started'})")
    if as_json:
        click.echo(json.dumps({"stopped": [one.name for one in chosen]}))
    elif not chosen:
        click.echo("Nothing is served.")


def _stay(settings: ModelSettings, host: str, port: int, registry_url: str | None, as_json: bool) -> None:
    from inferlake_serve.server import Up, serve_until_stopped

    with _own_output() as output:

        def ready(up: Up) -> None:
            _register(registry_url, settings.name, up.url)
            line = _line(up.running, up.url, up.seconds) if as_json else _sentence(settings.name, up.url)
            click.echo(line, file=output)

        serve_until_stopped(settings, host, port, notes.home(), _progress, ready)


def _leave(settings: ModelSettings, host: str, port: int, registry_url: str | None, as_json: bool) -> None:
    arguments = ["--name", settings.name, "--model", settings.source.source, "--host", host, "--port", str(port)]
    arguments += ["--accelerator", settings.accelerator.value, "--tensor-parallel", str(settings.tensor_parallel)]
    arguments += ["--pipeline-parallel", str(settings.pipeline_parallel)]
    arguments += [] if settings.gpu_type is None else ["--gpu-type", settings.gpu_type]
    arguments += [] if settings.context_tokens is None else ["--context-tokens", str(settings.context_tokens)]
    arguments += [] if registry_url is None else ["--register", registry_url]
    line = start_in_background(settings.name, arguments, notes.home(), _progress)
    if as_json:
        click.echo(line)
    else:
        click.echo(_sentence(settings.name, str(json.loads(line)["url"])))
        click.echo("It stays up; `inferlake serve down` stops it.")


@contextmanager
def _own_output() -> Iterator[TextIO]:
    """Keep standard output for what we say: Ray's threads write to it as well, and its logs have all of that."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as output, Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        yield output


def _register(registry_url: str | None, name: str, url: str) -> None:
    if registry_url is None:
        return
    token = os.environ.get(_TOKEN)
    _progress(announce(registry_url, name, url, Secret(token) if token else None))


def _line(running: Running, url: str, seconds: float) -> str:
    facts = {"url": url, "chat_url": url + CHAT_PATH, "name": running.name, "model": running.model, "pid": running.pid}
    return json.dumps({**facts, "seconds": round(seconds, 1)})


def _sentence(name: str, url: str) -> str:
    return f"{name} is served at {url}{CHAT_PATH}"


def _progress(text: str) -> None:
    click.echo(text, err=True)
