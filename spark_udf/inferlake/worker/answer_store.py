"""Finished answers of one application on one host: a request is paid once however often Spark repeats it.

An LMDB file that all worker processes of the application share: a key is the hash of a request (``KeyMaker``), its
value either an answer or a claim. A claim says that a process is calling; the others wait for its answer. Claims end
by their answer, by being abandoned, by expiry, or with their process: each process holds a lock on a file of its own
for as long as it lives, so a claim of a killed worker is noticed at once.

Answers are not synced to disk. They must survive a worker, not the machine: ``inferlake.worker.reuse`` is for that.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import struct
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias
from uuid import uuid4

import lmdb

from inferlake.result import CallResult
from inferlake.worker.answer_codec import decode_answer

_log = logging.getLogger(__name__)

DIRECTORY_VARIABLE: Final = "INFERLAKE_STORE_DIR"
_MAP_BYTES: Final = 64 << 30  # address space, not memory or disk: the file is sparse
_LEAST_FREE_BYTES: Final = 256 << 20  # with less disk than this, new answers are not kept: a full disk kills a mapping
_ROOM_CHECKED_EVERY: Final = 1_024  # answers
_HOLDER_SEEN_S: Final = 0.5  # how long a holder that was seen alive is believed to be

_ANSWER: Final = b"A"
_CLAIM: Final = b"C"
_CLAIM_FORM: Final = struct.Struct("<16sd")


@dataclass(frozen=True, slots=True)
class Found:
    """The answer is there."""

    answer: CallResult


@dataclass(frozen=True, slots=True)
class Claimed:
    """The request is this process's to call."""


@dataclass(frozen=True, slots=True)
class Busy:
    """Another process is calling."""


Claim: TypeAlias = Found | Claimed | Busy

CLAIMED: Final = Claimed()
BUSY: Final = Busy()


def application_directory(application_id: str) -> Path:
    """Return the directory of an application's answers, on a path that all its processes on this host share.

    ``SPARK_LOCAL_DIRS`` differs between executors of one host, so it is not used. Another user's directory of the same
    name is refused.
    """
    configured = os.environ.get(DIRECTORY_VARIABLE)
    base = Path(configured) if configured else Path(tempfile.gettempdir()) / f"inferlake-{os.getuid()}"
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not configured and base.stat().st_uid != os.getuid():
        raise PermissionError(f"{base} belongs to somebody else; set {DIRECTORY_VARIABLE}")
    safe = "".join(char if char.isalnum() or char in "-_" else "_" for char in application_id)
    return base / f"answers-{safe}"


def remove_application(application_id: str) -> None:
    """Remove an application's answers from this host; called when it ends."""
    shutil.rmtree(application_directory(application_id), ignore_errors=True)


