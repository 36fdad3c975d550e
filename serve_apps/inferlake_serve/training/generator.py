"""Makes labelled session logs without end, from phrases and a seed.

The sentences of the held-out measurement are kept elsewhere and were written apart, so that a good figure there cannot
come from knowing these phrases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final

from inferlake_serve.training import vocabulary
from inferlake_serve.training.labels import Label
from inferlake_serve.training.phrasebook import LANGUAGES, phrasebook
from inferlake_serve.training.session_text import Event, events_json, session_json

MOST_EVENTS: Final = 12
_LABELS: Final = tuple(Label)
# English is the language of logs, so it is drawn more often.
_LANGUAGE_WEIGHTS: Final = tuple(3 if language == "en" else 1 for language in LANGUAGES)


@dataclass(frozen=True, slots=True)
class Example:
    """What a caller would send, and what is right."""

    system: str | None
    user: str
    label: Label
    language: str


def examples(seed: int, most_events: int = MOST_EVENTS) -> Iterator[Example]:
    """Yield examples without end, the same for the same seed; labels are balanced.

    ``most_events`` bounds a session's length; 0 gives plain text alone, from which meaning is learned soonest.
    """
    random = Random(seed)
    while True:
        yield _example(random.choice(_LABELS), most_events, random)


def _example(label: Label, most_events: int, random: Random) -> Example:
    language = random.choices(LANGUAGES, _LANGUAGE_WEIGHTS)[0]
    if random.random() < (0.2 if most_events else 1):
        text = _plain(label, language, random)
    else:
        text = _document(label, _events(label, language, most_events, random), random)
    if random.random() < 0.1:
        text = random.choice(vocabulary.INSTRUCTIONS).replace("{x}", text)
    system = random.choice(vocabulary.SYSTEM_PROMPTS) if random.random() < 0.5 else None
    return Example(system, text, label, language)


def _plain(label: Label, language: str, random: Random) -> str:
    """Text that is no session document: a sentence or a few of them, as somebody types into a query."""
    count = random.choice((1, 1, 1, 2, 3))
    sentences = [_message(Label.NORMAL, language, random) for _ in range(count)]
    sentences[random.randrange(count)] = _message(label, language, random)
    return random.choice((". ", "\n", " / ", "; ", ", ")).join(sentences)


def _document(label: Label, events: Sequence[Event], random: Random) -> str:
    if random.random() < 0.1:
        return events_json(events)
    url = random.choice(vocabulary.MEDIA_URLS).replace("{n}", _number(random)) if random.random() < 0.5 else None
    nothing_said = not events and label is Label.NORMAL and random.random() < 0.3
    return session_json(None if nothing_said else events, url)


def _events(label: Label, language: str, most: int, random: Random) -> list[Event]:
    """A session whose meaning lies in one or two events, in the midst of ordinary ones."""
    count = min(most, int(random.expovariate(0.45)) + (label is not Label.NORMAL))
    meanings = [Label.NORMAL] * count
    if label is not Label.NORMAL:
        # What is pending at the end counts; what went wrong counts wherever it happened.
        first = count - 1 - min(count - 1, int(random.expovariate(1.2)))
        place = random.randrange(count) if label is Label.ABNORMAL else first
        meanings[place] = label
        if count > 1 and random.random() < 0.25:
            meanings[random.randrange(count)] = label
        if label is Label.ABNORMAL and random.random() < 0.15:
            other = random.randrange(count)
            meanings[other] = Label.PENDING if meanings[other] is Label.NORMAL else meanings[other]
    clock = datetime(2024, 1, 1) + timedelta(seconds=random.randrange(3 * 365 * 86_400))
    events = []
    for meaning in meanings:
        clock += timedelta(seconds=int(random.expovariate(1 / 60)))
        spoken = language if random.random() < 0.9 else random.choice(("en", language, random.choice(LANGUAGES)))
        events.append(_event(meaning, clock, spoken, random))
    return events


def _event(meaning: Label, at: datetime, language: str, random: Random) -> Event:
    """One event; where it means something, at least the message or the action says so."""
    telling_action = random.random() < (0.25 if meaning is not Label.NORMAL else 0.05)
    telling_page = random.random() < (0.12 if meaning is not Label.NORMAL else 0.05)
    action = random.choice(vocabulary.TELLING_ACTIONS[meaning] if telling_action else vocabulary.ACTIONS)
    page = random.choice(vocabulary.TELLING_PAGES[meaning] if telling_page else vocabulary.PAGES)
    silent = random.random() < (0.15 if meaning is Label.NORMAL else 0.3 if telling_action else 0)
    return Event(
        None if random.random() < 0.04 else at.isoformat(timespec="seconds"),
        None if not telling_action and random.random() < 0.06 else action,
        None if not telling_page and random.random() < 0.1 else page.replace("{n}", _number(random)),
        random.choice((None, "")) if silent else _message(meaning, language, random),
    )


def _message(meaning: Label, language: str, random: Random) -> str:
    phrase = phrasebook(language).say(meaning, random)
    if random.random() < 0.12:
        phrase = _mistyped(phrase, random)
    if random.random() < 0.12:
        phrase = random.choice((phrase.lower(), phrase.upper(), phrase.lower()))
    if random.random() < 0.15:
        other = phrasebook(language).say(Label.NORMAL, random)
        phrase = random.choice((". ", ", ", " - ", "; ", " / ", " ")).join(random.sample((phrase, other), 2))
    if random.random() < 0.4:
        phrase = random.choice(vocabulary.WRAPPERS).replace("{p}", phrase).replace("{n}", _number(random))
    if random.random() < 0.12:
        mark = random.choice(vocabulary.TELLING_EMOJI[meaning] if random.random() < 0.6 else vocabulary.EMOJI)
        phrase = random.choice((f"{phrase} {mark}", f"{mark} {phrase}", f"{phrase}{mark}"))
    return phrase


def _mistyped(text: str, random: Random) -> str:
    """Drop, double or swap one letter."""
    if len(text) < 4:
        return text
    place = random.randrange(1, len(text) - 1)
    match random.randrange(3):
        case 0:
            return text[:place] + text[place + 1 :]
        case 1:
            return text[:place] + text[place] + text[place:]
        case _:
            return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def _number(random: Random) -> str:
    return str(random.randrange(10 ** random.randrange(1, 7)))
