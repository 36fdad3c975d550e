"""Every page works without JavaScript: all rows, all filters, all pages."""

from __future__ import annotations

import pytest
from dashboard_fixtures import Open, Served
from playwright.sync_api import expect


@pytest.mark.parametrize("path", ["/", "/models", "/models/llm_intent_classifier", "/rejected", "/runs"])
def test_what_only_a_script_could_do_is_not_offered(normal: Served, open_page: Open, path: str) -> None:
    page = open_page(normal.url + path, javascript=False).page
    expect(page.get_by_role("button", name="Pause refresh")).to_be_hidden()
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    expect(page.get_by_text("Reload it for newer numbers")).to_be_visible()


def test_models_are_listed_searched_and_opened(normal: Served, open_page: Open) -> None:
    page = open_page(normal.url + "/models", javascript=False).page
    expect(page.get_by_role("rowheader")).to_have_count(7)
    page.get_by_role("searchbox").fill("sent")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("rowheader")).to_have_count(1)
    page.get_by_role("link", name="sentiment_xl").click()
    expect(page.get_by_text("Trying again does not mend it")).to_be_visible()


def test_rejected_rows_are_filtered_paged_and_unfolded(normal: Served, open_page: Open) -> None:
    page = open_page(normal.url + "/rejected", javascript=False).page
    page.get_by_role("link", name="Next page").click()
    expect(page.locator(".card")).to_have_count(50)
    page.get_by_role("complementary").get_by_role("link", name="truncated 26").click()
    expect(page.locator(".card")).to_have_count(26)
    page.locator("summary").first.click()
    expect(page.get_by_text("Row key").first).to_be_visible()
