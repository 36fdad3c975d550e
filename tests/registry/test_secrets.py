"""A canary key put through every statement, path and error is found nowhere but encrypted in the store."""

from __future__ import annotations

import base64
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import httpx
import pytest
from registry_fixtures import RegistryProcess, StartRegistry, run_registry
from registry_sql import LOCATION

from inferlake.testing import Reply, StubEndpoint
from inferlake_registry.client import AsyncClient, Client
from inferlake_registry.contract.models import Credentials
from inferlake_registry.store.secrets import KeyRing, key_ring_from
from inferlake_sql.errors import InferlakeError
from inferlake_sql.secret import Secret

CANARY: Final = "canary-7f3a"


@dataclass(frozen=True, slots=True)
class Spoken:
    """What the registry has said, all of it."""

    registry: RegistryProcess
    answers: list[str]

    def send(self, statement: str, args: object = None, *, dry_run: bool = False) -> str:
        """Send a statement, and keep the whole answer, headers included."""
        body = {"statement": statement, "args": args, "dry_run": dry_run}
        return self.keep(httpx.post(f"{self.registry.url}/v1/sql", json=body))

    def keep(self, response: httpx.Response) -> str:
        """Keep an answer."""
        text = f"{response.status_code} {dict(response.headers)} {response.text}"
        self.answers.append(text)
        return text


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoken]:
    """Give a registry that has heard the canary wherever one can be said."""
    folder = tmp_path_factory.mktemp("secrets")
    registry = run_registry(folder)
    said = Spoken(registry, [])
    with StubEndpoint(Reply(401)) as stub:
        for statement in statements(stub.url):
            said.send(statement)
            said.send(statement, dry_run=True)
        said.send("ALTER MODEL m SET PROPERTIES ('api.key'=:k)", {"k": f"{CANARY}-marker"})
        said.send("ALTER MODEL m SET PROPERTIES ('qps.limit'=:k)", {"k": f"{CANARY}-wrong-place"})
        said.send("ALTER MODEL m SET PROPERTIES ('api.key'=?)", [f"{CANARY}-positional"])
        names = ("m", "copy", "no_model")
        below = ("", "/versions", "/history", "/properties", "/health", "/limits")
        paths = [f"/v1/models/{name}{tail}" for name in names for tail in below]
        pages = ["/", "/models", "/rejected", "/runs", *(f"/models/{name}" for name in names)]
        for path in (*paths, *pages, "/v1/models", "/v1/health", "/v1/runs", "/v1/rejected", "/metrics", "/readyz"):
            said.keep(httpx.get(registry.url + path, follow_redirects=True))
        said.keep(httpx.post(f"{registry.url}/v1/models/m/resolve", json={}))
        said.keep(httpx.post(f"{registry.url}/v1/models/{quote(CANARY)}-no/leases", json={"holder": CANARY}))
    yield said
    registry.stop()


