"""Which model is served, and that one which cannot be had is said at once."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from inferlake.demo.errors import ModelOutOfReach
from inferlake.demo.model_source import find

NOBODY = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": "/nowhere"}  # the discard port: refused at once


def test_a_folder_with_a_model_is_taken_by_its_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert find("mine", NOBODY) == str(tmp_path / "mine")
    assert find("./mine", NOBODY) == str(tmp_path / "mine")


@pytest.mark.parametrize(
    ("model", "environment", "cause"),
    [
        ("Qwen/Qwen3-0.6B", NOBODY, "no network to the hub"),
        ("Qwen/Qwen3-0.6B", {**NOBODY, "HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set"),
        ("./missing", NOBODY, "there is no such folder"),
        (".", NOBODY, "the folder has no config.json"),
    ],
)
def test_a_model_that_cannot_be_had(
    model: str, environment: dict[str, str], cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelOutOfReach) as caught:
        find(model, environment)
    assert cause in caught.value.message
    assert "leave --model out" in caught.value.message


def test_a_cached_model_needs_no_network(tmp_path: Path) -> None:
    snapshot = tmp_path / "hub" / "models--Qwen--Qwen3-0.6B" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    assert find("Qwen/Qwen3-0.6B", {**NOBODY, "HF_HOME": str(tmp_path)}) == "Qwen/Qwen3-0.6B"


class _Hub(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/api/models/Qwen/Qwen3-0.6B" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


def test_the_hub_is_asked_for_the_model() -> None:
    with HTTPServer(("127.0.0.1", 0), _Hub) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        environment = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": "/nowhere"}
        assert find("Qwen/Qwen3-0.6B", environment) == "Qwen/Qwen3-0.6B"
        with pytest.raises(ModelOutOfReach, match="HTTP 404"):
            find("Qwen/no-such-model", environment)
        server.shutdown()
        thread.join()
