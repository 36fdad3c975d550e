"""What is being served from this account: one small file a model, so that `status` and `down` find it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Served:
    """A running `inferlake serve up`."""

    name: str
    url: str
    pid: int
    source: str


def folder() -> Path:
    """Return where the records lie."""
    return Path(os.environ.get("INFERLAKE_HOME", Path.home() / ".inferlake")) / "serve"


def write(served: Served) -> Path:
    """Write a record; returns its file."""
    folder().mkdir(parents=True, exist_ok=True)
    file = folder() / f"{quote(served.name, safe='')}-{served.pid}.json"
    file.write_text(json.dumps(asdict(served)), encoding="utf-8")
    return file


def read() -> Iterator[Served]:
    """Yield what is still running; the record of a process that is gone is removed."""
    for file in sorted(folder().glob("*.json")):
        try:
            served = Served(**json.loads(file.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            file.unlink(missing_ok=True)
            continue
        if _alive(served.pid):
            yield served
        else:
            file.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    # A process id may have been given to somebody else since.
    return b"serve" in arguments
