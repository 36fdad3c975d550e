"""`inferlake registry`: runs the service."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click
import uvicorn

from inferlake_registry.contract.problems import PortInUse
from inferlake_registry.service import build_service, hosts_for
from inferlake_registry.settings import Settings, default_database, key_file_of
from inferlake_sql.secret import Secret

_TOKEN: Final = "INFERLAKE_REGISTRY_TOKEN"
_KEY: Final = "INFERLAKE_SECRET_KEY"


@click.group()
def registry() -> None:
    """Run the model registry."""


@registry.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8085, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free port.")
@click.option("--database", default=None, help="SQLAlchemy address; by default a SQLite file below ~/.inferlake.")
@click.option("--allow-host", multiple=True, help="Another name that a service on loopback may be called by (proxies).")
@click.option("--no-probes", is_flag=True, help="Do not probe endpoints from this process.")
@click.option("--until-eof", is_flag=True, help="Stop when standard input ends, that is when the parent does.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as one line of JSON.")
def serve(
    host: str,
    port: int,
    database: str | None,
    allow_host: tuple[str, ...],
    no_probes: bool,
    until_eof: bool,
    as_json: bool,
) -> None:
    """Serve until Ctrl-C.

    INFERLAKE_REGISTRY_TOKEN, when set, is the token that callers must give. INFERLAKE_SECRET_KEY holds the keys that
    secrets are encrypted with; without it a key file beside the SQLite database is used.
    """
    address = database or default_database()
    settings = Settings(
        database=address,
        token=_secret(_TOKEN),
        secret_key=_secret(_KEY),
        key_file=key_file_of(address),
        probes=not no_probes,
        hosts=hosts_for(host, allow_host),
    )
    listener = _listen(host, port)
    app = build_service(settings)
    server = _Server(
        uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5), as_json, listener
    )
    if until_eof:
        threading.Thread(target=_stop_at_eof, args=(server,), daemon=True).start()
    server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """Says where it is as soon as it answers."""

    def __init__(self, config: uvicorn.Config, as_json: bool, listener: socket.socket) -> None:
        super().__init__(config)
        self._as_json = as_json
        self._listener = listener

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End in order on a signal, with status 0: uvicorn's own would send the signal to us again at the end."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.should_exit:
            return
        host, port = self._listener.getsockname()[:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        line = json.dumps({"url": url, "pid": os.getpid()}) if self._as_json else f"Inferlake registry at {url}"
        click.echo(line)
        sys.stdout.flush()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(512)
    except OSError:
        listener.close()
        raise PortInUse(host, port) from None
    listener.set_inheritable(True)
    return listener


def _stop_at_eof(server: uvicorn.Server) -> None:
    # Below Python's own buffer: its lock, held by a reading thread, makes the interpreter abort when it ends.
    while os.read(sys.stdin.fileno(), 65_536):
        pass
    server.should_exit = True


def _secret(name: str) -> Secret | None:
    # Taken out of the environment, so that no child process and no crash report can show it.
    value = os.environ.pop(name, "")
    return Secret(value) if value else None
