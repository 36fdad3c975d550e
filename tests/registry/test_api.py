"""HTTP: one shape for every way of failing, names that survive the path, the token, and what reports become."""

from __future__ import annotations

import getpass
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
from registry_fixtures import RegistryProcess, StartRegistry
from registry_sql import LOCATION, Sql

from inferlake_registry.client import Client
from inferlake_registry.contract.health import Health
from inferlake_registry.contract.problems import PROBLEM_MEDIA_TYPE
from inferlake_registry.contract.runs import RejectedSample, RunReport, UsageReport
from inferlake_sql.errors import InferlakeError

RUN: Final = RunReport(
    run_id="run-1",
    model="m",
    model_version="2.1",
    application_id="local-1",
    started_at="2026-11-30T10:00:00+00:00",
    seconds=1.5,
    rows=10,
    accepted=7,
    rejected=3,
    rejected_by_reason={"schema": 2, "empty": 1},
    calls=11,
    from_cache=0,
    prompt_tokens=100,
    completion_tokens=20,
    latency_p50_ms=12.5,
    latency_p95_ms=None,
    location="/data/run_id=run-1",
    rejected_table="ai_output_rejected",
)
REJECTED: Final = RejectedSample(
    rejected_id="r-1",
    run_id="run-1",
    row_key="k",
    model="m",
    model_version="2.1",
    reason="schema",
    errors="[]",
    ai_output="<b>out</b>",
    input=None,
    rejected_at="2026-11-30T10:00:01+00:00",
)


@pytest.fixture
def http(quiet_registry: RegistryProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=quiet_registry.url) as client:
        yield client


def problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Assert that a response is the one problem document with this code, and return it."""
    assert response.status_code == status
    assert response.headers["content-type"].startswith(PROBLEM_MEDIA_TYPE)
    document: dict[str, Any] = response.json()
    assert set(document) == {"type", "title", "status", "code", "detail", "fields"}
    assert (document["status"], document["code"]) == (status, code)
    assert document["detail"]
    return document


# --- one shape for every way of failing


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/v1/models/no_such_model", None, 404, "MODEL_NOT_FOUND"),
        ("GET", "/v1/models/no_such_model/versions", None, 404, "MODEL_NOT_FOUND"),
        ("GET", "/v1/models/no_such_model/health", None, 404, "MODEL_NOT_FOUND"),
        ("GET", "/v1/models/no_such_model/limits", None, 404, "MODEL_NOT_FOUND"),
        ("POST", "/v1/models/no_such_model/resolve", b"{}", 404, "MODEL_NOT_FOUND"),
        ("POST", "/v1/models/no_such_model/credentials", b"{}", 404, "MODEL_NOT_FOUND"),
        ("GET", "/v1/models/", None, 400, "INVALID_REFERENCE"),
        ("GET", "/v1/runs/no_such_run", None, 404, "NOT_FOUND"),
        ("GET", "/v1/rejected/no_such_row", None, 404, "NOT_FOUND"),
        ("GET", "/v1/runs?after=nonsense", None, 400, "UNREADABLE_PLACE"),
        ("GET", "/v1/nothing", None, 404, "NOT_FOUND"),
        ("GET", "/v1/sql", None, 405, "METHOD_NOT_ALLOWED"),
        ("DELETE", "/v1/models", None, 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/livez", b"{}", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/v1/sql", b"{}", 400, "BAD_REQUEST"),
        ("POST", "/v1/sql", b"[]", 400, "BAD_REQUEST"),
        ("POST", "/v1/sql", b"{not json", 400, "BAD_REQUEST"),
        ("POST", "/v1/sql", b"\xff\xfe", 400, "BAD_REQUEST"),
        ("POST", "/v1/sql", b'{"statement": 5}', 400, "BAD_REQUEST"),
        ("POST", "/v1/sql", b'{"statement": "SHOW MODELS", "args": 5}', 400, "BAD_REQUEST"),
        ("POST", "/v1/sql", b'{"statement": "SHOW MODELS LIKE :a", "args": {"a": [1]}}', 400, "INVALID_PARAMETER"),
        ("POST", "/v1/sql", b'{"statement": "CREATE MODEL"}', 400, "SYNTAX_ERROR"),
        ("POST", "/v1/models/m/leases", b"{}", 400, "BAD_REQUEST"),
        ("POST", "/v1/models/m/resolve", b'{"reference": 5}', 400, "BAD_REQUEST"),
        ("POST", "/v1/models/m/nothing", b"{}", 404, "NOT_FOUND"),
        ("POST", "/v1/runs", b'{"run_id": "x"}', 400, "BAD_REQUEST"),
        ("POST", "/v1/usage", b"{}", 400, "BAD_REQUEST"),
        ("POST", "/v1/usage", b'[{"holder": 1}]', 400, "BAD_REQUEST"),
    ],
)
def test_every_failure_is_a_problem_document(
    http: httpx.Client, method: str, path: str, body: bytes | None, status: int, code: str
) -> None:
    headers = {} if body is None else {"content-type": "application/json"}
    problem(http.request(method, path, content=body, headers=headers), status, code)


def test_a_wrong_body_is_not_repeated(http: httpx.Client) -> None:
    response = http.post("/v1/sql", json={"statement": {"nested": "canary-body"}})
    assert "canary" not in problem(response, 400, "BAD_REQUEST")["detail"]
    response = http.post("/v1/sql", json=["canary-body"])
    assert "canary" not in response.text


@pytest.mark.parametrize("depth", [200, 100_000])
def test_deeply_nested_json_is_refused(http: httpx.Client, depth: int) -> None:
    content = b'{"statement": ' + b"[" * depth + b"]" * depth + b"}"
    response = http.post("/v1/sql", content=content, headers={"content-type": "application/json"})
    problem(response, 400, "BAD_REQUEST")


def test_errors_come_back_as_themselves(sql: Sql) -> None:
    error = sql.fails("ALTER MODEL {m} SET qps.limit=5")
    assert type(error).__name__ == "ModelNotFound"
    assert error.fields["name"] == sql.name


# --- names in a path


@pytest.mark.parametrize("part", ["Qwen/Qwen3-8B", "a.b", "..", "%2F", "?x=1&y", "#h", "日本語", "a b", "a`b"])
def test_a_name_survives_the_path(sql: Sql, part: str) -> None:
    name = "`" + f"{sql.name} {part}".replace("`", "``") + "`"
    sql(f"CREATE MODEL {name} LOCATION '{LOCATION}' PROPERTIES ('api.key'='canary-path', 'qps.limit'=5)")
    snapshot = sql.client.resolve(name)
    assert snapshot.arms[0].endpoint.model_name == f"{sql.name} {part}"
    rows = sql.client.get(f"/v1/models/{quote(name, safe='')}")
    assert isinstance(rows, list)
    assert rows[0] == {"name": "name", "value": name, "source": "set"}
    assert sql.client.health(name).state is Health.UNKNOWN
    assert sql.client.limits(name).qps_limit == 5


def test_a_bare_name_with_dots_is_found_in_the_path_too(sql: Sql) -> None:
    sql(f"CREATE MODEL `gpt-4.{sql.name}` LOCATION '{LOCATION}'")
    assert sql.client.limits(f"gpt-4.{sql.name}").model == f"`gpt-4.{sql.name}`"


def test_what_is_below_a_model(sql: Sql, http: httpx.Client) -> None:
    sql.create("'qps.limit'=5")
    for below, key in (("versions", "version"), ("history", "action"), ("properties", "key")):
        (first, *_) = http.get(f"/v1/models/{sql.name}/{below}").json()
        assert key in first
    assert sql.name in {row["name"] for row in http.get("/v1/models").json()}
    assert sql.name in {row["model"] for row in http.get("/v1/health").json()}


# --- who asks, and who may


def test_the_history_says_who_it_was(sql: Sql, http: httpx.Client) -> None:
    sql.create()
    for said in ("J%C3%B6rg%0A", "", "x" * 500, "%00%1b[31m"):
        statement = f"ALTER MODEL {sql.name} SET qps.limit={len(said) + 1}"
        http.post("/v1/sql", json={"statement": statement}, headers={"x-inferlake-user": said}).raise_for_status()
    people = [row["by"] for row in reversed(sql.table("DESCRIBE HISTORY MODEL {m}"))]
    assert people == [getpass.getuser(), "Jörg", "anonymous", "x" * 200, "[31m"]


def test_a_token_is_wanted_for_everything_below_v1(start_registry: StartRegistry) -> None:
    registry = start_registry("--no-probes", token="canary-token")
    for path in ("/v1/models", "/v1/health", "/v1/runs", "/v1/rejected", "/v1/models/m/history"):
        document = problem(httpx.get(registry.url + path), 401, "UNAUTHORISED")
        assert "canary" not in str(document)
    for token in ("wrong", "canary-token2", "canary-toke", "canary-token canary-token"):
        with registry.client(token) as client, pytest.raises(InferlakeError, match="UNAUTHORISED"):
            client.execute("SHOW MODELS")
    for path in ("/%761/models", "//v1/models", "/v1%2Fmodels", "/V1/models"):
        assert httpx.get(registry.url + path).status_code in (401, 404)
    with registry.client("canary-token") as client:
        assert client.execute("SHOW MODELS").rows == ()
    assert httpx.get(f"{registry.url}/livez").text == "ok"
    assert httpx.get(f"{registry.url}/readyz").json()["state"] == "ready"
    assert "canary" not in registry.log.read_text()


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"origin": "https://evil.example"}, 403, "CROSS_SITE_REQUEST"),
        ({"sec-fetch-site": "cross-site"}, 403, "CROSS_SITE_REQUEST"),
        ({"host": "evil.example"}, 421, "FOREIGN_HOST"),
        ({"host": "evil.example:80"}, 421, "FOREIGN_HOST"),
        ({"host": "127.0.0.1.evil.example"}, 421, "FOREIGN_HOST"),
        ({"host": ""}, 421, "FOREIGN_HOST"),
    ],
)
def test_a_page_of_another_site_is_refused(http: httpx.Client, headers: dict[str, str], status: int, code: str) -> None:
    problem(http.post("/v1/sql", json={"statement": "SHOW MODELS"}, headers=headers), status, code)


@pytest.mark.parametrize("host", ["localhost", "localhost:8085", "127.0.0.1", "[::1]:8085", "LOCALHOST"])
def test_names_of_this_machine_are_ours(http: httpx.Client, host: str) -> None:
    assert http.get("/v1/models", headers={"host": host}).status_code == 200


def test_another_name_can_be_allowed(start_registry: StartRegistry) -> None:
    registry = start_registry("--no-probes", "--allow-host", "Registry.example")
    assert httpx.get(f"{registry.url}/v1/models", headers={"host": "registry.example:443"}).status_code == 200
    assert httpx.get(f"{registry.url}/v1/models", headers={"host": "other.example"}).status_code == 421


# --- runs, rejected rows, usage


@pytest.fixture
def run(sql: Sql) -> RunReport:
    """Give a run that only this test knows, of a model that only this test knows."""
    return replace(RUN, run_id=f"run of {sql.name}", model=sql.name)


@pytest.fixture
def row(run: RunReport) -> RejectedSample:
    return replace(REJECTED, rejected_id=f"row of {run.run_id}", run_id=run.run_id, model=run.model)


def test_a_run_is_stored_once_and_replaced_when_it_comes_again(quiet_client: Client, run: RunReport) -> None:
    quiet_client.report_run(replace(run, state="running", rows=0, accepted=0, rejected=0))
    quiet_client.report_run(run)
    assert quiet_client.run(run.run_id) == run
    assert quiet_client.runs(model=run.model or "").runs == (run,)
    assert quiet_client.runs(model="other").runs == ()


def test_a_run_whose_sum_does_not_hold_is_refused(quiet_client: Client, run: RunReport) -> None:
    for wrong in (replace(run, accepted=8), replace(run, started_at="yesterday")):
        with pytest.raises(InferlakeError, match="BAD_REQUEST"):
            quiet_client.report_run(wrong)
    assert quiet_client.runs(model=run.model or "").runs == ()


def test_run_ids_survive_the_path(quiet_client: Client, run: RunReport, row: RejectedSample) -> None:
    run = replace(run, run_id=f"{run.run_id}/b?c#d%2F é")
    quiet_client.report_run(run)
    quiet_client.report_rejected(run.run_id, [replace(row, run_id=run.run_id, rejected_id=f"{row.rejected_id}/é?")])
    assert quiet_client.run(run.run_id) == run
    assert quiet_client.rejected(run=run.run_id).matching == 1
    assert quiet_client.rejected_row(f"{row.rejected_id}/é?").run_id == run.run_id


def test_runs_come_in_pages_of_fifty_the_latest_first(quiet_client: Client, run: RunReport) -> None:
    for number in range(120):
        at = f"2026-11-30T10:{number // 60:02}:{number % 60:02}+00:00"
        quiet_client.report_run(replace(run, run_id=f"{run.run_id} {number:03}", started_at=at))
    pages, after = list[list[str]](), ""
    while True:
        page = quiet_client.runs(model=run.model or "", after=after)
        pages.append([found.run_id for found in page.runs])
        if page.following is None:
            break
        after = page.following
    assert [len(page) for page in pages] == [50, 50, 20]
    assert [run_id for page in pages for run_id in page] == [
        f"{run.run_id} {number:03}" for number in reversed(range(120))
    ]


def test_rejected_rows_are_stored_once(quiet_client: Client, row: RejectedSample) -> None:
    other = replace(row, rejected_id=f"{row.rejected_id} 2", reason="empty")
    quiet_client.report_rejected(row.run_id, [row, other])
    quiet_client.report_rejected(row.run_id, [row])
    assert quiet_client.rejected(run=row.run_id).matching == 2
    assert quiet_client.rejected(run=row.run_id, reason="schema").rows == (row,)
    assert quiet_client.rejected_row(row.rejected_id) == row
    with pytest.raises(InferlakeError, match="BAD_REQUEST"):
        quiet_client.report_rejected("another run", [row])


def test_a_large_batch_of_rejected_rows(quiet_client: Client, row: RejectedSample) -> None:
    batch = [replace(row, rejected_id=f"{row.rejected_id} {n}", input="x" * 2_000) for n in range(1_000)]
    quiet_client.report_rejected(row.run_id, batch)
    assert quiet_client.rejected(run=row.run_id).matching == 1_000


def test_usage_is_summed_by_model_version_and_hour(
    http: httpx.Client, quiet_registry: RegistryProcess, sql: Sql
) -> None:
    report = UsageReport("host:1:a", sql.name, "2.1", 10, {"timeout": 1}, 100, 20, {"50": 9, "100": 1})
    other = replace(report, holder="host:2:b", errors={"timeout": 2, "server": 1})
    assert http.post("/v1/usage", json=[asdict(report), asdict(other)]).status_code == 204
    query = "SELECT version, calls, errors, prompt_tokens, latency_ms_histogram FROM usage_hour WHERE model = ?"
    with closing(sqlite3.connect(quiet_registry.database)) as database:
        rows = database.execute(query, (sql.name,)).fetchall()
    assert rows == [("2.1", 20, '{"timeout": 3, "server": 1}', 200, '{"50": 18, "100": 2}')]


# --- operations


def test_metrics_have_labels_of_the_registrys_own_names_only(fresh_registry: RegistryProcess) -> None:
    with fresh_registry.client() as client:
        client.execute(f"CREATE MODEL `say \"hi\"\\` LOCATION '{LOCATION}'")
        client.report_run(replace(RUN, model="canary-label"))
        httpx.get(f"{fresh_registry.url}/v1/models/canary-label")
    text = httpx.get(f"{fresh_registry.url}/metrics").text
    assert "inferlake_models 1.0" in text
    assert "inferlake_runs 1.0" in text
    assert "canary" not in text
    assert re.search(r"^# TYPE inferlake_model_healthy gauge$", text, re.MULTILINE)


def test_ready_says_why_not(fresh_registry: RegistryProcess) -> None:
    assert httpx.get(f"{fresh_registry.url}/readyz").json() == {"state": "ready"}
    assert httpx.get(f"{fresh_registry.url}/livez").status_code == 200
