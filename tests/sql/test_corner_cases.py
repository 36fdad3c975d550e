"""The corner cases that the language alone decides, one test each; those that need a registry are tested there."""

from __future__ import annotations

import pytest

from inferlake_sql.calls import Constancy, find_calls, require_constant_models
from inferlake_sql.errors import (
    ConflictingClauses,
    DuplicateKey,
    InvalidLocation,
    InvalidName,
    InvalidValue,
    LanguageError,
    ModelNotConstant,
    MultipleStatements,
    RequiredProperty,
    ReservedKey,
    SecretPlaceholder,
    StatementSyntaxError,
    UnknownProperty,
)
from inferlake_sql.grammar import is_model_statement, recognise
from inferlake_sql.names import ModelName, parse_reference
from inferlake_sql.parse import parse
from inferlake_sql.properties import Effect, Property, find_spec
from inferlake_sql.render import render
from inferlake_sql.secret import Secret, SecretReference
from inferlake_sql.statements import (
    CreateModel,
    DropModel,
    SetAlias,
    SetProperties,
    SetVersion,
    UnsetProperties,
)
from inferlake_sql.tokens import Quoting

M = ModelName(("m",))


def refused(text: str, error: type[LanguageError]) -> LanguageError:
    with pytest.raises(error) as raised:
        parse(text)
    return raised.value


def value_of(assignment: str) -> object:
    statement = parse(f"ALTER MODEL m SET {assignment}")
    assert isinstance(statement, SetProperties)
    return statement.properties[0].value


def test_or_replace_with_if_not_exists_is_an_error() -> None:
    refused("CREATE OR REPLACE MODEL IF NOT EXISTS m LOCATION 'http://h/v1'", ConflictingClauses)


def test_set_version_of_an_unknown_version_can_carry_its_definition() -> None:
    statement = parse("ALTER MODEL m SET VERSION '3' PROPERTIES ('model.name' = 'x')")
    assert statement == SetVersion(M, "3", properties=(Property("model.name", "x"),))


def test_versions_2_1_and_quoted_2_1_are_equal_2_10_and_v2_1_are_others() -> None:
    versions = [parse(f"ALTER MODEL m SET VERSION {written}") for written in ("2.1", "'2.1'", "2.10", "v2.1")]
    assert versions[0] == versions[1]
    assert len({str(version) for version in versions}) == 3


def test_unknown_property_has_a_did_you_mean() -> None:
    error = refused("CREATE MODEL m LOCATION 'http://h/v1' PROPERTIES ('model.typ' = 'chat')", UnknownProperty)
    assert error.fields["near"] == ["model.type", "model", "model.name"]


def test_free_keys_are_free_only_under_their_prefixes() -> None:
    text = "ALTER MODEL m SET request.top_k = 5, header.accept = 'a', tag.a = 'b', x-c = 'd'"
    statement = parse(text)
    assert isinstance(statement, SetProperties)
    assert [item.key for item in statement.properties] == ["request.top_k", "header.accept", "tag.a", "x-c"]
    refused("ALTER MODEL m SET extra.top_k = 5", UnknownProperty)


def test_reserved_request_keys_are_refused() -> None:
    for member in ("messages", "model", "stream", "n"):
        refused(f"ALTER MODEL m SET request.{member} = '1'", ReservedKey)


def test_a_time_may_have_a_unit_where_the_key_ends_in_ms() -> None:
    assert value_of("'timeout.ms' = '30s'") == value_of("'timeout.ms' = '30000'") == 30_000
    error = refused("ALTER MODEL m SET 'retry.attempts' = '30s'", InvalidValue)
    assert error.fields["allowed"] == "1 to 10"


def test_qps_limit_zero_and_negative_are_errors_and_fractions_are_fine() -> None:
    assert "DISABLE" in refused("ALTER MODEL m SET qps.limit=0", InvalidValue).message
    refused("ALTER MODEL m SET qps.limit=-1", InvalidValue)
    assert value_of("qps.limit=0.5") == 0.5


def test_the_same_key_twice_is_a_duplicate_after_case_and_aliases() -> None:
    refused("ALTER MODEL m SET qps.limit=1, QPS.LIMIT=2", DuplicateKey)
    refused("ALTER MODEL m SET timeout_ms=1, timeout=2", DuplicateKey)
    refused("ALTER MODEL m SET endpoint='http://h', LOCATION='http://h'", DuplicateKey)


def test_unset_of_an_unknown_key_is_an_error_unless_if_exists() -> None:
    refused("ALTER MODEL m UNSET PROPERTIES ('nonsense')", UnknownProperty)
    assert parse("ALTER MODEL m UNSET PROPERTIES IF EXISTS ('nonsense')") == UnsetProperties(
        M, ("nonsense",), keys_if_exist=True
    )


def test_unset_of_a_required_key_is_an_error() -> None:
    refused("ALTER MODEL m UNSET PROPERTIES ('model.type')", RequiredProperty)
    refused("ALTER MODEL m UNSET PROPERTIES IF EXISTS ('model.type')", RequiredProperty)


def test_property_keys_go_with_and_without_quotes_in_any_case_and_by_alias() -> None:
    for written in ("qps.limit", "'qps.limit'", '"QPS.Limit"', "`qps.limit`"):
        assert parse(f"ALTER MODEL m SET {written} = 5") == SetProperties(M, (Property("qps.limit", 5.0),))
    refused("ALTER MODEL m SET qps_limit = 5", UnknownProperty)


