"""Rejected rows, the latest first, narrowed by reason, model, version and run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from inferlake_registry.services.listings.keyset import PAGE_SIZE, Place
from inferlake_registry.store.schema import RejectedRow

# A list shows the beginning of a text; one row's text may be a megabyte, so the rest stays in the database.
EXCERPT_CHARACTERS: Final = 1_200
# Errors are JSON, which cannot be cut and read; one that is longer than this says nothing more to a person.
_ERRORS_CHARACTERS: Final = 64_000
# Most values that a filter offers; reasons are few, models that people reject rows of are too.
_FACETS: Final = 20


@dataclass(frozen=True, slots=True)
class RejectedFilter:
    """Which rejected rows; an empty text is any."""

    reason: str = ""
    model: str = ""
    version: str = ""
    run: str = ""

    @property
    def narrows(self) -> bool:
        """Whether anything is filtered at all."""
        return bool(self.reason or self.model or self.version or self.run)


@dataclass(frozen=True, slots=True)
class LongText:
    """The beginning of a text, and how many characters it has in all."""

    beginning: str
    characters: int


@dataclass(frozen=True, slots=True)
class RejectedItem:
    """One rejected row; ``errors`` is the JSON text of what failed, None when it is too long to be read."""

    rejected_id: str
    run_id: str
    row_key: str
    model: str | None
    version: str | None
    reason: str
    errors: str | None
    output: LongText | None
    input: LongText | None
    at: datetime


@dataclass(frozen=True, slots=True)
class ValueCount:
    """How many rows have a value."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class RejectedList:
    """One page of rows; the counts are over all pages, each facet without its own filter."""

    rows: tuple[RejectedItem, ...]
    following: Place | None
    stored: int
    matching: int
    reasons: tuple[ValueCount, ...]
    models: tuple[ValueCount, ...]


def list_rejected(
    session: Session, narrow: RejectedFilter, after: Place | None = None, limit: int = PAGE_SIZE
) -> RejectedList:
    """Return one page of rejected rows with the counts that its filters show."""
    query = _columns().where(*_conditions(narrow))
    if after is not None:
        query = query.where(
            or_(
                RejectedRow.rejected_at < after.at,
                and_(RejectedRow.rejected_at == after.at, RejectedRow.rejected_id < after.identity),
            )
        )
    query = query.order_by(RejectedRow.rejected_at.desc(), RejectedRow.rejected_id.desc()).limit(limit + 1)
    found = [_item(row) for row in session.execute(query)]
    rows = tuple(found[:limit])
    more = len(found) > limit
    return RejectedList(
        rows=rows,
        following=Place(rows[-1].at, rows[-1].rejected_id) if more else None,
        stored=session.scalar(select(func.count()).select_from(RejectedRow)) or 0,
        matching=session.scalar(select(func.count()).select_from(RejectedRow).where(*_conditions(narrow))) or 0,
        reasons=_facet(session, RejectedRow.reason, _conditions(narrow, but="reason")),
        models=_facet(session, RejectedRow.model, _conditions(narrow, but="model")),
    )


def _columns() -> Select[*tuple[Any, ...]]:
    return select(
        RejectedRow.rejected_id,
        RejectedRow.run_id,
        RejectedRow.row_key,
        RejectedRow.model,
        RejectedRow.model_version,
        RejectedRow.reason,
        func.substr(RejectedRow.errors, 1, _ERRORS_CHARACTERS + 1).label("errors"),
        func.substr(RejectedRow.ai_output, 1, EXCERPT_CHARACTERS).label("output"),
        func.length(RejectedRow.ai_output).label("output_length"),
        func.substr(RejectedRow.input, 1, EXCERPT_CHARACTERS).label("sent"),
        func.length(RejectedRow.input).label("sent_length"),
        RejectedRow.rejected_at,
    )


def _item(row: Row[Any]) -> RejectedItem:
    return RejectedItem(
        rejected_id=row.rejected_id,
        run_id=row.run_id,
        row_key=row.row_key,
        model=row.model,
        version=row.model_version,
        reason=row.reason,
        errors=row.errors if len(row.errors) <= _ERRORS_CHARACTERS else None,
        output=_long(row.output, row.output_length),
        input=_long(row.sent, row.sent_length),
        at=row.rejected_at,
    )


def _long(beginning: str | None, characters: int | None) -> LongText | None:
    # SQLite's length() stops at a NUL, so the count is never less than what is there.
    return None if beginning is None else LongText(beginning, max(characters or 0, len(beginning)))


def _conditions(narrow: RejectedFilter, but: str = "") -> list[ColumnElement[bool]]:
    wanted = (
        ("reason", RejectedRow.reason, narrow.reason),
        ("model", RejectedRow.model, narrow.model),
        ("version", RejectedRow.model_version, narrow.version),
        ("run", RejectedRow.run_id, narrow.run),
    )
    return [column == value for name, column, value in wanted if value and name != but]


def _facet(
    session: Session, column: InstrumentedAttribute[Any], conditions: list[ColumnElement[bool]]
) -> tuple[ValueCount, ...]:
    number = func.count()
    query = (
        select(column, number)
        .where(*conditions, column.is_not(None))
        .group_by(column)
        .order_by(number.desc(), column)
        .limit(_FACETS)
    )
    return tuple(ValueCount(str(value), count) for value, count in session.execute(query))
