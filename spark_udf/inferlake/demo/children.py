"""The processes that the demo starts, and how none of them outlives it.

Ray, vLLM and Spark start helpers of their own, some of which leave their parent. On Linux a process can ask to become
the new parent of every orphan below it, so one walk down the tree of processes finds them all, whoever started them.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from inferlake.demo.errors import ServiceFailed, ServiceSlow
from inferlake_registry.contract.problems import from_problem
from inferlake_sql.errors import InferlakeError

_PR_SET_CHILD_SUBREAPER: Final = 36  # prctl(2), Linux 3.4
_GRACE_SECONDS: Final = 20.0  # Ray takes about 8 s to end an application with vLLM in it
_LAST_GRACE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Child:
    """A running process; its standard output goes to ``output``, its standard error to ``log``."""

    name: str
    process: subprocess.Popen[bytes]
    output: Path
    log: Path

    def first_line(self, seconds: float) -> str:
        """Wait for the line that says it is ready and return it.

        Raises what the process said it failed with, or ServiceFailed, and ServiceSlow when the time is over.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            ended = self.process.poll()
            line, newline, _ = self.output.read_text(encoding="utf-8", errors="replace").partition("\n")
            if newline:
                return line
            if ended is not None:
                raise _told_by(self.log) or ServiceFailed(self.name, ended, _last_words(self.log), self.log)
            time.sleep(0.05)
        raise ServiceSlow(self.name, seconds, self.log)


class Children:
    """Everything below this process: started here, or come of what was started here."""

    def __init__(self, folder: Path) -> None:
        """``folder`` gets the children's output and logs."""
        self._folder = folder
        self._started: list[Child] = []
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> Child:
        """Start a process in a session of its own, so that Ctrl-C in the terminal reaches only the demo itself."""
        stem = name.lower().replace(" ", "-")
        output, log = self._folder / f"{stem}.out", self._folder / f"{stem}.log"
        with output.open("wb") as out, log.open("wb") as err:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=None if environment is None else {**os.environ, **environment},
                start_new_session=True,
            )
        child = Child(name, process, output, log)
        self._started.append(child)
        return child

    def dead(self) -> tuple[Child, ...]:
        """Return the started processes that have ended."""
        return tuple(child for child in self._started if child.process.poll() is not None)

    def stop(self, told: Callable[[str], None]) -> None:
        """End every process below this one: the last started first, then whatever is left of their helpers."""
        for child in reversed(self._started):
            if child.process.poll() is None:
                told(child.name)
                child.process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.process.wait(_GRACE_SECONDS)
        for sign in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + _LAST_GRACE_SECONDS
            told_pids: set[int] = set()
            # Looked for again and again: a Ray that is just starting starts helpers while it is being stopped.
            while (remaining := self._remaining()) and time.monotonic() < deadline:
                for pid in set(remaining) - told_pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, sign)
                told_pids |= set(remaining)
                time.sleep(0.05)

    def _remaining(self) -> tuple[int, ...]:
        """Return the processes still alive, after burying those that ended."""
        for child in self._started:
            child.process.poll()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        return descendants(os.getpid())


def descendants(root: int) -> tuple[int, ...]:
    """Return the living processes below ``root``, nearest first; Linux only, as it reads ``/proc``."""
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            # A process may end while we look at it.
            with contextlib.suppress(OSError):
                # The name in parentheses may hold anything, spaces and parentheses included.
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    below.setdefault(int(parent), []).append(int(folder.name))
    found: list[int] = []
    queue = [root]
    while queue:
        children = below.get(queue.pop(0), [])
        found += children
        queue += children
    return tuple(found)


def _told_by(log: Path) -> InferlakeError | None:
    """Return the error that a command of ours ended with: with ``--json`` it is a problem document in the last line."""
    try:
        document = json.loads(_last_words(log))
    except ValueError:
        return None
    return from_problem(document) if isinstance(document, dict) and "code" in document else None


def _last_words(log: Path) -> str:
    """Return the last line that says something, which is where programs put the reason."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")
