"""Leases in the store: one row a model is the clock that all registry processes share."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from inferlake_registry.contract.leases import Holder, Lease, LeaseRequest, LimitsReport
from inferlake_registry.domain import leases as rules
from inferlake_registry.services.models import get_called, new_id
from inferlake_registry.services.snapshot import call_settings
from inferlake_registry.store.schema import LeaseHolder, LeaseRow, LimitClock, Model


def take(session: Session, name: str, request: LeaseRequest, now: datetime) -> Lease:
    """Grant send slots. Raises ModelNotFound; a disabled model answers a lease that says so."""
    model = get_called(session, name, request.model_id)
    settings, at = call_settings(model), now.timestamp()
    row = _clock(session, model)
    holders, rank = _holders(session, model, request, at)
    clock = rules.pause(rules.Clock(row.next_slot, row.paused_until), request.pause_ms, at)
    returned = _returned(session, model, clock, request, at) if settings.qps_limit is not None else None
    if returned is not None:
        slots = returned
    else:
        clock, slots = rules.grant(clock, settings.qps_limit, wanted=request.count, holders=holders, now=at)
    _note_holder(session, model, request, slots.expires + rules.HOLDER_SECONDS)
    row.next_slot, row.paused_until = clock.next_slot, clock.paused_until
    session.execute(delete(LeaseRow).where(LeaseRow.model_id == model.id, LeaseRow.expires < at))
    lease_id = _store(session, model, request.holder, slots)
    return Lease(
        lease_id=lease_id,
        count=slots.count,
        first_delay_ms=max(0.0, (slots.first - at) * 1000),
        spacing_ms=slots.spacing * 1000,
        expires_in_ms=int((slots.expires - at) * 1000),
        epoch=model.limit_epoch,
        enabled=model.enabled,
        concurrency=rules.concurrency_share(settings.concurrency_limit, holders, rank),
        qps_limit=settings.qps_limit,
        holders=holders,
        granted_at=at,
    )


def release(session: Session, name: str, lease_id: str, unused: int, now: datetime) -> None:
    """Give back the last ``unused`` slots of a lease; one that is gone is no error, it lapsed."""
    lease = session.get(LeaseRow, lease_id)
    # The lease knows whose it is, also when the model has another name by now.
    model = get_called(session, name, None if lease is None else lease.model_id)
    if lease is None:
        return
    row = _clock(session, model)
    slots = rules.Slots(lease.first_slot, lease.spacing, lease.count)
    clock, left = rules.give_back(rules.Clock(row.next_slot, row.paused_until), slots, unused, now.timestamp())
    row.next_slot = clock.next_slot
    session.delete(lease)
    if left is not None:
        _store(session, model, _FREE, left)


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
    if after == before or session.get(LimitClock, model.id) is None:
        return
    row = _clock(session, model)
    clock = rules.change_limit(rules.Clock(row.next_slot, row.paused_until), before, after, now.timestamp())
    row.next_slot = clock.next_slot
    session.execute(delete(LeaseRow).where(LeaseRow.model_id == model.id, LeaseRow.holder == _FREE))


# Slots that came back and are nobody's; a holder's own name always has a colon.
_FREE = ""


def _clock(session: Session, model: Model) -> LimitClock:
    # The model's row is locked, since the clock's may not be there yet: on databases that lock rows others wait here.
    # A writing SQLite transaction is alone anyway.
    session.execute(select(Model.id).where(Model.id == model.id).with_for_update())
    row = session.get(LimitClock, model.id, populate_existing=True)
    if row is None:
        row = LimitClock(model_id=model.id, next_slot=0.0, paused_until=0.0)
        session.add(row)
        session.flush()
    return row


def _holders(session: Session, model: Model, request: LeaseRequest, at: float) -> tuple[int, int]:
    """Count the asker in and return how many live holders there are, and its place among them."""
    session.execute(delete(LeaseHolder).where(LeaseHolder.model_id == model.id, LeaseHolder.until < at))
    _note_holder(session, model, request, at)
    of_model = select(func.count()).select_from(LeaseHolder).where(LeaseHolder.model_id == model.id)
    before = session.scalar(of_model.where(LeaseHolder.holder < request.holder)) or 0
    return session.scalar(of_model) or 1, before


def _note_holder(session: Session, model: Model, request: LeaseRequest, until: float) -> None:
    session.merge(LeaseHolder(model_id=model.id, holder=request.holder, in_flight=request.in_flight, until=until))
    session.flush()


def _returned(
    session: Session, model: Model, clock: rules.Clock, request: LeaseRequest, at: float
) -> rules.Slots | None:
    free = select(LeaseRow).where(LeaseRow.model_id == model.id, LeaseRow.holder == _FREE).order_by(LeaseRow.first_slot)
    if clock.paused_until > at:
        return None
    for row in session.scalars(free.with_for_update()):
        slots = rules.Slots(row.first_slot, row.spacing, row.count)
        taken, left = rules.take_returned(slots, wanted=request.count, now=at)
        session.delete(row)
        if left is not None:
            _store(session, model, _FREE, left)
        if taken is not None:
            return taken
    return None


def _store(session: Session, model: Model, holder: str, slots: rules.Slots) -> str:
    lease_id = new_id()
    session.add(
        LeaseRow(
            id=lease_id,
            model_id=model.id,
            holder=holder,
            first_slot=slots.first,
            spacing=slots.spacing,
            count=slots.count,
            expires=slots.expires,
        )
    )
    return lease_id
