"""One server from its start to its end: a Ray cluster, Serve, the model, and then nothing left of them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from inferlake_serve.cluster import LocalCluster, make_folder
from inferlake_serve.errors import ServeFailed
from inferlake_serve.health import ask_health
from inferlake_serve.processes import adopt_orphans, end_all_below, entry_of
from inferlake_serve.running import Running, forget, note
from inferlake_serve.settings import ModelSettings

Tell = Callable[[str], None]

_APPLICATION: Final = "inferlake"
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Stop(BaseException):
    """A signal asked this process to end; raised in the main thread wherever it is."""


@dataclass(frozen=True, slots=True)
class Up:
    """A model that has answered."""

    running: Running
    url: str
    seconds: float


def serve_until_stopped(
    settings: ModelSettings, host: str, port: int, folder: Path, tell: Tell, ready: Callable[[Up], None]
) -> None:
    """Start the model, call ``ready``, and stay until SIGINT, SIGTERM or SIGHUP. To be called in the main thread.

    Raises ServeFailed. Whatever ends it, no process of it is left.
    """
    begun = time.monotonic()

    def say(what: str) -> None:
        tell(f"{time.monotonic() - begun:5.1f} s  {what}")

    adopt_orphans()
    with _stoppable(), _noted(settings, folder) as running, _cluster(settings, Path(running.files), say) as cluster:
        cluster.start_serve(host, port)
        _listen_to_signals()  # Ray installs handlers of its own
        say(f"Serve is up, loading {settings.source.source}")
        url = f"http://{host}:{port}"
        _deploy(cluster, settings, url)
        running = replace(running, url=url)
        note(running, folder)
        say(f"{settings.name} answers at {url}")
        ready(Up(running, url, time.monotonic() - begun))
        threading.Event().wait()


def _deploy(cluster: LocalCluster, settings: ModelSettings, url: str) -> None:
    from inferlake_serve.replica import application

    try:
        cluster.deploy(application(settings), _APPLICATION)
    except RuntimeError as error:
        raise ServeFailed(settings.name, str(error), str(cluster.logs)) from error
    health = ask_health(url)
    if not health.ok or settings.name not in health.models:
        raise ServeFailed(settings.name, health.cause or f"{url} serves {', '.join(health.models)}", str(cluster.logs))


@contextmanager
def _stoppable() -> Iterator[None]:
    """Turn the signals that end a process into a way out through every ``finally``."""
    before = {sign: signal.getsignal(sign) for sign in _STOP_SIGNALS}
    _listen_to_signals()
    try:
        yield
    except (_Stop, SystemExit):  # while Ray starts, its own handler makes the second of the first
        pass
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def _listen_to_signals() -> None:
    def stop(number: int, frame: object) -> None:
        raise _Stop()

    for sign in _STOP_SIGNALS:
        # Under nohup a closed terminal is no reason to end.
        if sign is not signal.SIGHUP or signal.getsignal(sign) is not signal.SIG_IGN:
            signal.signal(sign, stop)


@contextmanager
def _noted(settings: ModelSettings, folder: Path) -> Iterator[Running]:
    me = entry_of(os.getpid())
    assert me is not None
    since = datetime.now(UTC).isoformat(timespec="seconds")
    running = Running(settings.name, settings.source.source, me.pid, me.started, since, files=str(make_folder()))
    note(running, folder)
    try:
        yield running
    finally:
        forget(running, folder)


@contextmanager
def _cluster(settings: ModelSettings, files: Path, say: Tell) -> Iterator[LocalCluster]:
    say("starting Ray")
    cluster: LocalCluster | None = None
    failed = False
    try:
        cluster = LocalCluster(settings.accelerator, files)
        _listen_to_signals()
        say("Ray is up, starting Serve")
        yield cluster
    except ServeFailed:
        failed = True
        raise
    finally:
        # A second Ctrl-C must not cut this short.
        for sign in _STOP_SIGNALS:
            signal.signal(sign, signal.SIG_IGN)
        say("stopping")
        if cluster is not None:
            cluster.stop(keep_files=failed)
        end_all_below(os.getpid())
        say("stopped")
