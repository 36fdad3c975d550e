"""A registry process that has heard keys in every statement, and asked endpoints that give them back, keeps silent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final

import httpx
import pytest
from canary_key import ALL, HOSTILE, PLAIN, Canary, files_below
from canary_statements import MISPLACED, carriers, misspelt
from registry_fixtures import RegistryProcess, StartRegistry, run_registry

from inferlake.testing import Received, Reply, StubEndpoint
from inferlake_registry.store.secrets import key_ring_from

_SHOWN: Final = (
    "DESCRIBE MODEL {m}",
    "DESCRIBE MODEL EXTENDED {m}",
    "SHOW CREATE MODEL {m}",
    "SHOW VERSIONS IN MODEL {m}",
    "DESCRIBE HISTORY MODEL {m}",
    "SHOW MODEL PROPERTIES {m}",
    "SHOW MODEL PROPERTIES {m} ('api.key')",
    "SHOW MODELS",
    "SHOW MODEL HEALTH",
)
_BODIES: Final = (
    b'{"statement": "ALTER MODEL m SET api.key=%s"',
    b'{"statement": ["ALTER MODEL m SET api.key=%s"]}',
    b'{"statement": "SHOW MODELS", "args": "%s"}',
    b'{"statement": "ALTER MODEL m SET api.key=:k", "args": {"k": {"k": "%s"}}}',
    b'["%s"]',
    b'"%s"',
    b'{"%s": 1}',
    b"\xff%s",
    b"",
    b'{"statement": "ALTER MODEL m SET api.key=\\ud800%s"}',
)


def tell_tale(received: Received) -> Reply:
    """Refuse a request and give all of its headers back, in the body, in headers and in the error's own code."""
    heard = received.headers.get("authorization", "").removeprefix("Bearer ")
    document = {"error": {"message": f"Incorrect API key {heard}", "type": heard, "code": heard, "param": heard}}
    ascii_only = heard.encode().decode("ascii", "ignore")
    headers: dict[str, str] = {name: ascii_only for name in ("www-authenticate", "x-request-id", "location")}
    headers["retry-after"] = ascii_only
    return Reply(_STATUS.get(received.path, 401), json.dumps(document).encode(), headers)


_STATUS: Final = {"/health": 401, "/v1/models": 403, "/302/v1/chat/completions": 302, "/500/v1/chat/completions": 500}


@dataclass(slots=True)
class Conversation:
    """All that a registry has answered."""

    registry: RegistryProcess
    endpoint: StubEndpoint
    http: httpx.Client
    answers: list[tuple[str, str]] = field(default_factory=list)  # what was asked, and the answer with its headers

    def send(self, statement: str, args: object = None, *, dry_run: bool = False) -> httpx.Response:
        """Send a statement."""
        body = {"statement": statement, "args": args, "dry_run": dry_run}
        return self.keep(statement, self.http.post("/v1/sql", json=body))

    def keep(self, asked: str, response: httpx.Response) -> httpx.Response:
        """Note an answer."""
        self.answers.append((asked, f"{response.status_code} {response.headers} {response.text}"))
        return response


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    """Give a registry that has been told every key in every way."""
    registry = run_registry(tmp_path_factory.mktemp("canary"))
    with StubEndpoint(tell_tale) as endpoint, httpx.Client(base_url=registry.url, timeout=30) as http:
        conversation = Conversation(registry, endpoint, http)
        for number, canary in enumerate(ALL):
            say_everything(conversation, canary, f"m{number}")
            ask_the_endpoint(conversation, canary, f"t{number}")
        look_everywhere(conversation)
        yield conversation
    registry.stop()


def say_everything(conversation: Conversation, canary: Canary, model: str) -> None:
    """Say one key in every statement: rightly, wrongly, only planned, by marker, and in bodies that are none."""
    for statement in carriers(canary, location=conversation.endpoint.url, model=model):
        conversation.send(statement, dry_run=True)
        conversation.send(statement)
    for statement in misspelt(canary):
        conversation.send(statement.replace("MODEL m", f"MODEL {model}"))
    for statement in MISPLACED:
        conversation.send(statement, {"k": canary.value})
        conversation.send(statement.replace(":k", "?"), [canary.value])
    for body in _BODIES:
        content = body.replace(b"%s", canary.value.encode())
        conversation.keep(str(body), conversation.http.post("/v1/sql", content=content))


def ask_the_endpoint(conversation: Conversation, canary: Canary, model: str) -> None:
    """Have the registry call an endpoint that repeats the key, in a TEST, in a probe and while a model is created."""
    for status in ("401", "302", "500"):
        location = f"{conversation.endpoint.origin}/{status}/v1/chat/completions"
        created = f"CREATE OR REPLACE MODEL {model} LOCATION '{location}' PROPERTIES ('api.key' = {canary.literal})"
        assert conversation.send(created).status_code == 200
        assert conversation.send(f"TEST MODEL {model} WITH 'x'").status_code == 502
    probing = (
        f"CREATE MODEL p LOCATION '{location}' PROPERTIES ('api.key' = {canary.literal}, 'probe.on.create' = TRUE)"
    )
    assert conversation.send(probing).status_code == 502
    shut = "http://127.0.0.1:9/v1/chat/completions"
    assert conversation.send(f"ALTER MODEL {model} SET LOCATION '{shut}' PROPERTIES ('api.key' = {canary.literal})")
    assert conversation.send(f"TEST MODEL {model}").status_code == 502
    assert conversation.send(f"ALTER MODEL {model} DISABLE").status_code == 200
    assert conversation.send(f"TEST MODEL {model}").status_code == 409


