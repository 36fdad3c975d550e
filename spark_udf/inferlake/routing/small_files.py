"""Small texts on the file systems that Spark writes to: each is there whole or not at all.

A text is a folder with one file in it, since that is what Spark's own reader and writer make of one. In Connect they do
the work; with a JVM at hand, Hadoop's file system does the same without planning a query each time.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from inferlake.session_kind import is_connect

_NAME: Final = "part-0.txt"


def read_text(spark: SparkSession, folder: str) -> str | None:
    """Return the text in a folder; None when there is no such folder, or nothing in it."""
    return _read_by_query(spark, folder) if is_connect(spark) else _Hadoop(spark, folder).read()


def write_text(spark: SparkSession, folder: str, text: str) -> None:
    """Write a text into a folder, in place of what is there; of two that do so at once one stays.

    Raises OSError when the file system does not take it.
    """
    if is_connect(spark):
        spark.range(1, numPartitions=1).select(sf.lit(text)).write.mode("overwrite").text(folder)
    else:
        _Hadoop(spark, folder).write(text)


def make_folder(spark: SparkSession, folder: str) -> None:
    """Make a folder, unless it is there."""
    if is_connect(spark):
        spark.createDataFrame([], "value string").write.mode("ignore").text(folder)
    else:
        _Hadoop(spark, folder).make()


def _read_by_query(spark: SparkSession, folder: str) -> str | None:
    try:
        # Twice the same: in a single path Spark looks for a streaming sink's log, and logs a trace if it is not there.
        rows = spark.read.text([folder, folder], wholetext=True).collect()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
    return str(rows[0][0]) if rows else None


class _Hadoop:
    """A folder on the file system that its path names, by the session's own settings."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        session: Any = spark
        self._path = session._jvm.org.apache.hadoop.fs.Path
        self._folder = self._path(folder)
        self._files = self._folder.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())

    def read(self) -> str | None:
        file = self._text_file()
        if file is None:
            return None
        stream = self._files.open(file)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write(self, text: str) -> None:
        written = self._path(self._folder, f"_{uuid.uuid4().hex}")
        stream = self._files.create(written)
        try:
            stream.write(text.encode())
        finally:
            stream.close()
        before = self._text_file()
        if before is not None:
            self._files.delete(before, False)
        if not self._files.rename(written, self._path(self._folder, _NAME)) and self._text_file() is None:
            raise OSError(f"{written.toString()} could not be given its name.")

    def make(self) -> None:
        self._files.mkdirs(self._folder)

    def _text_file(self) -> Any:
        """Return the path of the one file that a reader of Spark would see, or None."""
        if not self._files.exists(self._folder):
            return None
        paths = [status.getPath() for status in self._files.listStatus(self._folder) if status.isFile()]
        return next((path for path in paths if path.getName()[0] not in "_."), None)
