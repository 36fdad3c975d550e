"""The set-up of the front-end libraries: pinned, repeatable, idle when there is nothing to do, clear when it fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import inferlake_registry
from inferlake_registry.web import vendor

PACKAGE = Path(inferlake_registry.__file__).parent


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A copy of the package as a fresh clone has it."""
    copy = tmp_path / "site" / "inferlake_registry"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("node_modules", "vendor", "__pycache__"))
    return copy


def _run(fresh: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    sql = Path(sys.modules["inferlake_sql"].__file__ or "").parent.parent
    return subprocess.run(
        [sys.executable, "-m", "inferlake_registry.web.vendor"],
        cwd=fresh.parent,
        env={**os.environ, "PYTHONPATH": f"{fresh.parent}:{sql}", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _npm_that_says(folder: Path, script: str) -> str:
    """Put an npm on the path that runs this shell script."""
    folder.mkdir()
    for name, text in (("npm", script), ("node", "exit 0")):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_the_lock_pins_versions_and_names_no_registry() -> None:
    wanted = json.loads((PACKAGE / "web" / "package.json").read_text())
    packages = json.loads(vendor.LOCK.read_text())["packages"]
    for name, version in {**wanted["dependencies"], **wanted["devDependencies"]}.items():
        assert packages[f"node_modules/{name}"]["version"] == version
        assert packages[f"node_modules/{name}"]["integrity"].startswith("sha512-")
    assert "resolved" not in vendor.LOCK.read_text()
    assert packages["node_modules/htmx.org"]["version"] == "4.0.1"
    assert packages["node_modules/axe-core"]["dev"] is True


def test_installed_files_carry_their_version_and_licence(libraries: None) -> None:
    (library,) = vendor.installed()
    assert library.script == "htmx-4.0.1.min.js"
    assert "4.0.1" in (vendor.VENDOR / library.script).read_text()
    assert "Zero-Clause BSD" in (vendor.VENDOR / library.licence_file).read_text()
    assert sorted(path.name for path in vendor.VENDOR.iterdir()) == [
        "htmx-4.0.1.LICENSE.txt",
        "htmx-4.0.1.min.js",
        "installed.json",
    ]


def test_a_set_up_places_the_files_and_a_second_one_does_nothing(fresh: Path, libraries: None, tmp_path: Path) -> None:
    path = _npm_that_says(tmp_path / "bin", f'echo once >>calls; test "$1" = ci && cp -r "{vendor.MODULES}" .')
    first, second = _run(fresh, PATH=path), _run(fresh, PATH=path)
    assert (first.returncode, first.stderr) == (0, "Installed htmx.org 4.0.1 for the dashboard.\n")
    assert (second.returncode, second.stderr) == (0, "")
    assert (fresh / "web" / "calls").read_text() == "once\n"
    served = fresh / "web" / "static" / "vendor"
    assert (served / "htmx-4.0.1.min.js").read_bytes() == (vendor.VENDOR / "htmx-4.0.1.min.js").read_bytes()
    (served / "htmx-4.0.1.min.js").unlink()
    (served / "htmx-3.9.9.min.js").write_text("left over")
    assert _run(fresh, PATH=path).returncode == 0
    assert (served / "htmx-4.0.1.min.js").is_file() and not (served / "htmx-3.9.9.min.js").exists()


def test_another_lock_is_installed_again(fresh: Path, libraries: None, tmp_path: Path) -> None:
    path = _npm_that_says(tmp_path / "bin", f'echo again >>calls; cp -r "{vendor.MODULES}" .')
    _run(fresh, PATH=path)
    lock = fresh / "web" / "package-lock.json"
    lock.write_text(lock.read_text() + "\n")
    _run(fresh, PATH=path)
    assert (fresh / "web" / "calls").read_text() == "again\nagain\n"


def test_a_registry_that_does_not_answer_is_one_clear_line(fresh: Path, tmp_path: Path) -> None:
    failed = _run(
        fresh,
        npm_config_registry="http://127.0.0.1:9/",
        npm_config_cache=str(tmp_path / "cache"),
        npm_config_fetch_retries="0",
    )
    assert failed.returncode == 1
    assert failed.stderr.count("\n") == 1
    assert "[FRONT_END_NOT_INSTALLED]" in failed.stderr and "ECONNREFUSED" in failed.stderr
    assert not (fresh / "web" / "static" / "vendor").exists()


def test_a_set_up_that_is_cut_off_is_repeated(fresh: Path, libraries: None, tmp_path: Path) -> None:
    half = _npm_that_says(tmp_path / "half", 'mkdir -p node_modules; echo "npm error killed" >&2; exit 1')
    failed = _run(fresh, PATH=half)
    assert failed.returncode == 1 and "npm failed (killed)" in failed.stderr
    whole = _npm_that_says(tmp_path / "whole", f'rm -rf node_modules; cp -r "{vendor.MODULES}" .')
    assert _run(fresh, PATH=whole).returncode == 0


def test_without_libraries_pages_are_whole_and_say_so(fresh: Path, tmp_path: Path) -> None:
    program = """
from datetime import UTC, datetime
from inferlake_registry.web import assets, rendering, views
found = assets.load()
frame = views.Frame("Models", views.Section.MODELS, datetime.now(UTC), "/models")
page = views.ModelsPage(frame, (), 0, (), "", "", views.Pager(None, None))
print(found.library, rendering.build_renderer(found).page(page))
"""
    sql = Path(sys.modules["inferlake_sql"].__file__ or "").parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{fresh.parent}:{sql}"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("None <!doctype html>")
    assert "python -m inferlake_registry.web.vendor" in done.stdout
    assert done.stdout.count("<script") == 1