def statements(location: str) -> list[str]:
    """Return statements that hold the canary in every place where a secret is taken, and some where it is not."""
    key = f"'api.key'='{CANARY}-create'"
    return [
        f"CREATE MODEL m LOCATION '{location}' PROPERTIES ({key}, 'header.x-api-key'='{CANARY}-header', "
        f"'tag.password'='{CANARY}-tag')",
        f"CREATE MODEL u LOCATION '{location}' PROPERTIES ('request.api_key'='{CANARY}-request')",
        f"ALTER MODEL m SET PROPERTIES ('request.extra'='{{\"auth_token\": \"{CANARY}-deep\"}}')",
        f"CREATE MODEL IF NOT EXISTS m LOCATION '{location}' PROPERTIES ('api.key'='{CANARY}-other')",
        f"CREATE MODEL m LOCATION '{location}' PROPERTIES ('api.key'='{CANARY}-exists')",
        f"CREATE OR REPLACE MODEL m LOCATION '{location}' PROPERTIES ({key}, 'header.authorization'='{CANARY}-auth')",
        "CREATE MODEL copy LIKE m",
        f"ALTER MODEL m SET api.key='{CANARY}-set'",
        f"ALTER MODEL m SET PROPERTIES ('api.key'='{CANARY}-same', 'request.seed'=2)",
        f"ALTER MODEL m ADD VERSION 'v' PROPERTIES ('request.seed'=1, {key})",
        f"ALTER MODEL m ADD VERSION 'v' PROPERTIES ('request.secret'='{CANARY}-differs')",
        f"ALTER MODEL m SET VERSION 'w' PROPERTIES ('request.secret'='{CANARY}-w')",
        f"ALTER MODEL no_model SET api.key='{CANARY}-missing'",
        f"ALTER MODEL m SET api.key='{CANARY}-broken",
        f"ALTER MODEL m SET api.key={CANARY}",
        f"ALTER MODEL m SET api.key='{CANARY}-trailing' 'x'",
        f"ALTER MODEL m SET PROPERTIES ('qps.limit'='{CANARY}-number')",
        f"ALTER MODEL m SET PROPERTIES ('api.keey'='{CANARY}-typo')",
        f"ALTER MODEL m SET PROPERTIES ('api.key'=' {CANARY} ')",
        f"ALTER MODEL m SET PROPERTIES ('api.key'='secret:{CANARY}')",
        f"ALTER MODEL m SET PROPERTIES ('api.key'='a', 'api_key'='{CANARY}-twice')",
        f"CREATE MODEL u LOCATION 'http://user:{CANARY}@h/v1/chat/completions'",
        f"CREATE MODEL u LOCATION 'http://h/v1/chat/completions?api_key={CANARY}'",
        f"CREATE MODEL u LOCATION 'http://h.example.com/v1/chat/completions' PROPERTIES ('api.key'='{CANARY}-public')",
        f"CREATE MODEL u LOCATION 'http://h/v1/embeddings' PROPERTIES ('model.type'='chat', 'api.key'='{CANARY}-path')",
        f"CREATE TEMPORARY MODEL u LOCATION '{location}' PROPERTIES ('api.key'='{CANARY}-temporary')",
        f"CREATE MODEL u LOCATION '{location}' PROPERTIES ({key}, 'probe.on.create'=TRUE)",
        "TEST MODEL m",
        *(f"{show} m" for show in ("DESCRIBE MODEL", "DESCRIBE MODEL EXTENDED", "SHOW CREATE MODEL")),
        *(f"{show} m" for show in ("SHOW VERSIONS IN MODEL", "DESCRIBE HISTORY MODEL", "SHOW MODEL PROPERTIES")),
        "SHOW MODELS",
        "SHOW MODEL HEALTH",
        "SHOW CREATE MODEL m VERSION 'v'",
    ]


def test_no_answer_shows_it(spoken: Spoken) -> None:
    shown = [answer for answer in spoken.answers if CANARY in answer.replace(f"{CANARY}-no", "")]
    assert shown == []
    accepted = sum(answer.startswith("200") for answer in spoken.answers)
    assert accepted >= 50  # the test would prove nothing if most of it had been refused


def test_no_log_shows_it(spoken: Spoken) -> None:
    assert CANARY not in spoken.registry.log.read_text().replace(f"{CANARY}-no", "")


def test_no_file_holds_it_in_clear(spoken: Spoken) -> None:
    folder = spoken.registry.database.parent
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".db", ".key"}
    for path in files:
        content = path.read_bytes()
        assert CANARY.encode() not in content, path.name
        assert base64.b64encode(CANARY.encode())[:10] not in content, path.name


