"""A durable record of answers on any path that workers can write: a job that died pays only for what is missing.

The record is a folder of Arrow streams with a key and an encoded answer a row, outside Spark's own commits. Each
worker process appends to a file of its own; what it has is flushed before the rows go out, and on disks also at every
32nd answer and after fifty milliseconds, so a killed job loses what was in flight and little more. When a job starts
again with the same folder, each host first reads all files into its answer store. A file that breaks off is read as
far as it goes.
"""

from __future__ import annotations

import asyncio
import fcntl
import threading
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
_FLUSHED_EVERY_S: Final = 0.05
_FLUSHED_AT: Final = 32  # answers
_ADDED_AT_ONCE: Final = 1_000


class Journal:
    """One folder of answers, as one process reads and writes it."""

    def __init__(self, location: str, store: AnswerStore) -> None:
        self._location = location
        self._store = store
        self._mark = b"journal:" + blake2b(location.encode(), digest_size=8).digest()
        self._buffer: list[tuple[bytes, bytes]] = []
        self._writing = threading.Lock()
        self._writer: pa.RecordBatchStreamWriter | None = None
        self._sink: pa.NativeFile | None = None
        self._timer: asyncio.TimerHandle | None = None
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
        """Append an answer, unless the folder has it."""
        if self._store.is_marked(self._mark, key):
            return
        self._store.mark(self._mark, (key,))
        self._buffer.append((key, answer))
        if not self.appends:
            return
        if len(self._buffer) >= _FLUSHED_AT:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_FLUSHED_EVERY_S, self._flush_timed)

    def flush(self) -> None:
        """Hand everything so far to the file system. May be called from any thread."""
        with self._writing:
            buffer, self._buffer = self._buffer, []
            if not buffer:
                return
            keys, answers = zip(*buffer, strict=True)
            try:
                self._append(pa.record_batch([pa.array(keys, pa.binary(16)), pa.array(answers, pa.binary())], _SCHEMA))
            except (OSError, pa.ArrowException) as error:
                raise ReuseUnusable(self._location, _reason(error)) from error

    def close(self) -> None:
        """Flush the rest and close the file."""
        if self._timer is not None:
            self._timer.cancel()
        self.flush()
        self._end_file()

    def _flush_timed(self) -> None:
        self._timer = None
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
