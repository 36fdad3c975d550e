"""How many tokens a text may have, without a tokenizer: a little too many rather than too few."""

from __future__ import annotations

from math import ceil
from typing import Final

BYTES_A_TOKEN: Final = 3
_TOKENS_A_LETTER: Final = 1.2  # of a letter beyond ASCII


def estimated_tokens(text: str) -> int:
    """Return a third of the text's bytes in UTF-8, or 1.2 for each character beyond ASCII, whichever is more."""
    if text.isascii():
        return ceil(len(text) / BYTES_A_TOKEN)
    size = len(text.encode(errors="surrogatepass"))
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return ceil(max(size / BYTES_A_TOKEN, beyond_ascii * _TOKENS_A_LETTER))
