"""Secrets at rest: encrypted with a key ring that is apart from the database.

Fernet (AES-128-CBC with HMAC-SHA256, from the package cryptography). The first key encrypts, all of them decrypt, so a
key can be replaced without losing what an older one wrote.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from inferlake_registry.contract.problems import BadSetting
from inferlake_sql.secret import Secret

SETTING: Final = "INFERLAKE_SECRET_KEY"


class KeyRing:
    """Encrypts and decrypts; it never shows a key."""

    def __init__(self, keys: tuple[Secret, ...]) -> None:
        """``keys`` are Fernet keys, the newest first. Raises BadSetting."""
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


def key_ring_from(text: Secret | None, file: Path | None) -> KeyRing:
    """Make the ring from the setting, else from a key file that is made on first use, readable for its owner only."""
    if text is not None:
        return KeyRing(tuple(Secret(part.strip()) for part in text.reveal().split(",") if part.strip()))
    if file is None:
        return KeyRing((Secret(Fernet.generate_key().decode()),))
    return KeyRing((_read_or_make(file),))


def _read_or_make(file: Path) -> Secret:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return Secret(file.read_text().strip())
    key = Fernet.generate_key()
    with os.fdopen(descriptor, "wb") as out:
        out.write(key)
    return Secret(key.decode())
