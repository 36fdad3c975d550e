"""Every page with every set of data in a browser: what it says, and that nothing goes wrong in it."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from dashboard_fixtures import Open, Served
from playwright.sync_api import expect

MODEL = "/models/llm_intent_classifier"
LISTS = ("/", "/models", "/rejected", "/runs")


def _name(path: str) -> str:
    return path.strip("/").replace("/", "-") or "overview"


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (400, "light"), (400, "dark")])
def test_lists_load_without_a_fault(
    served: Served,
    request: pytest.FixtureRequest,
    open_page: Open,
    artefacts: Path,
    path: str,
    width: int,
    scheme: str,
) -> None:
    watched = open_page(served.url + path, width, scheme)
    data = request.node.callspec.params["served"]
    watched.page.screenshot(path=artefacts / f"{data}-{_name(path)}-{width}-{scheme}.png", full_page=True)
    assert watched.errors == []
    assert watched.page.evaluate("window.violations") == []
    assert watched.hosts() == {urlsplit(served.url).netloc}
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.page.title().endswith("· Inferlake")
    expect(watched.page.get_by_role("heading", level=1)).to_be_visible()
    expect(watched.page.get_by_text(re.compile(r"as of \d\d:\d\d:\d\d UTC")).first).to_be_visible()


@pytest.mark.parametrize("width", [1400, 400])
def test_model_page_loads_without_a_fault(normal: Served, open_page: Open, artefacts: Path, width: int) -> None:
    watched = open_page(normal.url + MODEL, width)
    watched.page.screenshot(path=artefacts / f"normal-model-{width}-light.png", full_page=True)
    assert watched.errors == []
    assert watched.page.evaluate("window.violations") == []
    assert watched.hosts() == {urlsplit(normal.url).netloc}
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width


def test_overview_counts_and_names_what_needs_attention(normal: Served, open_page: Open) -> None:
    page = open_page(normal.url).page
    attention = page.get_by_role("region", name="Needs attention").get_by_role("rowheader")
    expect(attention).to_have_text(["summarise_de", "sentiment_xl", "`Qwen/Qwen3-0.6B`", "product_embeddings"])
    expect(page.get_by_role("region", name="Needs attention").get_by_text("connection refused")).to_be_visible()
    expect(page.get_by_role("link", name="1,040 rows in 2 runs")).to_be_visible()
    expect(page.get_by_role("link", name="12.5\u00a0% of them rejected; 130 stored")).to_be_visible()
    expect(page.get_by_role("region", name="Last runs").get_by_role("row")).to_have_count(3)
    changes = page.get_by_role("region", name="Last changes")
    expect(changes.get_by_role("row")).to_have_count(11)
    expect(changes.get_by_role("row").nth(1)).to_contain_text("ALTER MODEL media_tagger DISABLE")
    page.get_by_role("link", name="Misconfigured").click()
    assert page.url == normal.url + "/models?state=misconfigured"


def test_models_page_says_how_each_model_is(normal: Served, open_page: Open) -> None:
    page = open_page(normal.url + "/models").page
    rows = page.get_by_role("table", name="Registered models").get_by_role("row")
    expect(rows).to_have_count(8)  # the header and seven models
    said = {
        "brand_new": ("Unknown", "not probed yet"),
        "llm_intent_classifier": ("Healthy", "http://127.0.0.1:9/v1/chat/completions"),
        "media_tagger": ("Disabled", "calls are refused"),
        "product_embeddings": ("Stale", "was healthy; no recent probe"),
        "Qwen/Qwen3-0.6B": ("Degraded", "alive and throttled (HTTP 429)"),
        "sentiment_xl": ("Misconfigured", "the endpoint refuses our key (HTTP 401)"),
        "summarise_de": ("Unhealthy", "connection refused"),
    }
    for name, words in said.items():
        row = rows.filter(has=page.get_by_role("link", name=name))
        for word in words:
            expect(row).to_contain_text(word)
    row = rows.filter(has=page.get_by_role("link", name="llm_intent_classifier"))
    expect(row).to_contain_text("2.1")
    expect(row).to_contain_text("500")
    expect(row).to_contain_text(re.compile(r"for \d+.min"))
    expect(row.get_by_role("img")).to_have_attribute(
        "aria-label",
        re.compile(r"29 of the last 30 probes answered, median \d+.ms, slowest \d+.ms; last failure \d+.min ago"),
    )


def test_models_are_found_by_name_and_state(normal: Served, open_page: Open) -> None:
    page = open_page(normal.url + "/models").page
    page.get_by_role("searchbox", name="Search by name").fill("SUMM")
    page.get_by_role("button", name="Search").click()
    assert urlsplit(page.url).query == "q=SUMM"
    expect(page.get_by_role("rowheader")).to_have_text(re.compile("summarise_de"))
    page.goto(normal.url + "/models")
    page.get_by_role("list", name="Narrow by state").get_by_role("link", name="Stale 1").click()
    assert urlsplit(page.url).query == "state=stale"
    expect(page.get_by_role("rowheader")).to_have_text(re.compile("product_embeddings"))
    page.goto(normal.url + "/models?q=nothing")
    expect(page.get_by_role("heading", name="No model matches")).to_be_visible()


def test_model_page_shows_verdict_versions_properties_and_statement(normal: Served, open_page: Open) -> None:
    page = open_page(normal.url + "/models").page
    page.get_by_role("link", name="llm_intent_classifier").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("llm_intent_classifier")
    expect(page.get_by_text("The last 17 probes answered, the latest")).to_be_visible()
    versions = page.get_by_role("region", name="Versions").get_by_role("row")
    expect(versions.nth(1)).to_contain_text("2.1")
    expect(versions.nth(1)).to_contain_text("active")
    properties = page.get_by_role("table", name="Properties that are set")
    expect(properties.get_by_role("row", name="api.key")).to_contain_text("set, hidden")
    expect(properties.get_by_role("row", name="qps.limit")).to_contain_text("500")
    page.get_by_text("Defaults", exact=True).click()
    defaults = page.get_by_role("table", name="Properties at their default")
    expect(defaults.get_by_role("row", name="retry.attempts")).to_contain_text("4")
    statement = page.get_by_role("region", name="Statement that creates this model again")
    expect(statement).to_contain_text("'api.key' = '******'")
    expect(statement).to_contain_text("VERSION '2.1'")
    page.get_by_text("The same as a table").click()
    expect(page.get_by_role("cell", name="failed", exact=True)).to_have_count(1)


def test_the_statement_is_copied(normal: Served, open_page: Open) -> None:
    watched = open_page(normal.url + MODEL)
    watched.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    watched.page.get_by_role("button", name="Copy").click()
    expect(watched.page.get_by_role("button", name="Copied")).to_be_visible()
    copied = watched.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("CREATE MODEL llm_intent_classifier\n")


def test_a_name_with_slashes_has_a_page(normal: Served, open_page: Open) -> None:
    page = open_page(normal.url + "/models").page
    page.get_by_role("link", name="Qwen/Qwen3-0.6B").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("`Qwen/Qwen3-0.6B`")
    expect(page.get_by_text("It is alive but holds callers back: alive and throttled (HTTP 429)")).to_be_visible()


def test_rejected_rows_are_narrowed_by_links_and_paged(normal: Served, open_page: Open) -> None:
    page = open_page(normal.url + "/rejected").page
    cards = page.locator(".card")
    expect(page.get_by_text("130 rows")).to_be_visible()
    expect(cards).to_have_count(50)
    page.get_by_role("link", name="Next page").click()
    expect(cards).to_have_count(50)
    page.get_by_role("link", name="Next page").click()
    expect(cards).to_have_count(30)
    page.get_by_role("link", name="First page").click()
    page.get_by_role("complementary").get_by_role("link", name="schema 52").click()
    expect(page.get_by_text("52 of 130 rows")).to_be_visible()
    assert urlsplit(page.url).query == "reason=schema"
    expect(cards.first).to_contain_text("/label")
    expect(cards.first).to_contain_text('"maybe" is not one of "normal", "abnormal"')
    expect(cards.first).to_contain_text('{"label":"maybe","confidence":0.41}')
    expect(cards.first.get_by_text("session-run-second-0000")).to_be_hidden()
    cards.first.get_by_text("Input and origin").click()
    expect(cards.first.get_by_text("session-run-second-0000")).to_be_visible()
    expect(cards.first.get_by_text('"page":"/cart"')).to_be_visible()
    page.get_by_role("link", name="Clear").click()
    expect(page.get_by_text("130 rows")).to_be_visible()


def test_runs_page_sums_up_each_run(normal: Served, open_page: Open) -> None:
    page = open_page(normal.url + "/runs").page
    rows = page.get_by_role("row")
    expect(rows).to_have_count(3)
    for word in ("llm_intent_classifier:2.1", "run-second", "520", "390", "75.0\u00a0%", "130", "25.0\u00a0%", "512"):
        expect(rows.nth(1)).to_contain_text(word)
    for word in ("38\u00a0ms", "121\u00a0ms", "162\u00a0k", "6.24\u00a0k", "8 reused", "12.5/s"):
        expect(rows.nth(1)).to_contain_text(word)
    rows.nth(1).get_by_role("link", name="not_json").click()
    assert urlsplit(page.url).query == "run=run-second&reason=not_json"
    expect(page.get_by_text("26 of 130 rows")).to_be_visible()


@pytest.mark.parametrize(
    ("path", "title", "code"),
    [
        ("/", "No model is registered yet", "CREATE MODEL llm_intent_classifier"),
        ("/models", "No model is registered yet", "CREATE MODEL llm_intent_classifier"),
        ("/rejected", "No row was rejected yet", "REJECTED INTO ai_output_rejected"),
        ("/runs", "No run yet", "inferlake.route_rejected("),
    ],
)
def test_an_empty_page_says_what_to_do(empty: Served, open_page: Open, path: str, title: str, code: str) -> None:
    page = open_page(empty.url + path).page
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    expect(page.get_by_text(code)).to_be_visible()


def test_hostile_text_is_only_text(hostile: Served, open_page: Open) -> None:
    watched = open_page(hostile.url + "/rejected")
    page = watched.page
    expect(page.locator(".card")).to_have_count(14)
    assert page.title() == "Rejected rows · Inferlake"
    assert page.locator("main script, main style, main img, main textarea").count() == 0
    expect(page.get_by_text("<script>document.title='owned'</script>").first).to_be_visible()
    expect(page.locator(".hidden-character", has_text="U+202E").first).to_be_visible()
    expect(page.locator(".hidden-character", has_text="U+0007").first).to_be_visible()
    long = page.locator(".card", has=page.get_by_text("AAAAAAAA")).first
    long.get_by_text("Input and origin").click()
    expect(long.get_by_text("1,000,000 characters, the beginning is shown")).to_be_visible()
    assert watched.errors == []
    name = page.locator(".who a").filter(has_text="<b>").first
    name.click()
    expect(page.get_by_role("heading", level=1)).to_have_text('`<b>"x"\'&amp;</b>`')
    expect(page.get_by_text("<script>alert(1)</script>").first).to_be_visible()
    assert watched.errors == []


def test_an_unknown_model_is_a_page_that_leads_back(normal: Served, open_page: Open) -> None:
    page = open_page(f"{normal.url}/models/{quote('sumarise_de')}").page
    expect(page.get_by_role("heading", level=1)).to_contain_text("404")
    expect(page.get_by_text("Did you mean summarise_de?")).to_be_visible()
    page.get_by_role("link", name="Show all models").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Models")
