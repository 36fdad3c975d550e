"""The catalogue of properties and what becomes of a written value."""

from __future__ import annotations

import pytest

from inferlake_sql.errors import (
    DuplicateKey,
    InvalidValue,
    NestingTooDeep,
    RequiredProperty,
    ReservedKey,
    SecretPlaceholder,
    UnknownProperty,
)
from inferlake_sql.json_text import JsonText
from inferlake_sql.properties import (
    ALIASES,
    CATALOGUE,
    Effect,
    Kind,
    PropertyValue,
    canonical_key,
    check_unset,
    find_spec,
    normalise,
    normalise_all,
    show_value,
)
from inferlake_sql.secret import MASK, Secret, SecretReference


@pytest.mark.parametrize(
    ("key", "text", "canonical", "value"),
    [
        ("model.type", "Chat", "model.type", "chat"),
        ("MODEL.NAME", "Qwen/Qwen3-8B", "model.name", "Qwen/Qwen3-8B"),
        ("model", "x", "model.name", "x"),
        ("timeout.ms", "30000", "timeout.ms", 30_000),
        ("timeout.ms", "30s", "timeout.ms", 30_000),
        ("timeout.ms", "1.5 min", "timeout.ms", 90_000),
        ("timeout.ms", "3e4", "timeout.ms", 30_000),
        ("timeout_ms", "30000", "timeout.ms", 30_000),
        ("timeout", "30", "timeout.ms", 30_000),
        ("timeout", "0.5", "timeout.ms", 500),
        ("timeout", "30000ms", "timeout.ms", 30_000),
        ("probe.interval.ms", "1d", "probe.interval.ms", 86_400_000),
        ("qps.limit", "0.5", "qps.limit", 0.5),
        ("qps.limit", "500", "qps.limit", 500.0),
        ("price.input", "0", "price.input", 0.0),
        ("retry.attempts", "10", "retry.attempts", 10),
        ("allow.insecure", "TRUE", "allow.insecure", True),
        ("request.max_tokens", "16", "request.max_tokens", JsonText("16")),
        ("request.temperature", "0.20", "request.temperature", JsonText("0.2")),
        ("request.stop", "END", "request.stop", JsonText('"END"')),
        ("request.stop", '"1"', "request.stop", JsonText('"1"')),
        ("request.stop", '[ "a", "b" ]', "request.stop", JsonText('["a","b"]')),
        ("request.Mixed_Case", "null", "request.Mixed_Case", JsonText("null")),
        ("request.big", "1" * 30, "request.big", JsonText("1" * 30)),
        ("request.x", "NaN", "request.x", JsonText('"NaN"')),
        ("request.x", "1e999", "request.x", JsonText('"1e999"')),
        ("header.Accept", "text/plain", "header.accept", "text/plain"),
        ("api.key", "secret://scope/deep/key", "api.key", SecretReference("secret", "scope/deep/key")),
        ("api_key", "env:KEY_1", "api.key", SecretReference("env", "KEY_1")),
        ("api-key", "file:/run/secrets/k", "api.key", SecretReference("file", "/run/secrets/k")),
        ("header.x-team", "env:TEAM", "header.x-team", SecretReference("env", "TEAM")),
        ("tag.Owner", "ann", "tag.Owner", "ann"),
        ("X-Cost-Centre", "7", "x-Cost-Centre", "7"),
    ],
)
def test_a_value_is_read_by_its_kind(key: str, text: str, canonical: str, value: PropertyValue) -> None:
    made = normalise(key, text)
    assert made.key == canonical
    assert made.value == value
    assert type(made.value) is type(value)


@pytest.mark.parametrize(
    "key", ["api.key", "header.authorization", "header.x-anything", "request.api_key", "tag.password", "x-auth-token"]
)
def test_a_literal_that_could_be_a_secret_is_one(key: str) -> None:
    value = normalise(key, "sk-canary").value
    assert isinstance(value, Secret)
    assert value.reveal() == "sk-canary"
    assert show_value(value) == MASK
    assert "canary" not in repr(normalise(key, "sk-canary"))


def test_a_secret_deep_inside_json_is_found() -> None:
    assert isinstance(normalise("request.tools", '[{"headers": {"Authorization": "Bearer x"}}]').value, Secret)
    assert normalise("request.max_tokens", '{"max_tokens": 5}').value == JsonText('{"max_tokens":5}')


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("qps.limt", ["qps.limit", "tpm.limit"]),
        ("timeout-ms", ["timeout_ms", "timeout.ms", "timeout"]),
        ("wholly different", []),
    ],
)
def test_an_unknown_key_is_refused_with_what_looks_alike(key: str, near: list[str]) -> None:
    with pytest.raises(UnknownProperty) as raised:
        normalise(key, "1")
    assert raised.value.fields["near"] == near


@pytest.mark.parametrize(
    "key", ["", "request.", "request.a b", "header.a b", "header.", "tag.", "x-", "request.*", "*", "a.*"]
)
def test_a_free_key_needs_a_usable_rest(key: str) -> None:
    with pytest.raises(UnknownProperty):
        normalise(key, "1")


def test_a_value_in_the_place_of_a_key_is_not_repeated() -> None:
    for key in ("sk-canary", "api4canary", "two words canary"):
        with pytest.raises(UnknownProperty) as raised:
            normalise(key, "api.key")
        assert "canary" not in str(raised.value)
        assert "canary" not in str(raised.value.fields)


