"""``/models``: every registered model and how it is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from inferlake_registry.contract.health import Health
from inferlake_registry.services.listings.models import DISABLED, STALE, ModelItem, ModelList
from inferlake_registry.web.addresses import model_address, with_query
from inferlake_registry.web.charts import strip, summarise
from inferlake_registry.web.pages.probes import drawn, state_of
from inferlake_registry.web.views import Facet, Frame, ModelLine, ModelsPage, Pager, Section
from inferlake_registry.web.wording import plain_address

PATH: Final = "/models"

# The order in which a person wants to read them: what is well, what is not, what is not known.
_STATES: Final = (
    Health.HEALTHY.value,
    Health.DEGRADED.value,
    Health.UNHEALTHY.value,
    Health.MISCONFIGURED.value,
    STALE,
    Health.UNKNOWN.value,
    DISABLED,
)


def models_page(found: ModelList, search: str, state: str, after: str, now: datetime) -> ModelsPage:
    """Return the view of one page of models."""
    return ModelsPage(
        frame=Frame("Models", Section.MODELS, now, with_query(PATH, q=search, state=state, after=after)),
        models=tuple(_line(item, now) for item in found.models),
        registered=found.registered,
        states=(
            Facet("all", sum(found.states.values()), with_query(PATH, q=search), selected=not state),
            *state_facets(found.states, search, state),
        ),
        search=search,
        state=state,
        pager=Pager(
            first=with_query(PATH, q=search, state=state) if after else None,
            following=with_query(PATH, q=search, state=state, after=found.following) if found.following else None,
        ),
    )


def _line(item: ModelItem, now: datetime) -> ModelLine:
    probes = drawn(item.samples)
    well = item.standing.health is Health.HEALTHY
    return ModelLine(
        name=item.name,
        address=model_address(item.name),
        state=state_of(item.standing),
        strip=strip(probes, now),
        latency_ms=summarise(probes).median_ms,
        version=item.version,
        qps_limit=item.qps_limit,
        concurrency_limit=item.concurrency_limit,
        location=plain_address(item.location),
        cause=None if well else item.standing.cause,
    )


def state_facets(states: Mapping[str, int], search: str = "", chosen: str = "") -> tuple[Facet, ...]:
    """Return the states that models are in, as links to the list of those models."""
    shown = (name for name in _STATES if states.get(name) or name == chosen)
    return tuple(
        Facet(name, states.get(name, 0), with_query(PATH, q=search, state=name), selected=name == chosen)
        for name in shown
    )
