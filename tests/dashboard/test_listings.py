"""Lists in pages by key: nothing twice, nothing missing, counts that agree; and how a model's standing is told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dashboard_data
import pytest
from sqlalchemy import event, select

from inferlake_registry.contract.health import Health
from inferlake_registry.services.listings.keyset import Place, UnreadablePlace, read_place
from inferlake_registry.services.listings.models import ModelList, list_models
from inferlake_registry.services.listings.rejected import EXCERPT_CHARACTERS, RejectedFilter, list_rejected
from inferlake_registry.services.listings.runs import list_runs
from inferlake_registry.services.statements import execute
from inferlake_registry.store.database import Database, open_database
from inferlake_registry.store.schema import Model, ModelHealth, RejectedRow
from inferlake_registry.store.secrets import key_ring_from
from inferlake_sql.parse import parse

NOW = datetime(2026, 11, 30, 5, 27, 12, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_database(f"sqlite:///{tmp_path / 'registry.db'}")
    yield database
    database.close()


@pytest.fixture
def normal(database: Database) -> Database:
    dashboard_data.seed_normal(database, _execute(database), NOW)
    return database


def _execute(database: Database) -> dashboard_data.Execute:
    ring = key_ring_from(None, None)

    def run(text: str) -> None:
        statement = parse(text)
        assert statement is not None
        execute(database, ring, statement, actor="ana", now=NOW)

    return run


def _models(database: Database, **narrow: str) -> ModelList:
    with database.read() as session:
        return list_models(session, NOW, **narrow)


def test_pages_of_rejected_rows_hold_each_row_once(normal: Database) -> None:
    seen: list[str] = []
    place: Place | None = None
    with normal.read() as session:
        for _ in range(10):
            page = list_rejected(session, RejectedFilter(), place, limit=7)
            seen += [row.rejected_id for row in page.rows]
            place = page.following
        while place is not None:
            page = list_rejected(session, RejectedFilter(), place, limit=7)
            seen += [row.rejected_id for row in page.rows]
            place = page.following
        stored = set(session.scalars(select(RejectedRow.rejected_id)))
    assert len(seen) == len(set(seen)) == 130
    assert set(seen) == stored


def test_a_row_that_arrives_does_not_shift_the_next_page(normal: Database) -> None:
    with normal.read() as session:
        first = list_rejected(session, RejectedFilter(), limit=10)
        expected = list_rejected(session, RejectedFilter(), first.following, limit=10)
    dashboard_data.add_rejected(normal, "newest")
    with normal.read() as session:
        again = list_rejected(session, RejectedFilter(), first.following, limit=10)
    assert [row.rejected_id for row in again.rows] == [row.rejected_id for row in expected.rows]


def test_rows_of_one_moment_are_told_apart(database: Database) -> None:
    with database.write() as session:
        for number in range(9):
            session.add(dashboard_data.row(f"r{number}", "run", "schema", "x", "[]", "y", NOW, None))
    seen: list[str] = []
    place: Place | None = None
    with database.read() as session:
        for _ in range(5):
            page = list_rejected(session, RejectedFilter(), place, limit=2)
            seen += [item.rejected_id for item in page.rows]
            place = page.following
    assert seen == [f"r{number}" for number in reversed(range(9))]
    assert place is None


def test_facets_count_what_the_other_filters_leave(normal: Database) -> None:
    with normal.read() as session:
        every = list_rejected(session, RejectedFilter())
        one = list_rejected(session, RejectedFilter(reason="schema"))
        none = list_rejected(session, RejectedFilter(reason="schema", model="nobody"))
    assert {item.value: item.count for item in every.reasons} == {
        "schema": 52,
        "not_json": 26,
        "truncated": 26,
        "context_length": 26,
    }
    assert (one.matching, one.stored) == (52, 130)
    assert one.reasons == every.reasons  # a facet ignores its own filter, or one could not change it
    assert [(item.value, item.count) for item in one.models] == [("llm_intent_classifier", 52)]
    assert (none.matching, none.rows, none.reasons) == (0, (), ())


def test_a_text_of_a_megabyte_stays_in_the_database(database: Database) -> None:
    text = "é" * 1_000_000
    with database.write() as session:
        session.add(dashboard_data.row("long", "run", "schema", text, "[]", text, NOW, None))
    with database.read() as session:
        (item,) = list_rejected(session, RejectedFilter()).rows
    assert item.output is not None and item.input is not None
    assert item.output.beginning == "é" * EXCERPT_CHARACTERS
    assert item.output.characters == item.input.characters == 1_000_000


def test_errors_too_long_to_be_read_are_left_out(database: Database) -> None:
    errors = "[" + ",".join(['{"path":"/a","message":"no"}'] * 5_000) + "]"
    with database.write() as session:
        session.add(dashboard_data.row("long", "run", "schema", "x", errors, "y", NOW, None))
    with database.read() as session:
        (item,) = list_rejected(session, RejectedFilter()).rows
    assert item.errors is None


def test_runs_are_the_latest_first_and_narrowed_by_model(normal: Database) -> None:
    with normal.read() as session:
        both = list_runs(session)
        first = list_runs(session, limit=1)
        second = list_runs(session, after=first.following, limit=1)
        other = list_runs(session, model="summarise_de")
    assert [run.run_id for run in both.runs] == ["run-second", "run-first"]
    assert [run.run_id for run in (*first.runs, *second.runs)] == ["run-second", "run-first"]
    assert (second.following, other.runs) == (None, ())
    assert all(run.rows == run.accepted + run.rejected for run in both.runs)


def test_models_are_listed_by_name_with_what_is_live(normal: Database) -> None:
    found = _models(normal)
    by_name = {item.name: item for item in found.models}
    assert [item.name for item in found.models] == sorted(by_name, key=str.casefold)
    classifier = by_name["llm_intent_classifier"]
    assert (classifier.version, classifier.qps_limit, classifier.concurrency_limit) == ("2.1", 500.0, 1_024)
    assert len(classifier.samples) == 30
    assert [sample.at for sample in classifier.samples] == sorted(sample.at for sample in classifier.samples)
    assert [sample.ok for sample in classifier.samples].index(False) == 12
    assert found.states == {
        "healthy": 1,
        "degraded": 1,
        "unhealthy": 1,
        "misconfigured": 1,
        "stale": 1,
        "unknown": 1,
        "disabled": 1,
    }


def test_pages_of_models_hold_each_model_once(normal: Database) -> None:
    seen: list[str] = []
    after = ""
    with normal.read() as session:
        for _ in range(4):
            page = list_models(session, NOW, after=after, limit=2)
            seen += [item.name for item in page.models]
            after = page.following or ""
    assert len(seen) == len(set(seen)) == 7
    assert after == ""


def test_search_and_state_narrow_the_list_but_not_the_count_of_all(normal: Database) -> None:
    assert [item.name for item in _models(normal, search="INTENT").models] == ["llm_intent_classifier"]
    unwell = _models(normal, state="unhealthy")
    assert [item.name for item in unwell.models] == ["summarise_de"]
    assert unwell.registered == 7
    assert _models(normal, search="zzz").states == {}


def test_a_dropped_model_is_gone_from_the_list(normal: Database) -> None:
    _execute(normal)("DROP MODEL summarise_de")
    assert "summarise_de" not in {item.name for item in _models(normal).models}


def test_a_misconfigured_model_that_answered_once_is_still_listed(normal: Database) -> None:
    with normal.write() as session:
        stored = session.scalars(select(ModelHealth).join(Model).where(Model.name == "sentiment_xl")).one()
        stored.failures, stored.successes = 0, 1
    (item,) = _models(normal, search="sentiment").models
    assert item.standing.health is Health.MISCONFIGURED
    assert not item.standing.stale


def test_a_standing_turns_stale_with_age_alone(normal: Database) -> None:
    for minutes, stale in ((24, False), (26, True)):  # two and a half intervals of ten minutes
        with normal.read() as session:
            found = list_models(session, NOW + timedelta(minutes=minutes), search="summarise")
        assert found.models[0].standing.stale is stale
        assert found.models[0].standing.health is Health.UNHEALTHY


def test_a_page_of_models_takes_few_queries_however_many_there_are(normal: Database) -> None:
    queries: list[str] = []

    def note(_: object, __: object, statement: str, *___: object) -> None:
        if statement.startswith("SELECT"):
            queries.append(statement)

    event.listen(normal.engine, "before_cursor_execute", note)
    found = _models(normal)
    event.remove(normal.engine, "before_cursor_execute", note)
    assert len(found.models) == 7
    assert len(queries) == 4


@pytest.mark.parametrize("identity", ["", "a", "é\u202e", "x" * 300, "row-1"])
def test_a_place_survives_its_address(identity: str) -> None:
    place = Place(NOW, identity)
    assert read_place(place.write()) == place
    assert place.write().replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize("text", ["x", "!!!!", "W10", "WzEsMl0", "é", "WyJub3doZW4iLCIxIl0", "A" * 100_000])
def test_a_place_that_nobody_gave_out_is_refused(text: str) -> None:
    with pytest.raises(UnreadablePlace):
        read_place(text)
