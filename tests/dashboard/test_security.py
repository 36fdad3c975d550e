"""What every answer carries, and what no page may ever hold."""

from __future__ import annotations

from pathlib import Path

import dashboard_data
import pytest
from dashboard_fixtures import Served, serve
from playwright.sync_api import Browser, expect

from inferlake_registry.web.security import CrossSiteRequest, refuse_cross_site

PAGES = ("/", "/models", "/models/llm_intent_classifier", "/models/nobody", "/rejected", "/rejected?after=bad", "/runs")


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_under_the_strict_policy(normal: Served, path: str) -> None:
    headers = normal.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("path", PAGES)
def test_no_page_holds_inline_code(normal: Served, path: str) -> None:
    text = normal.get(path).text
    assert "<style" not in text and " style=" not in text and "javascript:" not in text
    assert text.count("<script") == text.count('<script src="/static/') == 2
    assert " onclick" not in text and " hx-on" not in text


@pytest.mark.parametrize("path", [*PAGES, "/models?q=l", "/rejected?run=run-second"])
def test_no_page_holds_the_key(normal: Served, path: str) -> None:
    assert dashboard_data.CANARY not in normal.get(path).text


def test_scripts_and_styles_are_kept_by_browsers_and_packed(normal: Served) -> None:
    page = normal.get("/models").text
    paths = [part.split('"')[0] for part in page.split('"/static/')[1:]]
    assert len(paths) == 4
    assert "htmx-4.0.1.min.js" in paths
    total = 0
    for name in paths:
        answer = normal.get(f"/static/{name}", **{"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        total += int(answer.headers["content-length"])
        assert normal.get(f"/static/{name}", **{"Accept-Encoding": "identity"}).content == answer.content
    assert total < 60_000


@pytest.mark.parametrize(
    "name", ["nothing.js", "..%2Frouter.py", "%2e%2e/vendor/installed.json", "vendor/installed.json"]
)
def test_nothing_else_can_be_asked_for(normal: Served, name: str) -> None:
    assert normal.get(f"/static/{name}").status_code == 404


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/models/nobody", 404, "model not found"),
        ("/models/a%20%60", 400, "invalid"),
        ("/rejected?after=%00", 400, "unreadable place"),
        ("/runs?after=W10", 400, "unreadable place"),
        ("/runs?after=WyI5OTk5OS0wMSIsIjEiXQ", 400, "unreadable place"),
    ],
)
def test_an_error_is_a_page_with_its_status(normal: Served, path: str, status: int, code: str) -> None:
    answer = normal.get(path)
    assert answer.status_code == status
    assert code in answer.text
    assert "hx-get" not in answer.text  # an error does not repeat itself


@pytest.mark.parametrize("path", ["/models?q=%ff%00", "/models?state=%27", "/rejected?reason=%00", "/models?after=%00"])
def test_odd_filters_find_nothing_and_break_nothing(normal: Served, path: str) -> None:
    assert normal.get(path).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site", "origin": "http://evil.example", "host": "127.0.0.1:8085"},
        {"sec-fetch-site": "same-site", "host": "127.0.0.1:8085"},
        {"origin": "http://evil.example", "host": "127.0.0.1:8085"},
        {"origin": "null", "host": "127.0.0.1:8085"},
        {"origin": "http://127.0.0.1:9999", "host": "127.0.0.1:8085"},
    ],
)
def test_another_site_changes_nothing(headers: dict[str, str]) -> None:
    refuse_cross_site("GET", headers)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        with pytest.raises(CrossSiteRequest):
            refuse_cross_site(method, headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "same-origin", "origin": "http://127.0.0.1:8085", "host": "127.0.0.1:8085"},
        {"sec-fetch-site": "none", "host": "127.0.0.1:8085"},
        {"origin": "http://127.0.0.1:8085", "host": "127.0.0.1:8085"},
        {"host": "127.0.0.1:8085"},
    ],
)
def test_this_site_and_programs_may(headers: dict[str, str]) -> None:
    refuse_cross_site("POST", headers)


def test_a_registry_with_a_token_wants_it_for_pages_too(tmp_path: Path, browser: Browser, libraries: None) -> None:
    with serve(tmp_path, token="t0ken") as served:
        refused = served.get("/models")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Basic ")
        assert "CREATE MODEL" not in refused.text
        assert served.get("/models", Authorization="Bearer wrong").status_code == 401
        assert served.get("/models", Authorization="Basic !").status_code == 401
        assert served.get("/models", Authorization="Bearer t0ken").status_code == 200
        context = browser.new_context(http_credentials={"username": "anyone", "password": "t0ken"})
        page = context.new_page()
        page.goto(f"{served.url}/models")
        expect(page.get_by_role("heading", name="No model is registered yet")).to_be_visible()
        expect(page.get_by_role("button", name="Pause refresh")).to_be_visible()  # scripts come through as well
        context.close()
