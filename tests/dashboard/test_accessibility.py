"""axe over every page: the rules of WCAG 2.2, levels A and AA."""

from __future__ import annotations

from typing import Any

import pytest
from dashboard_fixtures import Served
from playwright.sync_api import Browser

from inferlake_registry.web.vendor import MODULES

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def _violations(browser: Browser, url: str, width: int, scheme: str) -> list[str]:
    # A context of its own without the content policy, since axe is a script that the policy rightly refuses.
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        bypass_csp=True,
    )
    try:
        page = context.new_page()
        page.goto(url)
        for summary in page.locator("summary").all()[:3]:
            summary.click()
        page.add_script_tag(path=MODULES / "axe-core" / "axe.min.js")
        found: dict[str, Any] = page.evaluate(
            "rules => axe.run({runOnly: {type: 'tag', values: rules}, resultTypes: ['violations']})", RULES
        )
        return [f"{item['id']}: {node['html']}" for item in found["violations"] for node in item["nodes"]]
    finally:
        context.close()


@pytest.mark.parametrize("path", ["/", "/models", "/rejected", "/runs", "/models/nobody"])
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (400, "dark")])
def test_no_rule_is_broken(
    served: Served, browser: Browser, libraries: None, path: str, width: int, scheme: str
) -> None:
    assert _violations(browser, served.url + path, width, scheme) == []


@pytest.mark.parametrize(("width", "scheme"), [(1400, "dark"), (400, "light")])
@pytest.mark.parametrize("path", ["/models/llm_intent_classifier", "/rejected?reason=schema", "/models?state=stale"])
def test_no_rule_is_broken_on_narrowed_pages(
    normal: Served, browser: Browser, libraries: None, path: str, width: int, scheme: str
) -> None:
    assert _violations(browser, normal.url + path, width, scheme) == []
