"""The embedded registry: a process beside the driver that ends with it, for those who have none running.

Its models stay: they lie in a SQLite file in the user's own folder, ``INFERLAKE_HOME`` or ``~/.inferlake``.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from inferlake.connection import log
from inferlake.errors import RegistryNotStarted

HOME_VARIABLE: Final = "INFERLAKE_HOME"

_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 10.0
_NEEDED: Final = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "cryptography", "jinja2")

_lock: Final = threading.Lock()
_running: EmbeddedRegistry | None = None


def home() -> Path:
    """Return the user's own folder of models and history."""
    return Path(os.environ.get(HOME_VARIABLE) or Path.home() / ".inferlake")


class EmbeddedRegistry:
    """A running registry; it reads its standard input and stops when that ends, which is also when the driver dies."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self._log = folder / "registry.log"
        database = f"sqlite:///{(folder / 'registry.db').resolve()}"
        command = [sys.executable, "-m", "inferlake_registry", "serve", "--port", "0", "--json", "--until-eof"]
        with self._log.open("ab") as errors:
            self._process = subprocess.Popen(
                [*command, "--database", database],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,  # Ctrl-C in the terminal is for the driver
                env=_environment(),
            )
        self.url = self._announced()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the process by ending its input, and wait for it."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _announced(self) -> str:
        output = self._process.stdout
        assert output is not None
        deadline = time.monotonic() + _START_SECONDS
        while not select.select([output], [], [], 0.1)[0]:
            if time.monotonic() > deadline:
                self.stop()
                raise RegistryNotStarted(f"it said nothing for {_START_SECONDS:.0f} s", str(self._log))
        line = output.readline()
        if not line:
            self._process.wait()
            raise RegistryNotStarted(f"it ended with status {self._process.returncode}", str(self._log))
        return str(json.loads(line)["url"])


def embedded_registry(folder: Path | None = None) -> EmbeddedRegistry:
    """Return this process's embedded registry, started now if it is not running. Raises RegistryNotStarted."""
    global _running
    with _lock:
        if _running is None or not _running.alive:
            folder = folder or home()
            _check_installed(folder)
            _running = EmbeddedRegistry(folder)
            atexit.register(_running.stop)
            log.warning("Started an embedded model registry at %s (its data: %s).", _running.url, folder)
        return _running


def stop_embedded() -> None:
    """End the embedded registry, if there is one."""
    global _running
    with _lock:
        if _running is not None:
            atexit.unregister(_running.stop)
            _running.stop()
            _running = None


def _check_installed(folder: Path) -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        reason = f"the package {missing[0]} is missing (pip install 'inferlake[registry]')"
        raise RegistryNotStarted(reason, str(folder))


def _environment() -> dict[str, str]:
    # The child must import what this process imports, also where the project was never installed.
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths}
    environment.pop("INFERLAKE_REGISTRY_TOKEN", None)  # it guards the registry that the user runs, not this one
    return environment
