"""The generator of training logs, and that the measurement is kept apart from it."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest

from inferlake_serve.training.generator import MOST_EVENTS, examples
from inferlake_serve.training.heldout import heldout_examples
from inferlake_serve.training.labels import Label, answer, parse_answer
from inferlake_serve.training.phrasebook import LANGUAGES, phrasebook, read_sections
from inferlake_serve.training.session_text import Event, events_json, session_json


def take(count: int, seed: int = 1, most_events: int = MOST_EVENTS) -> list[tuple[str | None, str, Label, str]]:
    made = itertools.islice(examples(seed, most_events), count)
    return [(one.system, one.user, one.label, one.language) for one in made]


def test_the_same_seed_makes_the_same_examples() -> None:
    assert take(50) == take(50)
    assert take(50) != take(50, seed=2)


def test_labels_are_balanced_and_languages_all_there() -> None:
    made = take(3_000)
    assert min(Counter(label for _, _, label, _ in made).values()) > 900
    assert {language for *_, language in made} == set(LANGUAGES)


def test_input_varies_as_callers_send_it() -> None:
    users = [user for _, user, _, _ in take(3_000)]
    documents = [json.loads(user) for user in users if user.startswith('{"events":') and user.endswith("}")]
    lengths = {len(one["events"]) for one in documents if one["events"] is not None}
    assert {0, 1, 5, MOST_EVENTS} <= lengths
    assert any(one["events"] is None for one in documents)
    assert {one["media_url"] is None for one in documents} == {True, False}
    fields = [event for one in documents for event in one["events"] or () for event in [event]]
    for name in ("at", "action", "page", "message"):
        assert {event[name] is None for event in fields} == {True, False}
    assert any(user.startswith("[{") for user in users)
    assert any(not user.startswith(("{", "[")) for user in users)
    assert {system is None for system, *_ in take(100)} == {True, False}


def test_without_events_it_is_plain_text() -> None:
    assert not any('"events"' in user for _, user, _, _ in take(200, most_events=0))


def test_documents_are_compact_and_in_order() -> None:
    event = Event("2024-06-01T09:00:00", "öffnen", "/cart", None)
    events = '[{"at":"2024-06-01T09:00:00","action":"öffnen","page":"/cart","message":null}]'
    assert events_json([event]) == events
    assert session_json([event], None) == f'{{"events":{events},"media_url":null}}'
    assert session_json(None, "https://x/1") == '{"events":null,"media_url":"https://x/1"}'


@pytest.mark.parametrize("language", LANGUAGES)
def test_patterns_are_filled_whole(language: str) -> None:
    from random import Random

    random = Random(3)
    for label in Label:
        spoken = {phrasebook(language).say(label, random) for _ in range(2_000)}
        assert len(spoken) > 100
        assert not any(mark in text for text in spoken for mark in "{}|")


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_heldout_sentence_is_a_training_phrase(language: str) -> None:
    held = {line.lower() for lines in read_sections(f"heldout/{language}.txt").values() for line in lines}
    known = {line.lower() for lines in read_sections(f"phrases/{language}.txt").values() for line in lines}
    assert not held & known
    assert not {
        text for text in known if "{" not in text and any(text in sentence for sentence in held) and len(text) > 12
    }


def test_heldout_examples_cover_every_language_and_label_evenly() -> None:
    counts = Counter((one.language, one.label) for one in heldout_examples())
    assert len(counts) == len(LANGUAGES) * len(Label)
    assert min(counts.values()) >= 30


@pytest.mark.parametrize("label", list(Label))
def test_answers_are_read_back(label: Label) -> None:
    assert parse_answer(answer(label)) is label


@pytest.mark.parametrize(
    "text", ["", "normal", '{"label": "odd"}', '{"label": "normal", "x": 1}', '["label"]', '{"label"']
)
def test_anything_else_is_no_answer(text: str) -> None:
    assert parse_answer(text) is None
