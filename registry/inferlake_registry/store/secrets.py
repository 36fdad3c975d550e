"""Secrets at rest: encrypted with a key ring that is apart from the database.

Fernet (AES-128-CBC with HMAC-SHA256, from the package cryptography). The first key encrypts, all of them decrypt, so a
key can be replaced without losing what an older one wrote.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from inferlake_registry.contract.problems import BadSetting
from inferlake_sql.secret import Secret

SETTING: Final = "INFERLAKE_SECRET_KEY"


class KeyRing:
    """Encrypts and decrypts; it never shows a key."""

    def __init__(self, keys: tuple[Secret, ...], file: Path | None = None) -> None:
        """``keys`` are Fernet keys, the newest first, ``file`` is where they lie. Raises BadSetting."""
        self.file = file
        if not keys:
            raise BadSetting(SETTING, "holds no key")
        try:
            self._fernet = MultiFernet([Fernet(key.reveal()) for key in keys])
        except ValueError:
            # The library's own message may quote the key.
            raise BadSetting(SETTING, "must hold keys of 32 bytes in URL-safe base64, separated by commas") from None

    def __repr__(self) -> str:
        return "KeyRing(******)"

    def encrypt(self, secret: Secret) -> bytes:
        """Return the token to store."""
        return self._fernet.encrypt(secret.reveal().encode())

    def decrypt(self, token: bytes) -> Secret:
        """Return the secret. Raises BadSetting when no key of the ring fits."""
        try:
            return Secret(self._fernet.decrypt(token).decode())
        except InvalidToken:
            raise BadSetting(SETTING, "does not hold the key that the stored secrets were encrypted with") from None


def key_ring_from(text: Secret | None, file: Path | None, *, may_make: bool = True) -> KeyRing:
    """Make the ring from the setting, else from a key file that is made on first use, readable for its owner only.

    Raises BadSetting for unusable keys, and for a missing file unless ``may_make``. Without either the ring is good for
    this process alone.
    """
    if text is not None:
        return KeyRing(tuple(Secret(part.strip()) for part in text.reveal().split(",") if part.strip()))
    if file is None:
        return KeyRing((Secret(Fernet.generate_key().decode()),))
    if not file.exists():
        if not may_make:
            raise BadSetting(str(file), f"is missing, and secrets are encrypted with it: put it back, or set {SETTING}")
        _make(file)
    return KeyRing((Secret(file.read_text().strip()),), file)


def _make(file: Path) -> None:
    """Write a new key; of two processes that begin at once one wins, and nobody reads half a key."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(Fernet.generate_key())
        with suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink()
