"""What the demo shows of its runs: the table of figures, and a few rows of each kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

from inferlake.demo.reconcile import Claim
from inferlake_registry.contract.runs import RunReport

_SHORT: Final = 60


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many accepted rows got the label that the person who wrote the session expected."""

    same: int
    compared: int


@dataclass(frozen=True, slots=True)
class Half:
    """One half of the rows: with constrained decoding, or with the model left free."""

    name: str
    rows: int
    accepted: int


@dataclass(frozen=True, slots=True)
class AcceptedRow:
    """A row as the accepted table holds it."""

    session_id: str
    last_message: str | None
    label: str
    expected: str | None


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row as the rejected table holds it."""

    session_id: str
    reason: str
    detail: str
    ai_output: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """One run with everything that is said about it."""

    report: RunReport
    complete: bool  # False when the endpoint was gone before the end
    halves: Sequence[Half]
    agreement: Agreement
    claims: Sequence[Claim]
    accepted: Sequence[AcceptedRow]
    rejected: Sequence[RejectedRow]


def figures(runs: Sequence[Run]) -> Table:
    """Return the table of figures, a column for each run."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False)
    table.add_column("")
    for run in runs:
        table.add_column(f"version {run.report.model_version or '?'}", justify="right")
    for name, values in _rows(runs):
        style = "bold" if name in ("rows", "accepted", "rejected") else ""
        table.add_row(Text(name, style), *(Text(value, style) for value in values))
    return table


def _rows(runs: Sequence[Run]) -> Iterator[tuple[str, list[str]]]:
    reports = [run.report for run in runs]
    yield "rows", [f"{r.rows:,}" for r in reports]
    yield "accepted", [f"{r.accepted:,}" for r in reports]
    for number, half in enumerate(runs[0].halves):
        cells = [f"{run.halves[number].accepted:,} of {run.halves[number].rows:,}" for run in runs]
        yield f"  {half.name}", cells
    yield "rejected", [f"{r.rejected:,}" for r in reports]
    for reason in sorted({reason for r in reports for reason in r.rejected_by_reason}):
        yield f"  {reason}", [f"{r.rejected_by_reason.get(reason, 0):,}" for r in reports]
    yield "model calls", [f"{r.calls:,}" for r in reports]
    yield "rows that reused an answer", [f"{r.from_cache:,}" for r in reports]
    yield "seconds", [f"{r.seconds:.1f}" for r in reports]
    yield "rows/s", [f"{r.rows / r.seconds:,.0f}" if r.seconds else "" for r in reports]
    yield "latency p50 / p95", [f"{_ms(r.latency_p50_ms)} / {_ms(r.latency_p95_ms)}" for r in reports]
    yield "tokens in / out", [f"{_count(r.prompt_tokens)} / {_count(r.completion_tokens)}" for r in reports]
    yield "agrees with the file", [f"{run.agreement.same:,} of {run.agreement.compared:,}" for run in runs]


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f} ms"


def accepted_table(rows: Sequence[AcceptedRow]) -> Table:
    """Return accepted rows as a table."""
    table = _plain("session", "last message", "label", "expected")
    for row in rows:
        message = Text(_short(row.last_message or "–"))
        expected = Text(row.expected or "–", style="green" if row.expected == row.label else "dim")
        table.add_row(row.session_id, message, Text(row.label, style="bold"), expected)
    return table


def rejected_table(rows: Sequence[RejectedRow]) -> Table:
    """Return rejected rows as a table."""
    table = _plain("session", "reason", "because", "the model said")
    for row in rows:
        output = Text(_short(row.ai_output)) if row.ai_output else Text("nothing", style="dim")
        table.add_row(row.session_id, Text(row.reason, style="yellow"), Text(_short(row.detail)), output)
    return table


def as_document(runs: Sequence[Run]) -> str:
    """Return the runs as one JSON document, for programs."""
    return json.dumps(
        {
            "runs": [
                {
                    **asdict(run.report),
                    "halves": [asdict(half) for half in run.halves],
                    "agreement": asdict(run.agreement),
                    "complete": run.complete,
                    "claims": [{**asdict(claim), "holds": claim.holds} for claim in run.claims],
                }
                for run in runs
            ]
        },
        ensure_ascii=False,
    )


def _plain(*names: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False)
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"
