"""Small texts: the same whether Spark's queries or Hadoop's file system reads and writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from inferlake.routing.small_files import _read_by_query, make_folder, read_text, write_text

TEXT = 'a "text"\nof two lines, 日本語 and é\n'


def test_a_text_is_read_as_it_was_written_and_replaces_the_one_before(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / "run id=1" / "marker")
    assert read_text(spark, folder) is None
    write_text(spark, folder, "before")
    write_text(spark, folder, TEXT)
    assert read_text(spark, folder) == TEXT
    assert [path.name for path in Path(folder).iterdir() if not path.name.startswith(".")] == ["part-0.txt"]


def test_what_one_kind_of_session_wrote_the_other_reads(spark: SparkSession, tmp_path: Path) -> None:
    by_file, by_query = str(tmp_path / "file"), str(tmp_path / "query")
    write_text(spark, by_file, TEXT)
    assert _read_by_query(spark, by_file) == TEXT
    spark.range(1, numPartitions=1).select(sf.lit("by a query")).write.text(by_query)
    assert read_text(spark, by_query) == "by a query\n"
    write_text(spark, by_query, TEXT)
    assert read_text(spark, by_query) == _read_by_query(spark, by_query) == TEXT


def test_what_a_writer_left_behind_that_died_is_no_text(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "marker"
    make_folder(spark, str(folder))
    assert folder.is_dir()
    assert read_text(spark, str(folder)) is None
    (folder / "_4f1c").write_text('{"half":')
    (folder / "_temporary").mkdir()
    assert read_text(spark, str(folder)) is None
    assert _read_by_query(spark, str(folder)) is None


def test_a_folder_that_cannot_be_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(Py4JJavaError, match="file"):
        write_text(spark, str(tmp_path / "file" / "marker"), TEXT)
