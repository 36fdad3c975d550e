"""The servers of this user on this machine, each noted in a file as long as it runs.

The files lie below ``INFERLAKE_HOME`` (by default ``~/.inferlake``) in ``serve``, named by process number.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from inferlake_serve.processes import ProcessEntry, below, process_table


@dataclass(frozen=True, slots=True)
class Running:
    """One server. ``url`` is None while the model starts; ``pid`` and ``started`` name its process."""

    name: str
    model: str
    pid: int
    started: int
    since: str  # ISO 8601, UTC
    logs: str
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
    """Return the servers that run, by name; the notes of those that were killed are thrown away."""
    alive = []
    for file in sorted(folder.glob("*.json")):
        running = Running(**json.loads(file.read_text(encoding="utf-8")))
        if running.process is not None:
            alive.append(running)
        else:
            file.unlink(missing_ok=True)
    return tuple(sorted(alive, key=lambda one: (one.name, one.since)))


def _file(pid: int, folder: Path) -> Path:
    return folder / f"{pid}.json"
