"""Leases in the store: one row a model is the clock that all registry processes share."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from inferlake_registry.contract.leases import Holder, Lease, LeaseRequest, LimitsReport
from inferlake_registry.contract.problems import ModelNotFound
from inferlake_registry.domain import leases as rules
from inferlake_registry.services.models import get_called, new_id
from inferlake_registry.services.snapshot import call_settings, make_settings
from inferlake_registry.store.ledger import Holders, Ledger, model_of
from inferlake_registry.store.schema import LeaseHolder, LimitClock, Model


def take(session: Session, name: str, request: LeaseRequest, now: datetime) -> Lease:
    """Grant send slots. Raises ModelNotFound; a disabled model answers a lease that says so."""
    at = now.timestamp()
    model_id = get_called(session, name, None).id if request.model_id is None else request.model_id
    ledger = Ledger(session, model_id)
    ledger.lock()
    limited = ledger.limited()
    if limited is None:
        raise ModelNotFound(name)
    settings = make_settings(limited.limits)
    known = ledger.holders(request.holder, at)
    holders = known.others + 1
    clock = rules.pause(limited.clock or rules.Clock(), request.pause_ms, at)
    share = rules.grant_share(
        clock,
        settings.qps_limit,
        recent=request.recent,
        holders=known.calling + 1,
        others=known.shares,
        own=known.own,
        now=at,
    )
    lease_id, own = new_id(), known.own
    if share is None:
        clock, slots = _slots(ledger, clock, settings.qps_limit, request.count, known, at)
        ledger.add(lease_id, slots, request.holder)
    else:
        slots, own = share, rules.Shares(1.0 / share.spacing, share.end)
    if clock != limited.clock:
        ledger.set_clock(clock)
    ledger.set_holder(request.holder, request.in_flight, slots.expires + rules.HOLDER_SECONDS, own)
    ledger.forget_lapsed(at)
    return Lease(
        lease_id=lease_id,
        count=slots.count,
        first_delay_ms=max(0.0, (slots.first - at) * 1000),
        spacing_ms=slots.spacing * 1000,
        expires_in_ms=int((slots.expires - at) * 1000),
        epoch=limited.epoch,
        enabled=limited.enabled,
        concurrency=rules.concurrency_share(settings.concurrency_limit, holders, known.before),
        qps_limit=settings.qps_limit,
        holders=holders,
        granted_at=at,
        share=share is not None,
    )


def release(session: Session, name: str, lease_id: str, unused: int, now: datetime) -> None:
    """Give back the last ``unused`` slots of a lease; one that is gone is no error, it lapsed."""
    # The lease knows whose it is, also when the model has another name by now.
    model_id = model_of(session, lease_id)
    if model_id is None:
        get_called(session, name, None)
        return
    ledger = Ledger(session, model_id)
    ledger.lock()
    slots, clock = ledger.take_out(lease_id), ledger.clock()
    if slots is None:
        return  # given back a moment ago
    clock, left = rules.give_back(clock or rules.Clock(), slots, unused, now.timestamp())
    ledger.set_clock(clock)
    if left is not None:
        ledger.add(new_id(), left)


def limits_of(session: Session, model: Model, now: datetime) -> LimitsReport:
    """Return what limits a model's calls now, and who shares it."""
    settings, at = call_settings(model), now.timestamp()
    clock = session.get(LimitClock, model.id)
    holders = session.scalars(
        select(LeaseHolder)
        .where(LeaseHolder.model_id == model.id, LeaseHolder.until >= at)
        .order_by(LeaseHolder.holder)
    )
    return LimitsReport(
        model=model.name,
        enabled=model.enabled,
        qps_limit=settings.qps_limit,
        concurrency_limit=settings.concurrency_limit,
        epoch=model.limit_epoch,
        booked_ms=0.0 if clock is None else max(0.0, (clock.next_slot - at) * 1000),
        paused_ms=0.0 if clock is None else max(0.0, (clock.paused_until - at) * 1000),
        holders=tuple(Holder(row.holder, row.in_flight, int((row.until - at) * 1000)) for row in holders),
    )


def change_limit(session: Session, model: Model, before: float | None, now: datetime) -> None:
    """Make a changed ``qps.limit`` act at once; ``before`` is what it was. Slots that nobody has are forgotten."""
    after = call_settings(model).qps_limit
    if after == before:
        return
    ledger = Ledger(session, model.id)
    ledger.lock()
    clock = ledger.clock()
    if clock is not None:
        ledger.set_clock(rules.change_limit(clock, before, after, now.timestamp()))
    ledger.forget_returned()


def _slots(
    ledger: Ledger, clock: rules.Clock, qps_limit: float | None, wanted: int, known: Holders, at: float
) -> tuple[rules.Clock, rules.Slots]:
    """Take slots that came back, else the next ones of the clock."""
    returned = None if qps_limit is None else _returned(ledger, clock, wanted, at)
    if returned is not None:
        return clock, returned
    return rules.grant(
        clock, qps_limit, wanted=wanted, holders=known.others + 1, now=at, shares=known.shares + known.own
    )


def _returned(ledger: Ledger, clock: rules.Clock, wanted: int, at: float) -> rules.Slots | None:
    """Take slots that another holder gave back; there are none while the endpoint is to be left alone."""
    if clock.paused_until > at:
        return None
    for slots in ledger.returned():
        taken, left = rules.take_returned(slots, wanted=wanted, now=at)
        if left is not None:
            ledger.add(new_id(), left)
        if taken is not None:
            return taken
    return None