def test_it_is_in_the_store_encrypted(spoken: Spoken) -> None:
    ring = key_ring_from(None, spoken.registry.database.with_name("registry.db.key"))
    with closing(sqlite3.connect(spoken.registry.database)) as database:
        tokens = [
            token
            for table in ("model_property", "version_property")
            for (token,) in database.execute(f"SELECT secret FROM {table} WHERE secret IS NOT NULL")
        ]
    assert len(tokens) == 5  # api.key, header.authorization, and members of the body in three places
    assert all(CANARY in ring.decrypt(token).reveal() for token in tokens)


def test_credentials_are_the_only_way_out(spoken: Spoken) -> None:
    response = httpx.post(f"{spoken.registry.url}/v1/models/m/credentials", json={})
    assert response.headers["cache-control"] == "no-store"
    assert response.json()["headers"]["authorization"] == f"{CANARY}-auth"  # a header set by itself wins over api.key
    assert httpx.get(f"{spoken.registry.url}/v1/models/m/credentials").status_code == 404


def test_a_copy_has_no_secret(spoken: Spoken) -> None:
    assert httpx.post(f"{spoken.registry.url}/v1/models/copy/credentials", json={}).json()["headers"] == {}


def test_credentials_do_not_show_themselves() -> None:
    credentials = Credentials({"authorization": Secret(f"Bearer {CANARY}")}, 1)
    assert CANARY not in repr(credentials) + str(credentials) + f"{credentials}"
    with pytest.raises(TypeError):
        pickle.dumps(credentials)


def test_a_client_does_not_show_its_token() -> None:
    with Client("http://127.0.0.1:9", Secret(CANARY)) as client:
        assert CANARY not in repr(client) + str(vars(client))
        with pytest.raises(InferlakeError) as caught:
            client.resolve("m")
        assert CANARY not in str(caught.value) + repr(caught.value.__cause__)
    assert CANARY not in repr(vars(AsyncClient("http://127.0.0.1:9", Secret(CANARY))))


# --- keys of the store, and references


def test_a_rotated_key_gives_a_new_epoch(start_registry: StartRegistry) -> None:
    registry = start_registry("--no-probes")
    with registry.client() as client:
        client.execute(f"CREATE MODEL m LOCATION '{LOCATION}' PROPERTIES ('api.key'='{CANARY}-1')")
        first = httpx.post(f"{registry.url}/v1/models/m/credentials", json={}).json()
        client.execute(f"ALTER MODEL m SET api.key='{CANARY}-2'")
        second = httpx.post(f"{registry.url}/v1/models/m/credentials", json={}).json()
        assert second["epoch"] > first["epoch"]
        assert second["headers"]["authorization"] == f"Bearer {CANARY}-2"
        assert client.execute("SHOW VERSIONS IN MODEL m").rows[0][0] == "1"  # no version comes of it
        assert len(client.execute("SHOW VERSIONS IN MODEL m").rows) == 1


