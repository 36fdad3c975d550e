"""From a call's figures to the row that EXPLAIN AI shows: price, time, and what has to be known about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import pyarrow as pa

from inferlake.call import CallDescriptor
from inferlake.calling import ModelCall
from inferlake.explain.figures import Figures
from inferlake.explain.planned_calls import PlannedCall
from inferlake_registry.contract.models import Endpoint, ModelSnapshot, ModelType
from inferlake_sql.errors import JsonValue

ESTIMATE: Final = pa.schema(
    [
        pa.field("model", pa.string(), nullable=False),
        pa.field("versions", pa.string(), nullable=False),
        pa.field("rows", pa.int64()),
        pa.field("requests", pa.int64()),
        pa.field("evaluations_per_row", pa.float64(), nullable=False),
        pa.field("prompt_tokens_estimated", pa.int64()),
        pa.field("prompt_price", pa.float64()),
        pa.field("answer_price_limit", pa.float64()),
        pa.field("seconds", pa.float64()),
        pa.field("note", pa.string(), nullable=False),
    ]
)
_A_MILLION: Final = 1_000_000
_LIMITS: Final = ("max_completion_tokens", "max_tokens")
_LEFT_OUT: Final = "Spark leaves this call out: nothing uses its answers, or no row reaches it."
_CUT_OFF: Final = "A LIMIT above the call can end a run before all of its rows are asked."


class Estimate(NamedTuple):
    """One row of the answer, in the order of ``ESTIMATE``. Prices are in the unit of the model's price."""

    model: str
    versions: str
    rows: int | None
    requests: int | None
    evaluations_per_row: float
    prompt_tokens_estimated: int | None
    prompt_price: float | None
    answer_price_limit: float | None  # if every answer is as long as the request lets it be
    seconds: float | None  # at the model's limit
    note: str


def estimate(call: PlannedCall, figures: Figures) -> Estimate:
    """Return what is shown of a call."""
    settings = call.snapshot.settings
    answer_tokens = _times(figures.requests, _answer_tokens(call))
    limit = settings.qps_limit
    return Estimate(
        call.snapshot.name,
        _versions(call.snapshot),
        figures.rows,
        figures.requests,
        figures.evaluations,
        figures.prompt_tokens,
        _price(figures.prompt_tokens, settings.price_input),
        _price(answer_tokens, settings.price_output),
        None if limit is None or figures.requests is None else figures.requests / limit,
        " ".join(_notes(call, figures)),
    )


def _versions(snapshot: ModelSnapshot) -> str:
    if len(snapshot.arms) == 1:
        return snapshot.arms[0].endpoint.version
    return ", ".join(f"{arm.endpoint.version} ({arm.weight} %)" for arm in snapshot.arms)


def _price(tokens: int | None, price: float | None) -> float | None:
    return None if tokens is None or price is None else tokens * price / _A_MILLION


def _times(requests: int | None, tokens: int | None) -> int | None:
    return None if requests is None or tokens is None else requests * tokens


def _answer_tokens(call: PlannedCall) -> int | None:
    """Return how many tokens an answer can have; None if nothing limits it, or if only a run knows the options."""
    if not isinstance(call.callee, ModelCall):
        return None
    limits = [_answer_limit(arm.endpoint, call.callee.descriptor) for arm in call.snapshot.arms]
    known = [limit for limit in limits if limit is not None]
    return max(known) if len(known) == len(limits) else None


def _answer_limit(endpoint: Endpoint, descriptor: CallDescriptor) -> int | None:
    if endpoint.model_type is ModelType.EMBEDDING:
        return 0
    body: Mapping[str, JsonValue] = {**endpoint.request, **descriptor.options}
    limits = (body.get(name) for name in _LIMITS)
    return next((limit for limit in limits if isinstance(limit, int) and not isinstance(limit, bool)), None)


def _notes(call: PlannedCall, figures: Figures) -> Iterator[str]:
    if not call.places:
        yield _LEFT_OUT
    yield from figures.remarks
    if any(place.is_cut_off for place in call.places):
        yield _CUT_OFF
    if isinstance(call.callee, ModelCall) and call.callee.descriptor.reuse is not None:
        yield "Answers that lie in its reuse folder cost nothing and are not deducted."
