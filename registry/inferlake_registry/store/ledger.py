"""The lease ledger in the database: what is limited, who holds slots, and which slots came back.

Every worker asks here several times a second. So nothing becomes an object that a session watches: a few statements,
built once, whose rows are read and forgotten. All of it happens behind ``lock``, in the transaction of the session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import BindParameter, Float, String, and_, bindparam, delete, func, insert, not_, or_, select, update
from sqlalchemy.orm import Session

from inferlake_registry.domain.leases import GRACE_SECONDS, HOLDER_SECONDS, WINDOW_SECONDS, Clock, Shares, Slots
from inferlake_registry.store.schema import LeaseHolder, LeaseRow, LimitClock, Model, ModelProperty

# Slots that came back and are nobody's; a holder's own name always has a colon.
_FREE: Final = ""
_LIMITS: Final = ("qps.limit", "concurrency.limit")

_MODEL: Final = bindparam("model", type_=String())
_HOLDER: Final = bindparam("who", type_=String())
_LEASE: Final = bindparam("lease", type_=String())
_NOW: Final = bindparam("now", type_=Float())
_SLOTS: Final = (LeaseRow.id, LeaseRow.first_slot, LeaseRow.spacing, LeaseRow.count)

_LOCK: Final = select(Model.id).where(Model.id == _MODEL).with_for_update()
_CLOCK: Final = select(LimitClock.next_slot, LimitClock.paused_until).where(LimitClock.model_id == _MODEL)
_LIMITED: Final = (
    select(
        Model.enabled,
        Model.limit_epoch,
        LimitClock.next_slot,
        LimitClock.paused_until,
        ModelProperty.key,
        ModelProperty.value,
    )
    .outerjoin(LimitClock, LimitClock.model_id == Model.id)
    .outerjoin(
        ModelProperty,
        and_(ModelProperty.model_id == Model.id, or_(*(ModelProperty.key == key for key in _LIMITS))),
    )
    .where(Model.id == _MODEL)
)
_SET_CLOCK: Final = (
    update(LimitClock)
    .where(LimitClock.model_id == _MODEL)
    .values(next_slot=bindparam("next"), paused_until=bindparam("paused"))
)
_ADD_CLOCK: Final = insert(LimitClock).values(
    model_id=_MODEL, next_slot=bindparam("next"), paused_until=bindparam("paused")
)
_OTHER: Final = LeaseHolder.holder != _HOLDER
_SHARING: Final = LeaseHolder.share_until > _NOW
_COUNT_HOLDERS: Final = select(
    func.count().filter(LeaseHolder.until >= _NOW, _OTHER),
    func.count().filter(LeaseHolder.until >= _NOW, LeaseHolder.holder < _HOLDER),
    func.count().filter(LeaseHolder.until < _NOW, _OTHER),
    func.count().filter(LeaseHolder.until >= bindparam("calling", type_=Float()), _OTHER),
    func.coalesce(func.sum(LeaseHolder.share).filter(_SHARING, _OTHER), 0.0),
    func.coalesce(func.max(LeaseHolder.share_until).filter(_SHARING, _OTHER), 0.0),
    func.coalesce(func.sum(LeaseHolder.share).filter(_SHARING, not_(_OTHER)), 0.0),
    func.coalesce(func.max(LeaseHolder.share_until).filter(not_(_OTHER)), 0.0),
).where(LeaseHolder.model_id == _MODEL)
_FORGET_HOLDERS: Final = delete(LeaseHolder).where(
    LeaseHolder.model_id == _MODEL, LeaseHolder.until < _NOW, LeaseHolder.holder != _HOLDER
)
_HOLDING: Final[Mapping[str, BindParameter[object]]] = {
    "in_flight": bindparam("busy"),
    "until": bindparam("ends"),
    "share": bindparam("rate"),
    "share_until": bindparam("rate_ends"),
}
_SET_HOLDER: Final = (
    update(LeaseHolder).where(LeaseHolder.model_id == _MODEL, LeaseHolder.holder == _HOLDER).values(**_HOLDING)
)
_ADD_HOLDER: Final = insert(LeaseHolder).values(model_id=_MODEL, holder=_HOLDER, **_HOLDING)
_RETURNED: Final = (
    select(*_SLOTS).where(LeaseRow.model_id == _MODEL, LeaseRow.holder == _FREE).order_by(LeaseRow.first_slot)
)
_FORGET_RETURNED: Final = delete(LeaseRow).where(LeaseRow.model_id == _MODEL, LeaseRow.holder == _FREE)
_FORGET_LAPSED: Final = delete(LeaseRow).where(LeaseRow.model_id == _MODEL, LeaseRow.expires < _NOW)
_MODEL_OF: Final = select(LeaseRow.model_id).where(LeaseRow.id == _LEASE)
_TAKE_OUT: Final = delete(LeaseRow).where(LeaseRow.id == _LEASE).returning(*_SLOTS)
_DROP: Final = delete(LeaseRow).where(LeaseRow.id == _LEASE)
_ADD: Final = insert(LeaseRow).values(
    id=_LEASE,
    model_id=_MODEL,
    holder=_HOLDER,
    first_slot=bindparam("first"),
    spacing=bindparam("apart"),
    count=bindparam("number"),
    expires=bindparam("ends"),
)


@dataclass(frozen=True, slots=True)
class Limited:
    """A model as far as leases go; ``limits`` are its properties that limit calls, as texts. No clock: never asked."""

    enabled: bool
    epoch: int
    limits: Mapping[str, str]
    clock: Clock | None


@dataclass(frozen=True, slots=True)
class Holders:
    """The live holders besides the asker, and the shares of the limit that have not ended."""

    others: int
    before: int  # how many of them come before the asker
    calling: int  # how many of them had a slot in the last half second
    shares: Shares  # of the others
    own: Shares  # of the asker


class Ledger:
    """The ledger of one model, in the transaction of a session."""

    def __init__(self, session: Session, model_id: str) -> None:
        self._connection = session.connection()
        self._model_id = model_id

    def lock(self) -> None:
        """Wait until no other transaction is at this model's ledger.

        The model's row is locked, since the clock's may not be there yet; what is read afterwards is what the others
        left. A writing SQLite transaction is alone anyway.
        """
        if self._connection.dialect.name != "sqlite":
            self._connection.execute(_LOCK, {"model": self._model_id})

    def limited(self) -> Limited | None:
        """Return what limits the model and its clock; None when there is no such model."""
        rows = self._connection.execute(_LIMITED, {"model": self._model_id}).all()
        if not rows:
            return None
        enabled, epoch, next_slot, paused_until, _, _ = rows[0]
        return Limited(
            enabled,
            epoch,
            {row.key: row.value for row in rows if row.value is not None},
            None if next_slot is None else Clock(next_slot, paused_until),
        )

    def clock(self) -> Clock | None:
        """Return the model's clock, or None when nobody ever asked for a slot."""
        row = self._connection.execute(_CLOCK, {"model": self._model_id}).one_or_none()
        return None if row is None else Clock(row.next_slot, row.paused_until)

    def set_clock(self, clock: Clock) -> None:
        """Store the model's clock."""
        values = {"model": self._model_id, "next": clock.next_slot, "paused": clock.paused_until}
        if self._connection.execute(_SET_CLOCK, values).rowcount == 0:
            self._connection.execute(_ADD_CLOCK, values)

    def holders(self, holder: str, now: float) -> Holders:
        """Return the live holders besides this one, and forget those that are gone."""
        values = {"model": self._model_id, "who": holder, "now": now}
        calling = now + HOLDER_SECONDS + GRACE_SECONDS - WINDOW_SECONDS  # who counts until then had a slot lately
        row = self._connection.execute(_COUNT_HOLDERS, {**values, "calling": calling}).one()
        others, before, gone, calling_now, rate, rate_ends, own_rate, own_ends = row
        if gone:
            self._connection.execute(_FORGET_HOLDERS, values)
        return Holders(others, before, calling_now, Shares(rate, rate_ends), Shares(own_rate, own_ends))

    def set_holder(self, holder: str, in_flight: int, until: float, share: Shares) -> None:
        """Count a holder in until that moment, with its share."""
        values = {
            "model": self._model_id,
            "who": holder,
            "busy": in_flight,
            "ends": until,
            "rate": share.rate,
            "rate_ends": share.until,
        }
        if self._connection.execute(_SET_HOLDER, values).rowcount == 0:
            self._connection.execute(_ADD_HOLDER, values)

    def returned(self) -> Iterator[Slots]:
        """Give the slots that came back, one run after the other from the earliest on; each leaves the ledger."""
        for lease_id, first, spacing, count in self._connection.execute(_RETURNED, {"model": self._model_id}).all():
            self._connection.execute(_DROP, {"lease": lease_id})
            yield Slots(first, spacing, count)

    def forget_returned(self) -> None:
        """Forget the slots that came back."""
        self._connection.execute(_FORGET_RETURNED, {"model": self._model_id})

    def forget_lapsed(self, now: float) -> None:
        """Forget leases whose time is over."""
        self._connection.execute(_FORGET_LAPSED, {"model": self._model_id, "now": now})

    def add(self, lease_id: str, slots: Slots, holder: str = _FREE) -> None:
        """Store slots as the holder's, or as nobody's."""
        values = {"first": slots.first, "apart": slots.spacing, "number": slots.count, "ends": slots.expires}
        self._connection.execute(_ADD, {"lease": lease_id, "model": self._model_id, "who": holder, **values})

    def take_out(self, lease_id: str) -> Slots | None:
        """Return the slots of a lease, which ends with that; None when it has ended before."""
        row = self._connection.execute(_TAKE_OUT, {"lease": lease_id}).one_or_none()
        return None if row is None else Slots(row[1], row[2], row[3])


def model_of(session: Session, lease_id: str) -> str | None:
    """Return the identity of the model that a lease is of; None for a lease that has ended."""
    return session.connection().execute(_MODEL_OF, {"lease": lease_id}).scalar_one_or_none()
