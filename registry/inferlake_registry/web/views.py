"""What each template receives: one frozen dataclass a page, called ``page`` in the template.

A template reads nothing else. Values are typed (a moment is a datetime, a count an int) and the template writes them
with the filters of ``wording``; markup comes only from ``charts``. Text that somebody else wrote (outputs, inputs,
names, causes) is a plain ``str`` or an ``Excerpt``; the template escapes it and names its hidden characters.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from markupsafe import Markup

from inferlake_registry.contract.health import Health
from inferlake_registry.services.listings.rejected import RejectedFilter
from inferlake_registry.web.charts import Summary


class Section(StrEnum):
    """The entries of the navigation, in their order."""

    OVERVIEW = "overview"
    MODELS = "models"
    REJECTED = "rejected"
    RUNS = "runs"


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds every page."""

    title: str
    section: Section | None
    as_of: datetime  # when the data was read; relative times on the page count from here
    address: str | None  # path and query of this page, which the refresh asks for again; None when it has none


@dataclass(frozen=True, slots=True)
class State:
    """A model's condition, shown as shape, word and colour together."""

    health: Health
    since: datetime | None
    stale: bool  # the last probe is too old to be believed
    enabled: bool  # false when the kill switch is on


@dataclass(frozen=True, slots=True)
class Facet:
    """One value that a list can be narrowed to, as a link; following a selected one widens the list again."""

    label: str
    count: int
    address: str
    selected: bool


@dataclass(frozen=True, slots=True)
class Pager:
    """Addresses of neighbouring pages of a list; None where there is none."""

    first: str | None  # set when this is not the first page
    following: str | None


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One model in a list."""

    name: str
    address: str
    state: State
    strip: Markup
    latency_ms: float | None  # median of the probes that the strip shows
    version: str
    qps_limit: float | None
    concurrency_limit: int
    location: str  # without anything that could be a credential
    cause: str | None  # why the last failing probe failed, when the model is not healthy


@dataclass(frozen=True, slots=True)
class ModelsPage:
    """``/models``: every registered model and how it is."""

    frame: Frame
    models: tuple[ModelLine, ...]
    registered: int  # all models, whatever the filter
    states: tuple[Facet, ...]
    search: str
    state: str  # the chosen facet's value, so that a search keeps it; empty when none is
    pager: Pager


@dataclass(frozen=True, slots=True)
class VersionLine:
    """One version of a model, the newest first."""

    version: str
    active: bool
    weight: int | None  # share of the traffic while a split is set
    created_at: datetime
    created_by: str | None
    location: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PropertyLine:
    """One effective property. A secret has no value here, only the fact that it is set."""

    key: str
    value: str | None
    own: bool  # set on this model, not a default
    changed_at: datetime | None  # None for a default
    secret: bool
    explanation: str


@dataclass(frozen=True, slots=True)
class ProbeLine:
    """One probe in the table under the chart."""

    at: datetime
    answered: bool
    latency_ms: float | None
    http_status: int | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class ModelPage:
    """``/models/{name}``: one model, its verdict and everything it is called with."""

    frame: Frame
    name: str
    state: State
    verdict: str  # one sentence, from the probes alone
    provider: str | None
    version: str
    location: str
    comment: str | None
    timeline: Markup
    summary: Summary  # the timeline in numbers
    probes: tuple[ProbeLine, ...]  # the latest first
    versions: tuple[VersionLine, ...]
    properties: tuple[PropertyLine, ...]
    statement: str  # SQL that creates the model again, secrets hidden
    rejected_address: str
    runs_address: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a long text that a model or a user wrote."""

    beginning: str
    characters: int  # of the whole text
    cut: bool  # whether the whole text is longer than what is shown


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that a check found: where in the output, and what."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class RejectedCard:
    """One rejected row."""

    rejected_id: str
    row_key: str
    model: str | None
    model_address: str | None
    version: str | None
    reason: str
    meaning: str  # the reason as a sentence
    failures: tuple[Failure, ...]
    output: Excerpt | None
    input: Excerpt | None
    run_id: str
    run_address: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RejectedPage:
    """``/rejected``: rows whose answer was refused, the latest first."""

    frame: Frame
    rows: tuple[RejectedCard, ...]
    matching: int  # rows that the filter lets through, on all pages
    stored: int  # all rejected rows that the registry holds
    filter: RejectedFilter
    reasons: tuple[Facet, ...]
    models: tuple[Facet, ...]
    pager: Pager


@dataclass(frozen=True, slots=True)
class RunLine:
    """One Spark run."""

    run_id: str
    model: str | None
    model_address: str | None
    version: str | None
    state: str
    started_at: datetime
    seconds: float
    rows: int
    accepted: int
    rejected: int
    rejected_address: str
    reasons: tuple[Facet, ...]
    calls: int
    from_cache: int
    p50_ms: float | None
    p95_ms: float | None
    prompt_tokens: int | None  # None: the endpoint did not say
    completion_tokens: int | None
    rejected_table: str

    @property
    def rows_per_second(self) -> float | None:
        """Speed over the whole run; None when it took no measurable time."""
        return self.rows / self.seconds if self.seconds > 0 else None


@dataclass(frozen=True, slots=True)
class UnwellLine:
    """A model that needs somebody's attention, and why."""

    name: str
    address: str
    state: State
    cause: str | None


@dataclass(frozen=True, slots=True)
class RunBrief:
    """One run in a few numbers."""

    model: str | None
    model_address: str | None
    version: str | None
    started_at: datetime
    rows: int
    accepted: int
    rejected: int
    rejected_address: str
    p95_ms: float | None


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One change of a model; the statement is cut and holds no secret."""

    at: datetime
    actor: str
    action: str
    model: str
    address: str
    statement: str


@dataclass(frozen=True, slots=True)
class OverviewPage:
    """``/``: what is to be seen at first sight."""

    frame: Frame
    registered: int
    states: tuple[Facet, ...]
    unwell: tuple[UnwellLine, ...]  # the worst first
    more_unwell: int
    runs_today: int  # runs that started within the last 24 hours, and their rows
    rows_today: int
    rejected_today: int
    rejected_stored: int
    runs: tuple[RunBrief, ...]  # the latest few
    changes: tuple[ChangeLine, ...]  # the latest few


@dataclass(frozen=True, slots=True)
class RunsPage:
    """``/runs``: what Spark jobs did, the latest first."""

    frame: Frame
    runs: tuple[RunLine, ...]
    model: str  # narrowed to one model; empty means all
    pager: Pager


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """Anything that went wrong while a page was made."""

    frame: Frame
    status: int
    code: str
    message: str
    back: str
    back_label: str
