"""Sessions for the measurement, made of sentences that the training generator does not know.

The sentences were written as small scenes from trades that the generator's phrases do not treat (hotels, schools,
hospitals, trains, offices), each by hand, in place of patterns. Only the frame around them is shared: it is the fixed
input format.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from inferlake_serve.training.generator import Example
from inferlake_serve.training.labels import Label
from inferlake_serve.training.phrasebook import LANGUAGES, read_sections
from inferlake_serve.training.session_text import Event, session_json
from inferlake_serve.training.vocabulary import ACTIONS, PAGES


def heldout_examples(seed: int = 7) -> Iterator[Example]:
    """Yield each held-out sentence three times: alone, as the only event, and among ordinary events."""
    random = Random(seed)
    for language in LANGUAGES:
        sections = read_sections(f"heldout/{language}.txt")
        ordinary = sections[Label.NORMAL.value]
        for label in Label:
            for sentence in sections[label.value]:
                yield Example(None, sentence, label, language)
                yield Example(None, _session((sentence,), random), label, language)
                others = random.sample(ordinary, random.randint(1, 5))
                # The telling sentence comes last: nothing that follows can have settled it.
                yield Example(None, _session((*others, sentence), random), label, language)


def _session(messages: tuple[str, ...], random: Random) -> str:
    clock = datetime(2025, 3, 1, 8) + timedelta(minutes=random.randrange(100_000))
    events = []
    for message in messages:
        clock += timedelta(seconds=random.randint(1, 240))
        page = random.choice(PAGES).replace("{n}", str(random.randrange(1000)))
        events.append(Event(clock.isoformat(), random.choice(ACTIONS), page, message))
    return session_json(events, None)