class AnswerStore:
    """One process's handle on the answers. Times are seconds of ``time.monotonic``, which one host has in common."""

    def __init__(self, directory: Path) -> None:
        for folder in (directory, directory / "holders"):  # the mode of parents made on the way is not ours to choose
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.directory = directory
        self._holder = uuid4().bytes
        self._lock = _locked(self._holder_file(self._holder))
        self._env = lmdb.open(
            str(directory),
            map_size=_MAP_BYTES,
            max_dbs=1,
            max_readers=1_024,
            writemap=True,
            map_async=True,
            sync=False,
            metasync=False,
            mode=0o600,
        )
        self._env.reader_check()
        self._marks = self._env.open_db(b"marks")
        self._seen_alive: dict[bytes, float] = {}
        self._unchecked = _ROOM_CHECKED_EVERY  # answers since somebody looked at the disk
        self._has_room = True

    def close(self) -> None:
        """Let go of everything; claims of this process end with it."""
        self._env.close()
        os.close(self._lock)
        self._holder_file(self._holder).unlink(missing_ok=True)

    def claim(self, keys: Iterable[bytes], now: float, expires: float) -> dict[bytes, Claim]:
        """Return for each key its answer, or the right to call until ``expires``, or that somebody else is calling."""
        claim = _CLAIM + _CLAIM_FORM.pack(self._holder, expires)
        claims: dict[bytes, Claim] = {}
        with self._env.begin(write=True, buffers=True) as transaction:
            for key in keys:
                value = transaction.get(key)
                claims[key] = seen = CLAIMED if value is None else self._read(value, now)
                if seen is CLAIMED:
                    transaction.put(key, claim)
        return claims

    def look(self, key: bytes, now: float) -> Claim:
        """Return the same without claiming anything; ``Claimed`` means that nobody is calling."""
        with self._env.begin(buffers=True) as transaction:
            value = transaction.get(key)
            return CLAIMED if value is None else self._read(value, now)

    def keep(self, answers: Mapping[bytes, bytes]) -> None:
        """Store encoded answers in place of their claims."""
        if not self._has_room_for(len(answers)):
            self.abandon(answers)
            return
        with self._env.begin(write=True) as transaction:
            for key, answer in answers.items():
                transaction.put(key, _ANSWER + answer)

    def abandon(self, keys: Iterable[bytes]) -> None:
        """Give up claims of this process: somebody else may call."""
        with self._env.begin(write=True) as transaction:
            for key in keys:
                if self._is_mine(transaction.get(key)):
                    transaction.delete(key)

    def renew(self, keys: Iterable[bytes], expires: float) -> None:
        """Extend claims of this process whose calls take long."""
        with self._env.begin(write=True) as transaction:
            for key in keys:
                if self._is_mine(transaction.get(key)):
                    transaction.put(key, _CLAIM + _CLAIM_FORM.pack(self._holder, expires))

    def add(self, answers: Iterable[tuple[bytes, bytes]]) -> None:
        """Store encoded answers from elsewhere, unless there are answers already."""
        with self._env.begin(write=True) as transaction:
            for key, answer in answers:
                value = transaction.get(key)
                if value is None or value[:1] != _ANSWER:
                    transaction.put(key, _ANSWER + answer)

    def mark(self, group: bytes, keys: Iterable[bytes]) -> None:
        """Remember that keys belong to a group."""
        with self._env.begin(write=True, db=self._marks) as transaction:
            for key in keys:
                transaction.put(group + key, b"")

    def is_marked(self, group: bytes, key: bytes) -> bool:
        """Tell whether a key belongs to a group."""
        with self._env.begin(db=self._marks) as transaction:
            return transaction.get(group + key) is not None

    def _is_mine(self, value: bytes | None) -> bool:
        return value is not None and value[:17] == _CLAIM + self._holder

    def _read(self, value: bytes | memoryview, now: float) -> Claim:
        if value[:1] == _ANSWER:
            return Found(decode_answer(value[1:]))
        holder, expires = _CLAIM_FORM.unpack(value[1:])
        if expires <= now or not self._alive(holder, now):
            return CLAIMED
        return BUSY

    def _alive(self, holder: bytes, now: float) -> bool:
        if holder == self._holder or self._seen_alive.get(holder, -1.0) > now - _HOLDER_SEEN_S:
            return True
        if not _is_locked(self._holder_file(holder)):
            return False
        self._seen_alive[holder] = now
        return True

    def _holder_file(self, holder: bytes) -> Path:
        return self.directory / "holders" / holder.hex()

    def _has_room_for(self, answers: int) -> bool:
        if self._unchecked >= _ROOM_CHECKED_EVERY:
            self._unchecked = 0
            free = shutil.disk_usage(self.directory).free
            if self._has_room and free < _LEAST_FREE_BYTES:
                _log.warning(
                    "%s has less than %d MiB left: answers are no longer kept, and a repeated request is paid again. "
                    "Set %s to a larger disk.",
                    self.directory,
                    _LEAST_FREE_BYTES >> 20,
                    DIRECTORY_VARIABLE,
                )
            self._has_room = free >= _LEAST_FREE_BYTES
        self._unchecked += answers
        return self._has_room


def _locked(file: Path) -> int:
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _is_locked(file: Path) -> bool:
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
