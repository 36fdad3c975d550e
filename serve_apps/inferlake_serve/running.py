"""The servers of this user on this machine, each noted in a file as long as it runs.

The files lie below ``INFERLAKE_HOME`` (by default ``~/.inferlake``) in ``serve``, named by process number.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from inferlake_serve.processes import ProcessEntry, below, end_each, holding, process_table


@dataclass(frozen=True, slots=True)
class Running:
    """One server. ``url`` is None while the model starts; ``pid`` and ``started`` name its process."""

    name: str
    model: str
    pid: int
    started: int
    since: str  # ISO 8601, UTC
    files: str  # of its Ray cluster, logs among them
    url: str | None = None

    @property
    def process(self) -> ProcessEntry | None:
        """The server's process, or None when it has ended."""
        found = [entry for entry in process_table() if (entry.pid, entry.started) == (self.pid, self.started)]
        return found[0] if found else None

    def helpers(self) -> tuple[ProcessEntry, ...]:
        """Return the processes below the server."""
        return below(self.pid, process_table())


def home(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the notes; it need not exist."""
    return Path(environment.get("INFERLAKE_HOME") or Path.home() / ".inferlake") / "serve"


def note(running: Running, folder: Path) -> None:
    """Write a server down, or anew with what is known by now."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = _file(running.pid, folder).with_suffix(".draft")
    draft.write_text(json.dumps(asdict(running)), encoding="utf-8")
    draft.replace(_file(running.pid, folder))


def forget(running: Running, folder: Path) -> None:
    """Take a server out of the notes."""
    _file(running.pid, folder).unlink(missing_ok=True)


def list_running(folder: Path) -> tuple[Running, ...]:
    """Return the servers that run, by name."""
    return tuple(one for one in _noted(folder) if one.process is not None)


def sweep(folder: Path) -> None:
    """Clear away what servers left behind that were killed: processes, files and notes."""
    for one in _noted(folder):
        if one.process is None:
            end_each(holding(Path(one.files)))
            shutil.rmtree(one.files, ignore_errors=True)
            forget(one, folder)


def _noted(folder: Path) -> tuple[Running, ...]:
    files = folder.glob("*.json")
    noted = (Running(**json.loads(file.read_text(encoding="utf-8"))) for file in files)
    return tuple(sorted(noted, key=lambda one: (one.name, one.since)))


def _file(pid: int, folder: Path) -> Path:
    return folder / f"{pid}.json"
