"""Where a reference to a secret leads on this machine; never to what the registry itself must keep."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from inferlake_registry.contract.problems import SecretUnavailable
from inferlake_registry.store.secrets import KeyRing
from inferlake_sql.secret import Secret, SecretReference

# A file of a secret is a line; what is larger is something else.
_MOST_BYTES: Final = 65_536
# Not files but windows on processes and devices: a process's environment lies there, our own keys among it.
_SYSTEM: Final = ("/proc", "/sys", "/dev")


def follow(reference: SecretReference, ring: KeyRing, model: str, key: str) -> Secret:
    """Return the secret that a reference leads to. Raises SecretUnavailable."""
    match reference.scheme:
        case "env":
            if value := os.environ.get(reference.target):
                return Secret(value)
            raise SecretUnavailable(model, key, f"the registry's environment has no {reference.target}")
        case "file":
            text = _read(Path(reference.target), ring.file)
            if text is None:
                raise SecretUnavailable(model, key, "the registry cannot read the file that it refers to")
            return Secret(text)
        case _:
            raise SecretUnavailable(
                model, key, "this registry has no store for secret:// references; use env: or file:"
            )


def _read(path: Path, own_keys: Path | None) -> str | None:
    """Return a file's text without the space around it, or None when it cannot or must not be read."""
    try:
        resolved = path.resolve(strict=True)
        own = own_keys is not None and resolved.samefile(own_keys)
        if own or not resolved.is_file() or any(resolved.is_relative_to(root) for root in _SYSTEM):
            return None
        with resolved.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text = content.decode().strip()
    except (OSError, UnicodeDecodeError, RuntimeError):
        return None
    return text if text and len(content) <= _MOST_BYTES else None
