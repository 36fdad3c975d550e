"""The prompt of ``inferlake sql``: several lines a statement, completion, and a history that holds no key.

Enter runs a statement that is complete and begins a new line in one that is not. What goes into the history on disk has
its secrets hidden first; as typed it is there for the length of the conversation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from inferlake.commands.conversation import MORE, PROMPT, ends_it
from inferlake.embedded import home
from inferlake_registry.client import Client
from inferlake_sql.errors import InferlakeError
from inferlake_sql.properties import CATALOGUE
from inferlake_sql.redact import redact
from inferlake_sql.script import is_complete
from inferlake_sql.vocabulary import STATEMENT_WORDS

_WORD: Final = re.compile(r"[\w.`-]+$")
_AFTER_MODEL: Final = re.compile(r"\bmodel\s+(extended\s+|if\s+exists\s+)?[\w.`-]*$", re.IGNORECASE)


def statement_reader(client: Client) -> Callable[[], str]:
    """Return a function that asks for one statement. It raises EOFError at Ctrl-D and KeyboardInterrupt at Ctrl-C."""
    session: PromptSession[str] = PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=MORE,
        history=_history(),
        completer=StatementCompleter(client),
        complete_while_typing=False,
        key_bindings=_keys(),
    )
    return session.prompt


class RedactedHistory(FileHistory):
    """Writes statements down without their secrets: one from another day has to be given its key again."""

    def store_string(self, string: str) -> None:
        """Write a statement to the file, its secrets hidden."""
        super().store_string(redact(string))


class StatementCompleter(Completer):
    """Offers words of the language, property keys, and behind MODEL the names of models."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield what the word before the cursor can become."""
        before = document.text_before_cursor
        found = _WORD.search(before)
        word = found.group() if found else ""
        for offer in self._offers(before):
            if offer.lower().startswith(word.lower()):
                yield Completion(offer, start_position=-len(word))

    def _offers(self, before: str) -> Iterable[str]:
        if _AFTER_MODEL.search(before):
            yield from self._models()
        yield from STATEMENT_WORDS
        yield from (spec.key for spec in CATALOGUE if not spec.key.endswith("*"))

    def _models(self) -> list[str]:
        try:
            shown = self._client.execute("SHOW MODELS")
        except InferlakeError:
            return []  # a key that was pressed is no place for an error; the statement itself will say it
        at = [column.name for column in shown.columns].index("name")
        return [str(row[at]) for row in shown.rows]


def _history() -> RedactedHistory:
    file = home() / "sql_history"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    Path(file).touch(mode=0o600)
    os.chmod(file, 0o600)  # noqa: PTH101
    return RedactedHistory(str(file))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def enter(event: KeyPressEvent) -> None:
        text = event.current_buffer.text
        if not text.strip() or ends_it(text) or is_complete(text):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    return keys
