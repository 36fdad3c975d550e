"""The refresh: it morphs, it can be paused, and it keeps the last good content when the registry is away."""

from __future__ import annotations

import re

import dashboard_data
import pytest
from dashboard_fixtures import Open, Served
from playwright.sync_api import Page, expect

from inferlake_registry.contract.health import Health


def _poll(page: Page) -> None:
    """Let ten seconds pass and wait for the answer."""
    with page.expect_response(lambda response: response.request.headers.get("hx-request") == "true"):
        page.clock.run_for(10_100)


def test_new_state_appears_and_focus_stays(own: Served, open_page: Open) -> None:
    watched = open_page(own.url + "/models", frozen=True)
    page = watched.page
    link = page.get_by_role("link", name="summarise_de")
    link.focus()
    own.execute("CREATE MODEL aaa_first LOCATION 'http://127.0.0.1:9/v1/chat/completions'")
    own.execute("ALTER MODEL llm_intent_classifier SET qps.limit=77")
    _poll(page)
    expect(page.get_by_role("link", name="aaa_first")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("llm_intent"))).to_contain_text("77")
    expect(link).to_be_focused()
    assert watched.refreshes() == 1
    assert watched.errors == []
    assert page.evaluate("window.violations") == []


def test_what_a_person_opened_stays_open(own: Served, open_page: Open) -> None:
    page = open_page(own.url + "/rejected", frozen=True).page
    card = page.locator("#row-run-second-0003")
    card.get_by_text("Input and origin").click()
    expect(card.get_by_text("session-run-second-0003")).to_be_visible()
    page.evaluate("window.scrollTo(0, 400)")
    _poll(page)
    _poll(page)
    expect(card.get_by_text("session-run-second-0003")).to_be_visible()
    assert page.evaluate("window.scrollY") == 400


def test_a_new_row_moves_in_above_the_one_with_focus(own: Served, open_page: Open) -> None:
    page = open_page(own.url + "/rejected", frozen=True).page
    summary = page.locator("#row-run-second-0004 summary")
    summary.focus()
    dashboard_data.add_rejected(own.database, "brand-new-row")
    _poll(page)
    expect(page.locator(".card").first).to_have_id("row-brand-new-row")
    expect(summary).to_be_focused()


def test_a_state_that_changes_is_seen_on_the_model_page(own: Served, open_page: Open) -> None:
    page = open_page(own.url + "/models/summarise_de", frozen=True).page
    expect(page.get_by_text("The last 10 probes failed, the latest")).to_be_visible()
    dashboard_data.add_probe(own.database, "summarise_de", Health.HEALTHY)
    _poll(page)
    expect(page.get_by_text("The last probe answered, the latest")).to_be_visible()


def test_pause_holds_on_the_next_page_too(normal: Served, open_page: Open) -> None:
    watched = open_page(normal.url + "/models", frozen=True)
    page = watched.page
    page.get_by_role("button", name="Pause refresh").click()
    expect(page.get_by_role("button", name="Refresh is paused")).to_have_attribute("aria-pressed", "true")
    page.clock.run_for(35_000)
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("button", name="Refresh is paused")).to_be_visible()
    page.clock.run_for(35_000)
    assert watched.refreshes() == 0
    page.get_by_role("button", name="Refresh is paused").click()
    _poll(page)
    assert watched.refreshes() == 1


def test_a_page_makes_one_request_and_one_for_each_refresh(normal: Served, open_page: Open) -> None:
    watched = open_page(normal.url + "/models", frozen=True)
    pages = [url for url in watched.requests if "/static/" not in url]
    assert pages == [normal.url + "/models"]
    _poll(watched.page)
    _poll(watched.page)
    assert watched.refreshes() == 2
    assert len([url for url in watched.requests if "/static/" not in url]) == 3


def test_the_refresh_keeps_the_filter(normal: Served, open_page: Open) -> None:
    page = open_page(normal.url + "/rejected?reason=truncated&run=run-second", frozen=True).page
    _poll(page)
    expect(page.get_by_text("26 of 130 rows")).to_be_visible()
    expect(page.locator(".card .reason").first).to_have_text("truncated")


def test_the_last_good_content_stays_while_the_registry_is_away(own: Served, open_page: Open) -> None:
    page = open_page(own.url + "/models", frozen=True).page
    assert own.process.stdin is not None
    own.process.stdin.close()
    own.process.wait(20)
    with page.expect_event("requestfailed"):
        page.clock.run_for(10_100)
    expect(page.get_by_role("status")).to_contain_text("The registry has not answered since")
    expect(page.get_by_role("link", name="summarise_de")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/models", "/models/summarise_de", "/rejected", "/runs"])
def test_the_live_part_alone_is_sent_to_a_refresh(normal: Served, path: str) -> None:
    whole, part = normal.get(path), normal.get(path, **{"HX-Request": "true"})
    assert whole.text.count("<html") == 1
    assert "<html" not in part.text and '<nav aria-label="Pages"' not in part.text
    assert "UTC</time>" in part.text
