"""``/models/{name}``: one model."""

from __future__ import annotations

from datetime import datetime
from itertools import takewhile
from typing import assert_never

from inferlake_registry.contract.health import Health
from inferlake_registry.services.listings.models import Sample
from inferlake_registry.services.listings.portrait import Portrait, PropertyItem
from inferlake_registry.web.addresses import model_address, with_query
from inferlake_registry.web.charts import summarise, timeline
from inferlake_registry.web.pages.probes import drawn, state_of
from inferlake_registry.web.views import Frame, ModelPage, ProbeLine, PropertyLine, Section, VersionLine
from inferlake_registry.web.wording import ago, milliseconds, plain_address


def model_page(portrait: Portrait, now: datetime) -> ModelPage:
    """Return the view of one model."""
    probes = drawn(portrait.samples)
    return ModelPage(
        frame=Frame(portrait.name, Section.MODELS, now, model_address(portrait.name)),
        name=portrait.name,
        state=state_of(portrait.standing),
        verdict=verdict(portrait, now),
        provider=portrait.provider,
        version=portrait.version,
        location=plain_address(portrait.location),
        comment=portrait.comment,
        timeline=timeline(probes, now),
        summary=summarise(probes),
        probes=tuple(_probe(sample) for sample in reversed(portrait.samples)),
        versions=tuple(
            VersionLine(
                version=item.version,
                active=item.active,
                weight=item.weight,
                created_at=item.created_at,
                created_by=item.created_by,
                location=plain_address(item.location),
                aliases=item.aliases,
            )
            for item in portrait.versions
        ),
        properties=tuple(_property(item) for item in portrait.properties),
        statement=portrait.statement,
        rejected_address=with_query("/rejected", model=portrait.name),
        runs_address=with_query("/runs", model=portrait.name),
    )


def verdict(portrait: Portrait, now: datetime) -> str:
    """Say in one sentence how the model is and why."""
    standing = portrait.standing
    if not standing.enabled:
        return f"The kill switch is on and calls are refused; ALTER MODEL {portrait.name} ENABLE allows them again."
    if not portrait.samples:
        return "It has not been probed yet."
    last = portrait.samples[-1]
    when = ago(last.at, now)
    if standing.stale:
        return f"The last probe was {when}, which is too long ago to say how the model is now."
    cause = (last.cause or standing.cause or "no cause was recorded").rstrip(".")
    match standing.health:
        case Health.HEALTHY:
            if last.ok:
                return f"{_in_a_row(portrait, ok=True)} answered, the latest {when} in {milliseconds(last.latency_ms)}."
            return (
                f"{_in_a_row(portrait, ok=False)} failed ({cause}), which is not yet often enough to call it unhealthy."
            )
        case Health.DEGRADED:
            return f"It is alive but holds callers back: {cause}, {when}."
        case Health.UNHEALTHY:
            if last.ok:
                return f"{_in_a_row(portrait, ok=True)} answered; it counts as healthy after a few more."
            return f"{_in_a_row(portrait, ok=False)} failed, the latest {when}: {cause}."
        case Health.MISCONFIGURED:
            return f"Trying again does not mend it: {cause}. Last asked {when}."
        case Health.UNKNOWN:
            return f"The last probe, {when}, does not tell how it is."
        case _:
            assert_never(standing.health)


def _in_a_row(portrait: Portrait, *, ok: bool) -> str:
    row = sum(1 for _ in takewhile(lambda sample: sample.ok is ok, reversed(portrait.samples)))
    if row <= 1:
        return "The last probe"
    if row == len(portrait.samples):
        return f"All of the last {row} probes"
    return f"The last {row} probes"


def _probe(sample: Sample) -> ProbeLine:
    return ProbeLine(sample.at, sample.ok, sample.latency_ms, sample.http_status, sample.cause)


def _property(item: PropertyItem) -> PropertyLine:
    return PropertyLine(
        key=item.key,
        value=item.value,
        own=item.own,
        changed_at=item.changed_at,
        secret=item.secret,
        explanation=item.meaning,
    )
