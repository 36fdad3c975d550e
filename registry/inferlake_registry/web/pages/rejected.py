"""``/rejected``: rows whose answer was refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from inferlake_registry.services.listings.keyset import Place
from inferlake_registry.services.listings.rejected import (
    LongText,
    RejectedFilter,
    RejectedItem,
    RejectedList,
    ValueCount,
)
from inferlake_registry.web.addresses import model_address, with_query
from inferlake_registry.web.pages.reasons import meaning_of
from inferlake_registry.web.views import Excerpt, Facet, Failure, Frame, Pager, RejectedCard, RejectedPage, Section

PATH: Final = "/rejected"

# Findings of one row that are shown; a row that fails everywhere is not understood better by reading all of them.
_FAILURES: Final = 6
_MESSAGE_CHARACTERS: Final = 240
_PATH_CHARACTERS: Final = 120


def rejected_page(found: RejectedList, narrow: RejectedFilter, after: Place | None, now: datetime) -> RejectedPage:
    """Return the view of one page of rejected rows."""
    place = after.write() if after else ""
    return RejectedPage(
        frame=Frame("Rejected rows", Section.REJECTED, now, address(narrow, place)),
        rows=tuple(_card(item) for item in found.rows),
        matching=found.matching,
        stored=found.stored,
        filter=narrow,
        reasons=_facets(found.reasons, narrow.reason, lambda value: replace(narrow, reason=value)),
        models=_facets(found.models, narrow.model, lambda value: replace(narrow, model=value)),
        pager=Pager(
            first=address(narrow) if after else None,
            following=address(narrow, found.following.write()) if found.following else None,
        ),
    )


def address(narrow: RejectedFilter, after: str = "") -> str:
    """Return the address of the list with this filter."""
    filters = {"reason": narrow.reason, "model": narrow.model, "version": narrow.version, "run": narrow.run}
    return with_query(PATH, **filters, after=after)


def _facets(counts: Sequence[ValueCount], chosen: str, narrowed: Callable[[str], RejectedFilter]) -> tuple[Facet, ...]:
    return tuple(
        Facet(
            label=count.value,
            count=count.count,
            address=address(narrowed("" if count.value == chosen else count.value)),
            selected=count.value == chosen,
        )
        for count in counts
    )


def _card(item: RejectedItem) -> RejectedCard:
    return RejectedCard(
        rejected_id=item.rejected_id,
        row_key=item.row_key,
        model=item.model,
        model_address=model_address(item.model) if item.model else None,
        version=item.version,
        reason=item.reason,
        meaning=meaning_of(item.reason),
        failures=_failures(item.errors),
        output=_excerpt(item.output),
        input=_excerpt(item.input),
        run_id=item.run_id,
        run_address=with_query(PATH, run=item.run_id),
        at=item.at,
    )


def _failures(errors: str | None) -> tuple[Failure, ...]:
    """Read what failed from its JSON text; text of another form is shown as it is, it was written elsewhere."""
    if errors is None:
        return (Failure("", "The list of what failed is too long to be shown."),)
    try:
        found = json.loads(errors)
    except ValueError:
        return (Failure("", _short(errors)),)
    if not isinstance(found, list):
        return () if found is None else (Failure("", _short(errors)),)
    shown = tuple(_failure(entry) for entry in found[:_FAILURES])
    more = len(found) - len(shown)
    return (*shown, Failure("", f"and {more} more")) if more else shown


def _failure(entry: Any) -> Failure:
    if not isinstance(entry, dict):
        return Failure("", _short(json.dumps(entry, ensure_ascii=False)))
    message = entry.get("message") or entry.get("keyword") or ""
    return Failure(_short(str(entry.get("path") or ""), _PATH_CHARACTERS), _short(str(message)))


def _short(text: str, most: int = _MESSAGE_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _excerpt(text: LongText | None) -> Excerpt | None:
    if text is None:
        return None
    return Excerpt(text.beginning, text.characters, cut=text.characters > len(text.beginning))