def test_references_are_followed_when_asked_for(start_registry: StartRegistry, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{CANARY}-file\n")
    registry = start_registry("--no-probes", environment={"SOME_KEY": f"{CANARY}-env"})
    with registry.client() as client:
        client.execute(
            f"CREATE MODEL m LOCATION '{LOCATION}' "
            f"PROPERTIES ('api.key'='env:SOME_KEY', 'header.x-second'='file:{file}')"
        )
        described = str(client.execute("DESCRIBE MODEL m").rows)
        assert "env:SOME_KEY" in described
        assert CANARY not in described
        headers = httpx.post(f"{registry.url}/v1/models/m/credentials", json={}).json()["headers"]
        assert headers == {"authorization": f"Bearer {CANARY}-env", "x-second": f"{CANARY}-file"}
        file.write_text(f"{CANARY}-renewed")
        headers = httpx.post(f"{registry.url}/v1/models/m/credentials", json={}).json()["headers"]
        assert headers["x-second"] == f"{CANARY}-renewed"
        file.unlink()
        response = httpx.post(f"{registry.url}/v1/models/m/credentials", json={})
        assert (response.status_code, response.json()["code"]) == (409, "SECRET_UNAVAILABLE")


def test_the_registrys_own_secrets_are_not_for_references(start_registry: StartRegistry) -> None:
    environment = {"INFERLAKE_SECRET_KEY": _new_key()}
    registry = start_registry("--no-probes", token=f"{CANARY}-token", environment=environment)
    other = start_registry("--no-probes")  # this one has a key file
    key_file = other.database.with_name("registry.db.key")
    for target, token in (
        ("env:INFERLAKE_REGISTRY_TOKEN", f"{CANARY}-token"),
        ("env:INFERLAKE_SECRET_KEY", f"{CANARY}-token"),
    ):
        headers = {"authorization": f"Bearer {token}"}
        name = target.removeprefix("env:").lower()
        statement = f"CREATE MODEL {name} LOCATION '{LOCATION}' PROPERTIES ('api.key'='{target}')"
        httpx.post(f"{registry.url}/v1/sql", json={"statement": statement}, headers=headers).raise_for_status()
        answer = httpx.post(f"{registry.url}/v1/models/{name}/credentials", json={}, headers=headers)
        assert answer.json()["code"] == "SECRET_UNAVAILABLE"
    link = key_file.with_name("link")
    link.symlink_to(key_file)
    for path in (key_file, link, key_file.parent / "." / "registry.db.key"):
        statement = f"CREATE OR REPLACE MODEL f LOCATION '{LOCATION}' PROPERTIES ('api.key'='file:{path}')"
        httpx.post(f"{other.url}/v1/sql", json={"statement": statement}).raise_for_status()
        answer = httpx.post(f"{other.url}/v1/models/f/credentials", json={})
        assert answer.json()["code"] == "SECRET_UNAVAILABLE"
        assert key_file.read_text() not in answer.text


def _new_key() -> str:
    from cryptography.fernet import Fernet

    return Fernet.generate_key().decode()


def test_a_ring_of_keys_reads_what_an_older_one_wrote() -> None:
    old, new = _new_key(), _new_key()
    token = KeyRing((Secret(old),)).encrypt(Secret(CANARY))
    both = key_ring_from(Secret(f"{new}, {old}"), None)
    assert both.decrypt(token).reveal() == CANARY
    assert KeyRing((Secret(new),)).decrypt(both.encrypt(Secret(CANARY))).reveal() == CANARY
    with pytest.raises(InferlakeError, match="INFERLAKE_SECRET_KEY") as caught:
        KeyRing((Secret(new),)).decrypt(token)
    assert new not in str(caught.value)
    assert old not in repr(both)


@pytest.mark.parametrize("bad", ["short", "", ",", f"{CANARY}=="])
def test_a_key_that_is_none_stops_the_start(tmp_path: Path, bad: str) -> None:
    done = (
        subprocess.run(
            [
                sys.executable,
                "-m",
                "inferlake_registry",
                "serve",
                "--port",
                "0",
                "--database",
                f"sqlite:///{tmp_path}/r.db",
            ],
            env={"PATH": "/usr/bin", "PYTHONPATH": ":".join(sys.path), "INFERLAKE_SECRET_KEY": bad},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        if bad
        else None
    )
    if done is None:  # an empty setting is no setting
        assert key_ring_from(None, tmp_path / "key").encrypt(Secret("x"))
        return
    assert done.returncode == 1
    assert "INFERLAKE_SECRET_KEY" in done.stderr
    assert CANARY not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_lost_key_file_is_said_and_not_replaced(start_registry: StartRegistry) -> None:
    first = start_registry("--no-probes")
    with first.client() as client:
        client.execute(f"CREATE MODEL m LOCATION '{LOCATION}' PROPERTIES ('api.key'='{CANARY}-lost')")
    first.stop()
    first.database.with_name("registry.db.key").unlink()
    with pytest.raises(AssertionError, match="BAD_SETTING"):
        start_registry("--no-probes")
    assert not first.database.with_name("registry.db.key").exists()
