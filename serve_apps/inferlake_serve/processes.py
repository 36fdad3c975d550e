"""The processes below a server: Ray's daemons, replicas and engines, of which none may outlive it. Linux.

Ray starts daemons that start workers that start engines; one in the middle that dies leaves its children behind. A
process can ask to become the new parent of every orphan below it, so one walk down the tree finds them all.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PR_SET_CHILD_SUBREAPER: Final = 36  # prctl(2), Linux 3.4
_GRACE_SECONDS: Final = 4.0


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """A line of the process table. ``started`` is in clock ticks since boot: with the number it names one process."""

    pid: int
    parent: int
    session: int
    started: int


def adopt_orphans() -> None:
    """Make this process the parent of every process below it whose own parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def process_table() -> tuple[ProcessEntry, ...]:
    """Return every process that runs; those that ended and are not buried yet do not count."""
    return tuple(_read_table())


def entry_of(pid: int) -> ProcessEntry | None:
    """Return the process of that number, or None when none runs."""
    return next((entry for entry in _read_table() if entry.pid == pid), None)


def below(root: int, table: Iterable[ProcessEntry]) -> tuple[ProcessEntry, ...]:
    """Return the processes below ``root``, nearest first."""
    children: dict[int, list[ProcessEntry]] = {}
    for entry in table:
        children.setdefault(entry.parent, []).append(entry)
    found: list[ProcessEntry] = []
    queue = [root]
    while queue:
        nearest = children.get(queue.pop(0), [])
        found += nearest
        queue += [entry.pid for entry in nearest]
    return tuple(found)


def end_all_below(root: int) -> None:
    """End every process below this one, politely first."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for entry in below(root, process_table()):
            send(entry, sign)
        deadline = time.monotonic() + _GRACE_SECONDS
        while time.monotonic() < deadline:
            _bury()
            if not below(root, process_table()):
                return
            time.sleep(0.05)


def holding(folder: Path) -> tuple[ProcessEntry, ...]:
    """Return the processes that have a file below ``folder`` open: what is left of a server that was killed."""
    return tuple(entry for entry in process_table() if _holds(entry, folder))


def end_each(entries: Iterable[ProcessEntry]) -> None:
    """Kill processes that are nobody's any more."""
    for entry in entries:
        send(entry, signal.SIGKILL)


def send(entry: ProcessEntry, sign: signal.Signals) -> None:
    """Send a signal to exactly this process: not to a later one that got its number."""
    if entry in process_table():
        with contextlib.suppress(ProcessLookupError):
            os.kill(entry.pid, sign)


def _holds(entry: ProcessEntry, folder: Path) -> bool:
    # Somebody else's process does not tell what it has open, and is not ours to end.
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{entry.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if link.readlink().is_relative_to(folder):
                    return True
    return False


def _bury() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _read_table() -> Iterator[ProcessEntry]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        # A process may end while we look at it.
        with contextlib.suppress(OSError):
            # proc_pid_stat(5). The name in parentheses may hold anything, so fields count from the last of them.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if fields[0] not in "ZX":
                yield ProcessEntry(int(folder.name), int(fields[1]), int(fields[3]), int(fields[19]))