@pytest.mark.parametrize("member", ["messages", "model", "stream", "n", "Messages", "N"])
def test_members_that_the_call_makes_are_reserved(member: str) -> None:
    with pytest.raises(ReservedKey):
        normalise(f"request.{member}", "1")


@pytest.mark.parametrize(
    ("key", "text", "unit", "allowed"),
    [
        ("timeout.ms", "0", "ms", "1 to 3,600,000"),
        ("timeout.ms", "3600001", "ms", "1 to 3,600,000"),
        ("timeout.ms", "0.5", "ms", "1 to 3,600,000"),
        ("timeout.ms", "soon", "ms", "1 to 3,600,000"),
        ("timeout.ms", "", "ms", "1 to 3,600,000"),
        ("timeout.ms", "9" * 5_000, "ms", "1 to 3,600,000"),
        ("timeout.ms", "1e999", "ms", "1 to 3,600,000"),
        ("retry.attempts", "11", "", "1 to 10"),
        ("retry.attempts", "2.0", "", "1 to 10"),
        ("qps.limit", "0", "requests per second", "> 0"),
        ("qps.limit", "-1", "requests per second", "> 0"),
        ("qps.limit", "1e400", "requests per second", "> 0"),
        ("qps.limit", "inf", "requests per second", "> 0"),
        ("price.input", "-0.1", "per 1,000,000 tokens", ">= 0"),
        ("model.type", "audio", "", "chat, completions, embedding"),
        ("allow.insecure", "yes", "", "true, false"),
    ],
)
def test_a_value_outside_its_range_names_unit_and_range(key: str, text: str, unit: str, allowed: str) -> None:
    with pytest.raises(InvalidValue) as raised:
        normalise(key, text)
    assert raised.value.fields["unit"] == unit
    assert raised.value.fields["allowed"] == allowed


def test_qps_limit_zero_points_to_the_kill_switch() -> None:
    with pytest.raises(InvalidValue, match="DISABLE"):
        normalise("qps.limit", "0")


def test_an_error_never_repeats_the_value() -> None:
    for spec in CATALOGUE:
        if spec.kind in (Kind.CHOICE, Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER, Kind.MILLISECONDS):
            with pytest.raises(InvalidValue) as raised:
                normalise(spec.key, "sk-canary")
            assert "canary" not in str(raised.value) + str(raised.value.fields)


@pytest.mark.parametrize("text", ["", " sk", "sk\n", "secret:x", "env:", "env:1a", "file:relative", "secret://"])
def test_a_secret_with_space_around_it_or_half_a_reference_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        normalise("api.key", text)


@pytest.mark.parametrize("key", ["api.key", "header.authorization", "tag.note", "request.x", "prompt.system"])
def test_the_mask_is_never_a_value(key: str) -> None:
    with pytest.raises(SecretPlaceholder):
        normalise(key, MASK)


@pytest.mark.parametrize(
    "pair", [("timeout", "timeout.ms"), ("api_key", "API-KEY"), ("header.A", "header.a"), ("request.x", "request.X")]
)
def test_one_key_in_two_spellings_is_a_duplicate(pair: tuple[str, str]) -> None:
    with pytest.raises(DuplicateKey):
        normalise_all((key, "5") for key in pair)


def test_deep_json_has_the_code_of_depth() -> None:
    with pytest.raises(NestingTooDeep):
        normalise("request.x", "[" * 65)
    assert normalise("request.x", '"' + "[" * 65 + '"').value == JsonText('"' + "[" * 65 + '"')


def test_what_a_model_needs_cannot_be_unset() -> None:
    assert check_unset("TIMEOUT") == "timeout.ms"
    for key in ("model.type", "endpoint", "Location"):
        with pytest.raises(RequiredProperty):
            check_unset(key)


def test_identity_and_operational_keys() -> None:
    identity = {spec.key for spec in CATALOGUE if spec.effect is Effect.IDENTITY}
    assert identity == {"model.type", "model.name", "request.*", "prompt.system", "response.format", "response.profile"}
    assert find_spec("api.key").effect is Effect.OPERATIONAL
    assert find_spec("request.max_tokens").effect is Effect.IDENTITY
    assert find_spec("x-owner").key == "tag.*"


def test_the_catalogue_agrees_with_itself() -> None:
    keys = [spec.key for spec in CATALOGUE]
    assert len(set(keys)) == len(keys)
    for spec in CATALOGUE:
        assert spec.meaning.endswith(".")
        assert spec.key == spec.key.lower()
        if isinstance(spec.default, bool | int | float | str):
            text = str(spec.default).lower() if isinstance(spec.default, bool) else str(spec.default)
            assert normalise(spec.key, text).value == spec.default
    for alias in ALIASES.values():
        assert canonical_key(alias.key) == alias.key


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "true"),
        (5, "5"),
        (0.5, "0.5"),
        (500.0, "500"),
        (1e20, "1e+20"),
        ("x", "x"),
        (JsonText("[1]"), "[1]"),
        (SecretReference("env", "K"), "env:K"),
    ],
)
def test_values_are_shown_plainly(value: PropertyValue, shown: str) -> None:
    assert show_value(value) == shown