def test_unquoted_values_are_numbers_true_and_false_and_a_bare_word_is_an_error() -> None:
    assert value_of("retry.attempts = 3") == 3
    assert value_of("price.input = .5e-2") == 0.005
    assert value_of("allow.insecure = tRuE") is True
    refused("ALTER MODEL m SET model.type = chat", StatementSyntaxError)


def test_quotes_inside_quotes_follow_the_session() -> None:
    assert value_of("model.name = 'it''s'") == value_of(r"model.name = 'it\'s'") == value_of('model.name = "it\'s"')
    ansi = Quoting(double_quoted_identifiers=True)
    with pytest.raises(StatementSyntaxError):
        parse('ALTER MODEL m SET model.name = "x"', quoting=ansi)


def test_a_part_of_a_name_may_be_in_backquotes() -> None:
    assert parse("DROP MODEL c.d.`a.b`") == DropModel(ModelName(("c", "d", "a.b")))


def test_a_dotted_name_is_a_path_and_an_odd_one_is_pointed_to_backquotes() -> None:
    assert parse("DROP MODEL a.b") == DropModel(ModelName(("a", "b")))
    for written in ("gpt-4o", "Qwen/Qwen3-8B", "a@b", "a:b"):
        assert "backquotes" in refused(f"DROP MODEL {written}", InvalidName).message


def test_a_bare_odd_name_is_accepted_in_a_call() -> None:
    assert parse_reference("gpt-4o").name == ModelName(("gpt-4o",))
    assert parse_reference("gpt-4.1").verbatim == ModelName(("gpt-4.1",))


def test_names_match_without_case_and_keep_their_spelling_labels_do_not() -> None:
    upper, lower = parse("DROP MODEL Db.M"), parse("DROP MODEL dB.m")
    assert isinstance(upper, DropModel) and isinstance(lower, DropModel)
    assert upper.name.key == lower.name.key
    assert upper.name.display == "Db.M"
    assert parse("ALTER MODEL m VERSION 'A' SET ALIAS B") == SetAlias(M, "A", "B")


def test_names_are_at_most_255_characters_without_control_characters_in_nfc() -> None:
    composed, decomposed = "é" * 255, "e\u0301" * 255
    assert parse(f"DROP MODEL {composed}") == parse(f"DROP MODEL `{decomposed}`")
    refused(f"DROP MODEL {'a' * 256}", InvalidName)
    refused("DROP MODEL `a\tb`", InvalidName)


def test_reference_forms_in_a_call() -> None:
    assert not parse_reference("m").pinned
    assert parse_reference("m@champion").alias == "champion"
    assert parse_reference("m:2.1").version == "2.1"
    assert parse_reference("`a@b:c$d`").name == ModelName(("a@b:c$d",))


def test_a_column_as_model_is_refused_with_a_hint() -> None:
    text = "SELECT ai_function(which, text) FROM t"
    calls = find_calls(text)
    assert calls[0].constancy is Constancy.NAMES
    with pytest.raises(ModelNotConstant, match="CASE"):
        require_constant_models(text, calls)


def test_a_key_is_operational_so_that_rotation_makes_no_version() -> None:
    assert find_spec("api.key").effect is Effect.OPERATIONAL
    assert isinstance(value_of("'api.key' = 'sk-new'"), Secret)


def test_accepted_references_are_kept_as_references() -> None:
    assert value_of("api.key = 'secret://scope/key'") == SecretReference("secret", "scope/key")
    assert value_of("api.key = 'env:NAME'") == SecretReference("env", "NAME")
    assert value_of("api.key = 'file:/run/key'") == SecretReference("file", "/run/key")


def test_a_secret_in_a_header_or_in_the_request_is_one_and_in_the_url_is_refused() -> None:
    for assignment in ("header.authorization = 'Bearer sk-canary'", "request.api_key = 'sk-canary'"):
        statement = parse(f"ALTER MODEL m SET {assignment}")
        assert statement is not None
        assert "canary" not in render(statement) + repr(statement)
    for url in ("https://user:sk-canary@h/v1", "https://h/v1?key=sk-canary"):
        error = refused(f"ALTER MODEL m SET LOCATION '{url}'", InvalidLocation)
        assert "canary" not in str(error)


def test_a_printed_mask_is_never_taken_for_the_key() -> None:
    statement = parse("CREATE MODEL m LOCATION 'http://h/v1' PROPERTIES ('api.key' = 'sk-1')")
    assert isinstance(statement, CreateModel)
    refused(render(statement), SecretPlaceholder)


def test_link_local_and_metadata_addresses_are_refused() -> None:
    for host in ("169.254.169.254", "2852039166", "[fe80::1]", "metadata.google.internal", "100.100.100.200"):
        refused(f"CREATE MODEL m LOCATION 'http://{host}/v1'", InvalidLocation)


def test_leading_words_alone_decide() -> None:
    assert is_model_statement("/* a */ -- b\n create\nmodel x 'never closed")
    assert not is_model_statement("SELECT 'CREATE MODEL m'")
    assert not is_model_statement("INSERT INTO t VALUES ('x; CREATE MODEL m')")


def test_describe_model_says_when_it_is_ambiguous() -> None:
    two_words, longer = recognise("DESCRIBE MODEL x"), recognise("DESCRIBE MODEL x VERSION '1'")
    assert two_words is not None and two_words.ambiguous
    assert longer is not None and not longer.ambiguous
    assert recognise("DESCRIBE TABLE model x") is None


def test_a_semicolon_at_the_end_is_fine_and_a_second_statement_is_not() -> None:
    assert parse("DROP MODEL m ; -- done") == DropModel(M)
    refused("DROP MODEL m; SELECT 1", MultipleStatements)
