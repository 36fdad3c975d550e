"""Leases of future send slots: how one limit is shared by many workers without counting in each of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A worker asks for what it can use in the next 250 to 500 ms."""

    holder: str  # host:pid:uuid of the worker process
    count: int
    in_flight: int
    pause_ms: int = 0  # a Retry-After that the endpoint gave this worker: moves the model's clock for everybody
    model_id: str | None = None  # of the snapshot that the query was planned with; None means the model of the name
    recent: int = 0  # calls of this worker in the last half second


@dataclass(frozen=True, slots=True)
class Lease:
    """Send slots: the first after ``first_delay_ms`` from ``granted_at``, then one every ``spacing_ms``.

    Delays are relative because clocks of hosts differ. ``granted_at`` is the moment of the grant on the registry's own
    clock, in seconds: it is no time of day for the worker, but two of them tell how far apart two leases were granted,
    which arrival times do not, since answers take longer now and then. ``count`` may be less than asked.
    ``spacing_ms`` is 0 when the model has no ``qps.limit``. ``concurrency`` is this holder's share of the model's
    ``concurrency.limit``. With ``share`` the slots are this holder's share of a limit that holds nobody up: of half a
    second, whatever was asked for. They are not given back, and the next ones are asked for before they end.
    """

    lease_id: str
    count: int
    first_delay_ms: float
    spacing_ms: float
    expires_in_ms: int
    epoch: int  # changes with every ALTER of a limit
    enabled: bool
    concurrency: int
    qps_limit: float | None
    holders: int  # live holders of this model, for the fallback when the registry is away
    granted_at: float | None = None
    share: bool = False


@dataclass(frozen=True, slots=True)
class Holder:
    """A worker process that holds a lease or had one a moment ago."""

    holder: str
    in_flight: int
    expires_in_ms: int


@dataclass(frozen=True, slots=True)
class LimitsReport:
    """What limits the calls of a model now, and who shares it."""

    model: str
    enabled: bool
    qps_limit: float | None
    concurrency_limit: int
    epoch: int
    booked_ms: float  # how far into the future send slots are given out
    paused_ms: float  # how long the endpoint still wants to be left alone
    holders: tuple[Holder, ...]
