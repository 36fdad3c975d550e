"""The distribution: what the wheel holds, and that it imports from a zip with the base dependencies only."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"inferlake", "inferlake_registry", "inferlake_serve", "inferlake_sql"}
HEAVY = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "jinja2", "cryptography", "ray", "vllm", "torch", "pyspark")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (path,) = out.glob("*.whl")
    return path


def test_wheel_installs_four_uniquely_named_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES


def test_wheel_ships_the_model_and_the_demo_data_and_the_front_end(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert any(name.startswith("inferlake_serve/models/") and name.endswith(".safetensors") for name in names)
    assert "inferlake/demo/sessions.jsonl" in names
    assert any(name.startswith("inferlake_registry/web/static/vendor/") and name.endswith(".js") for name in names)


def test_worker_imports_from_a_zip_without_any_of_the_heavy_packages(wheel: Path, tmp_path: Path) -> None:
    archive = tmp_path / "inferlake.zip"
    archive.write_bytes(wheel.read_bytes())
    program = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {HEAVY!r}:
            raise ImportError(f'{{name}} is not installed on this executor')
sys.meta_path.insert(0, Refuse())
sys.path.insert(0, {str(archive)!r})
import inferlake.worker.runner, inferlake.call, inferlake.result, inferlake_registry.client
print(inferlake.worker.runner.__file__)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr
    assert str(archive) in done.stdout
