"""Ctrl-C, SIGTERM and a closed terminal as one exception in the main thread, once."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Final, NoReturn

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Somebody asked the demo to end. No ``Exception``, so that no library takes it for a fault of its own."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_status = 128 + number  # what a shell reports for a process that a signal ended


def arm() -> None:
    """Raise Interrupted in the main thread at the first of these signals; those that follow do nothing."""
    for number in _SIGNALS:
        signal.signal(number, _raise)


def calm() -> None:
    """Let no such signal do anything: an impatient second Ctrl-C must not leave processes behind."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    calm()
    raise Interrupted(number)