def look_everywhere(conversation: Conversation) -> None:
    """Read every statement that shows something, every address and every page."""
    get, post = conversation.http.get, conversation.http.post
    names = [model["name"] for model in get("/v1/models").json()]
    assert len(names) == 2 * len(ALL)
    for name in names:
        for statement in _SHOWN:
            assert conversation.send(statement.format(m=name)).status_code == 200
        for below in ("", "/versions", "/history", "/properties", "/health", "/limits"):
            conversation.keep(below, get(f"/v1/models/{name}{below}"))
        conversation.keep("resolve", post(f"/v1/models/{name}/resolve", json={"reference": name}))
        conversation.keep("page", get(f"/models/{name}"))
    for path in ("/", "/models", "/rejected", "/runs", "/metrics", "/readyz", "/livez", "/v1/health", "/openapi.json"):
        conversation.keep(path, get(path, follow_redirects=True))


@pytest.mark.parametrize("canary", ALL, ids=lambda canary: canary.core)
def test_no_answer_shows_it(heard: Conversation, canary: Canary) -> None:
    assert [asked for asked, answer in heard.answers if canary.is_in(answer)] == []


def test_most_of_it_was_understood(heard: Conversation) -> None:
    """Or the rest would prove nothing."""
    by_status: dict[str, int] = {}
    for _, answer in heard.answers:
        by_status[answer[:3]] = by_status.get(answer[:3], 0) + 1
    assert set(by_status) == {"200", "400", "404", "409", "502"}
    assert by_status["200"] > 200
    assert by_status["400"] > 200


def test_the_endpoint_got_it_in_the_right_header(heard: Conversation) -> None:
    for canary in ALL:
        bearer = f"Bearer {canary.value}".encode().decode("latin-1")  # as the double reads the bytes of a header
        paths = {request.path for request in heard.endpoint.requests if request.headers["authorization"] == bearer}
        assert paths >= {"/401/v1/chat/completions", "/302/v1/chat/completions", "/500/v1/chat/completions", "/health"}
    assert not any(
        canary.is_in(request.body + request.path.encode()) for request in heard.endpoint.requests for canary in ALL
    )


def test_no_log_shows_it(heard: Conversation) -> None:
    assert not any(canary.is_in(heard.registry.log.read_bytes()) for canary in ALL)


def test_no_file_holds_it(heard: Conversation) -> None:
    """The database, its log of writes, the key file; looked at while the log is not folded into the database yet."""
    names = set()
    for path, content in files_below(heard.registry.database.parent):
        names.add(path.name)
        assert [canary.core for canary in ALL if canary.is_in(content)] == [], path.name
    assert names >= {"registry.db", "registry.db-wal", "registry.db.key"}


def test_it_is_in_the_store_encrypted(heard: Conversation) -> None:
    """The proof that the search had something to find."""
    ring = key_ring_from(None, heard.registry.database.with_name("registry.db.key"))
    tables = ("model_property", "version_property")
    with closing(sqlite3.connect(heard.registry.database)) as database:
        tokens = [
            token
            for table in tables
            for (token,) in database.execute(f"SELECT secret FROM {table} WHERE secret IS NOT NULL")
        ]
        columns = [
            (table, column)
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for _, column, *_ in database.execute(f"PRAGMA table_info({table})")
        ]
        for table, column in columns:
            for (value,) in database.execute(
                f'SELECT CAST("{column}" AS TEXT) FROM "{table}" WHERE "{column}" IS NOT NULL'
            ):
                assert not any(canary.is_in(value) for canary in ALL), (table, column)
    revealed = [ring.decrypt(token).reveal() for token in tokens]
    for canary in ALL:
        assert sum(canary.core in text for text in revealed) >= 8  # headers, a tag, and members of the body
    assert HOSTILE.value in revealed and PLAIN.value in revealed


def test_a_fault_of_the_registry_itself_is_logged_without_it(start_registry: StartRegistry) -> None:
    registry = start_registry("--no-probes")
    with httpx.Client(base_url=registry.url) as http:
        created, changed = carriers(HOSTILE)[0], carriers(HOSTILE)[4]
        assert http.post("/v1/sql", json={"statement": created}).status_code == 200
        with closing(sqlite3.connect(registry.database)) as database:
            database.execute("ALTER TABLE history_event RENAME TO gone")
        for body in (
            {"statement": changed},
            {"statement": changed.replace(HOSTILE.literal, ":k"), "args": {"k": HOSTILE.value}},
        ):
            response = http.post("/v1/sql", json=body)
            assert (response.status_code, response.json()["code"]) == (500, "UNEXPECTED_ERROR")
            assert not HOSTILE.is_in(f"{response.headers} {response.text}")
    log = registry.log.read_text()
    assert "OperationalError" in log
    assert not HOSTILE.is_in(log)
