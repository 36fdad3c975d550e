"""Names of folders, tables and columns: different things never meet, and odd names are taken or refused with a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferlake.errors import InvalidArgument
from inferlake.routing.layout import RunPlace, base_folder, check_names, check_run, quoted, stored_names, table_parts


def test_a_plain_run_is_its_own_folder() -> None:
    place = RunPlace("/w/inferlake/t", "2024-06-01")
    assert place.folder == "/w/inferlake/t/run_id=2024-06-01"
    assert place.attempt("a") == "/w/inferlake/t/run_id=2024-06-01/a"


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_different_runs_have_different_and_harmless_folders(one: str, other: str) -> None:
    folders = [RunPlace("/w", run).folder.removeprefix("/w/run_id=") for run in (one, other)]
    assert (folders[0] == folders[1]) == (one == other)
    for folder in folders:
        assert folder.isascii()
        assert not set(folder) & set("/\\:%*?[]{} '\"")


@pytest.mark.parametrize("run", ["", "  ", "a\nb", "x" * 201])
def test_a_run_that_cannot_be_named_is_refused(run: str) -> None:
    with pytest.raises(InvalidArgument):
        check_run(run)


@pytest.mark.parametrize(
    ("name", "parts"),
    [("t", ("t",)), ("db.t", ("db", "t")), ("`a.b`.`c``d`", ("a.b", "c`d")), ("c.d.t", ("c", "d", "t"))],
)
def test_table_names(name: str, parts: tuple[str, ...]) -> None:
    assert table_parts(name) == parts
    assert table_parts(quoted(parts)) == parts


@pytest.mark.parametrize("name", ["", ".", "a.", "a..b", "a b", "a.b.c.d", "`a", "a; DROP TABLE b"])
def test_what_is_no_table_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument):
        table_parts(name)


def test_base_is_below_the_location_or_the_warehouse() -> None:
    assert base_folder(None, "file:/w/", ("db", "t")) == "file:/w/inferlake/db/t"
    assert base_folder("s3a://b/x/", "file:/w", ("t",)) == "s3a://b/x/t"


def test_a_column_shares_ours_of_the_same_type_and_moves_away_from_another() -> None:
    columns = {"id": "bigint", "ai_output": "string", "Model": "string", "attempts": "bigint", "run_id": "string"}
    assert stored_names(columns) == {
        "id": "id",
        "ai_output": "ai_output",
        "Model": "Model",
        "attempts": "row_attempts",
        "run_id": "row_run_id",
    }
    crowded = {"source": "int", "row_source": "string"}
    assert stored_names(crowded) == {"source": "row_row_source", "row_source": "row_source"}


def test_columns_that_differ_in_case_alone_are_refused() -> None:
    with pytest.raises(InvalidArgument):
        check_names(["a", "A"])
