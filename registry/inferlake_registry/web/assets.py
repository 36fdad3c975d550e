"""The files that pages load: a fixed list, read once, addressed by their content so that browsers may keep them."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from inferlake_registry.web.vendor import VENDOR, installed

STATIC: Final = Path(__file__).parent / "static"
_TYPES: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    name: str  # carries the version or the content's hash
    media_type: str
    body: bytes
    packed: bytes  # the same, gzip


@dataclass(frozen=True, slots=True)
class Assets:
    """All files of the dashboard. ``library`` is None while the front-end libraries are not installed."""

    style: Asset
    script: Asset
    mark: Asset
    library: Asset | None

    def find(self, name: str) -> Asset | None:
        """Return the file of that name, or None: nothing outside the list can be asked for."""
        own = (self.style, self.script, self.mark, self.library)
        return next((asset for asset in own if asset is not None and asset.name == name), None)


def load() -> Assets:
    """Read every file that pages load."""
    library = next((_asset(VENDOR / found.script, found.script) for found in installed()), None)
    return Assets(_own("dashboard.css"), _own("dashboard.js"), _own("mark.svg"), library)


def _own(name: str) -> Asset:
    path = STATIC / name
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return _asset(path, f"{path.stem}-{digest}{path.suffix}")


def _asset(path: Path, name: str) -> Asset:
    body = path.read_bytes()
    return Asset(name, _TYPES[path.suffix], body, gzip.compress(body, mtime=0))
