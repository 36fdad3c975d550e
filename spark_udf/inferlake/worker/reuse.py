"""A durable record of answers on any path that workers can write: a job that died pays only for what is missing.

The record is a folder of Arrow streams with a key and an encoded answer a row, outside Spark's own commits. Each
worker process appends to a file of its own; what it has is flushed before the rows go out, and on disks also as soon as
it has come in, so a killed job loses what was in flight and no more. When a job starts again with the same folder, each
host first reads all files into its answer store. A file that breaks off is read as far as it goes.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import threading
from collections import deque
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from inferlake.worker.answer_store import AnswerStore
from inferlake.worker.errors import ReuseUnusable

_SCHEMA: Final = pa.schema([pa.field("key", pa.binary(16)), pa.field("answer", pa.binary())])
_SUFFIX: Final = ".arrow"
_ADDED_AT_ONCE: Final = 1_000


class Journal:
    """One folder of answers, as one process reads and writes it."""

    def __init__(self, location: str, store: AnswerStore) -> None:
        self._location = location
        self._store = store
        self._mark = b"journal:" + blake2b(location.encode(), digest_size=8).digest()
        self._buffer: deque[tuple[bytes, bytes]] = deque()  # filled on the loop and emptied by any thread
        self._writing = threading.Lock()
        self._writer: pa.RecordBatchStreamWriter | None = None
        self._sink: pa.NativeFile | None = None
        self._flushing: asyncio.Handle | None = None
        try:
            self._files, self._folder = _open(location)
            self._files.create_dir(self._folder, recursive=True)
        except (OSError, pa.ArrowException) as error:
            raise ReuseUnusable(location, _reason(error)) from error

    @property
    def appends(self) -> bool:
        """Tell whether what is written can be read before the file is closed: on disks it can, in object stores not."""
        return isinstance(self._files, fs.LocalFileSystem)

    def load(self) -> None:
        """Bring the folder's answers into the store, once per host; other processes of the host wait for it."""
        lock = self._store.directory / f"{self._mark.hex()}.lock"
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not self._store.is_marked(self._mark, b""):
                try:
                    for answers in self._read():
                        self._store.add(answers)
                        self._store.mark(self._mark, (key for key, _ in answers))
                except (OSError, pa.ArrowException) as error:
                    raise ReuseUnusable(self._location, _reason(error)) from error
                self._store.mark(self._mark, (b"",))

    def write(self, key: bytes, answer: bytes) -> None:
        """Append an answer, unless the folder has it. Answers that come in at one moment are written in one piece."""
        if self._store.is_marked(self._mark, key):
            return
        self._buffer.append((key, answer))
        if self.appends and self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_soon(self._flush_early)

    def flush(self) -> None:
        """Hand everything so far to the file system. May be called from any thread.

        Raises ``ReuseUnusable``; what could not be written is kept, so the next flush tries it again or raises too.
        """
        with self._writing:
            taken = [self._buffer.popleft() for _ in range(len(self._buffer))]
            answers = dict(taken)
            if not answers:
                return
            keys, values = list(answers), list(answers.values())
            try:
                self._append(pa.record_batch([pa.array(keys, pa.binary(16)), pa.array(values, pa.binary())], _SCHEMA))
            except (OSError, pa.ArrowException) as error:
                self._buffer.extendleft(reversed(taken))
                self._leave_file()
                raise ReuseUnusable(self._location, _reason(error)) from error
            # Only now: whoever sees a mark lets its rows go out, and the process that set it may be killed at any time.
            self._store.mark(self._mark, keys)

    def close(self) -> None:
        """Flush the rest and close the file."""
        if self._flushing is not None:
            self._flushing.cancel()
        self.flush()
        self._end_file()

    def _flush_early(self) -> None:
        self._flushing = None
        with contextlib.suppress(ReuseUnusable):  # the flush before these rows go out meets it again
            self.flush()

    def _append(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._sink = self._files.open_output_stream(f"{self._folder}/{uuid4().hex}{_SUFFIX}")
            self._writer = pa.ipc.new_stream(self._sink, _SCHEMA)
        self._writer.write_batch(batch)
        if self.appends:
            assert self._sink is not None
            self._sink.flush()
        else:
            self._end_file()

    def _end_file(self) -> None:
        if self._writer is not None and self._sink is not None:
            self._writer.close()
            self._sink.close()
        self._writer = self._sink = None

    def _leave_file(self) -> None:
        """Give up a file that ends amid a batch: what came behind it could not be read."""
        with contextlib.suppress(OSError, pa.ArrowException):  # it has failed before
            if self._sink is not None:
                self._sink.close()
        self._writer = self._sink = None

    def _read(self) -> Iterator[list[tuple[bytes, bytes]]]:
        for info in self._files.get_file_info(fs.FileSelector(self._folder)):
            if info.path.endswith(_SUFFIX) and info.size:
                with self._files.open_input_stream(info.path) as source:
                    yield from _answers(source)


def _answers(source: pa.NativeFile) -> Iterator[list[tuple[bytes, bytes]]]:
    try:
        stream = pa.ipc.open_stream(source)
    except pa.ArrowInvalid:
        return  # its writer was killed before the first answer
    while True:
        try:
            batch = stream.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowInvalid, OSError):
            return  # its writer was killed amid this batch: whole batches before it count
        rows = list(zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True))
        for start in range(0, len(rows), _ADDED_AT_ONCE):
            yield rows[start : start + _ADDED_AT_ONCE]


def _open(location: str) -> tuple[fs.FileSystem, str]:
    if "://" in location or location.startswith("file:"):
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(location)
        return found
    return fs.LocalFileSystem(), str(Path(location).absolute())


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
