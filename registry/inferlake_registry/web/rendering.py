"""Turns a view into HTML: one Jinja environment, everything escaped, unknown names an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from inferlake_registry.web import charts, wording
from inferlake_registry.web.assets import Assets
from inferlake_registry.web.views import (
    ErrorPage,
    ModelPage,
    ModelsPage,
    OverviewPage,
    RejectedPage,
    RunsPage,
    Section,
)

Page = ErrorPage | ModelPage | ModelsPage | OverviewPage | RejectedPage | RunsPage

# A fragment of 50 rows is about 10 kB, so this is cheap for the server and quick enough for a person who watches.
REFRESH_SECONDS: Final = 10

NAVIGATION: Final = (
    (Section.OVERVIEW, "Overview", "/"),
    (Section.MODELS, "Models", "/models"),
    (Section.REJECTED, "Rejected rows", "/rejected"),
    (Section.RUNS, "Runs", "/runs"),
)

TEMPLATES: Final[dict[type[Page], str]] = {
    ErrorPage: "error.html",
    ModelPage: "model.html",
    ModelsPage: "models.html",
    OverviewPage: "overview.html",
    RejectedPage: "rejected.html",
    RunsPage: "runs.html",
}


@dataclass(frozen=True, slots=True)
class Renderer:
    """Draws pages, all with the same assets."""

    environment: Environment
    assets: Assets

    def page(self, view: Page) -> str:
        """Draw the whole page."""
        return self._draw(view, "frame.html")

    def live(self, view: Page) -> str:
        """Draw only the part that the refresh replaces."""
        return self._draw(view, "fragment.html")

    def _draw(self, view: Page, layout: str) -> str:
        template = self.environment.get_template(TEMPLATES[type(view)])
        return template.render(page=view, layout=layout, assets=self.assets, refresh_seconds=REFRESH_SECONDS)


def build_renderer(assets: Assets) -> Renderer:
    """Prepare the templates once; ``assets`` say what they link to."""
    environment = Environment(
        loader=PackageLoader("inferlake_registry.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        ago=wording.ago,
        brief=wording.brief,
        count=wording.count,
        duration=wording.duration,
        machine_time=wording.machine_time,
        milliseconds=wording.milliseconds,
        pieces=wording.pieces,
        utc=wording.utc,
    )
    environment.globals.update(meter=charts.meter, navigation=NAVIGATION, nothing=wording.NOTHING, share=wording.share)
    return Renderer(environment, assets)
