"""What each statement means: the typed value behind its text."""

from __future__ import annotations

import pytest

from inferlake_sql.errors import InvalidParameter, LanguageError, NestingTooDeep, StatementSyntaxError
from inferlake_sql.location import Location
from inferlake_sql.names import ModelName
from inferlake_sql.parse import MAX_DEPTH, parse
from inferlake_sql.properties import Property
from inferlake_sql.secret import Secret, SecretReference
from inferlake_sql.statements import (
    AddVersion,
    ContractColumn,
    CreateModel,
    CreateModelLike,
    DescribeHistory,
    DescribeModel,
    DropModel,
    DropVersion,
    ExplainAi,
    Grant,
    IfPresent,
    Privilege,
    RenameModel,
    Revoke,
    Rollback,
    RouteQuery,
    SetAlias,
    SetComment,
    SetEnabled,
    SetProperties,
    SetTraffic,
    SetVersion,
    ShowCreateModel,
    ShowHealth,
    ShowModels,
    ShowProperties,
    ShowVersions,
    TableName,
    TestModel,
    TrafficShare,
    UndropModel,
    UnsetAlias,
    UnsetProperties,
    UnsetTraffic,
)
from inferlake_sql.tokens import Quoting

M = ModelName(("m",))
H = Location("https://h/v1")

ARTICLE = """CREATE MODEL llm_intent_classifier
USING 'ray-serve'
LOCATION 'http://ray-serve:8000/v1/chat/completions'
PROPERTIES (
'model.type' = 'chat',
'api.key' = 'sk-xxx',
'timeout.ms' = '30000'
);"""


def test_create_as_the_article_prints_it() -> None:
    statement = parse(ARTICLE)
    assert isinstance(statement, CreateModel)
    assert statement.name == ModelName(("llm_intent_classifier",))
    assert statement.provider == "ray-serve"
    assert statement.location == Location("http://ray-serve:8000/v1/chat/completions")
    assert statement.if_present is IfPresent.ERROR
    kind, key, timeout = statement.properties
    assert kind == Property("model.type", "chat")
    assert key.key == "api.key"
    assert isinstance(key.value, Secret)
    assert key.value.reveal() == "sk-xxx"
    assert timeout == Property("timeout.ms", 30_000)


def test_create_with_everything() -> None:
    text = (
        "CREATE MODEL IF NOT EXISTS db.m COMMENT 'c' OUTPUT (o DOUBLE) INPUT (i STRING) VERSION '2' "
        "PROPERTIES (api.key = 'env:K') LOCATION 'https://h/v1' USING openai"
    )
    assert parse(text) == CreateModel(
        name=ModelName(("db", "m")),
        location=H,
        provider="openai",
        properties=(Property("api.key", SecretReference("env", "K")),),
        version="2",
        comment="c",
        input=(ContractColumn("i", "STRING"),),
        output=(ContractColumn("o", "DOUBLE"),),
        if_present=IfPresent.KEEP,
    )


def test_create_or_replace() -> None:
    assert parse("CREATE OR REPLACE MODEL m LOCATION 'https://h/v1'") == CreateModel(M, H, if_present=IfPresent.REPLACE)


def test_create_temporary_is_read_for_whoever_carries_it_out() -> None:
    assert parse("CREATE TEMPORARY MODEL m LOCATION 'https://h/v1'") == CreateModel(M, H, temporary=True)
    assert parse("CREATE TEMP MODEL m LIKE n") == CreateModelLike(M, ModelName(("n",)), temporary=True)


@pytest.mark.parametrize("clause", ["PROPERTIES", "OPTIONS", "WITH", "TBLPROPERTIES"])
def test_create_takes_each_word_for_a_property_list(clause: str) -> None:
    statement = parse(f"CREATE MODEL m LOCATION 'https://h/v1' {clause} ('qps.limit' = '5')")
    assert statement == CreateModel(M, H, properties=(Property("qps.limit", 5.0),))


def test_add_version_leaves_open_what_is_inherited() -> None:
    assert parse("ALTER MODEL m ADD VERSION '2'") == AddVersion(M, "2")
    assert parse("ALTER MODEL IF EXISTS m ADD VERSION '2' LOCATION 'https://h/v1' COMMENT 'c'") == AddVersion(
        M, "2", location=H, comment="c", if_exists=True
    )


@pytest.mark.parametrize(
    "text",
    [
        "SET VERSION 2.1",
        "SET VERSION '2.1'",
        "SET VERSION = 2.1",
        "SET DEFAULT_VERSION = '2.1'",
        "SET ACTIVE VERSION 2.1",
        "set version :v",
        'SET VERSION "2.1" ;',
    ],
)
def test_set_version_in_every_spelling(text: str) -> None:
    args = {"v": "2.1"}
    assert parse(f"ALTER MODEL m {text}", args=args) == SetVersion(M, "2.1")


@pytest.mark.parametrize(
    ("written", "version"),
    [("2.10", "2.10"), ("v2.1", "v2.1"), ("1e5", "1e5"), ("2.1.0-rc1", "2.1.0-rc1"), ("007", "007"), ("1L", "1L")],
)
def test_a_version_is_its_text_and_never_a_number(written: str, version: str) -> None:
    assert parse(f"ALTER MODEL m SET VERSION {written}") == SetVersion(M, version)


def test_set_version_may_bring_its_definition() -> None:
    statement = parse("ALTER MODEL m SET VERSION '2' LOCATION 'https://h/v1' PROPERTIES ('qps.limit' = 1)")
    assert statement == SetVersion(M, "2", H, (Property("qps.limit", 1.0),))


def test_set_properties_as_the_article_prints_it() -> None:
    assert parse("ALTER MODEL m SET qps.limit=500") == SetProperties(M, (Property("qps.limit", 500.0),))


@pytest.mark.parametrize("form", ["{}", "({})", "PROPERTIES ({})", "OPTIONS ({})", "TBLPROPERTIES ({})"])
def test_set_properties_in_every_spelling(form: str) -> None:
    pairs = form.format("'qps.limit'='500', retry.attempts = 2")
    assert parse(f"ALTER MODEL m SET {pairs}") == SetProperties(
        M, (Property("qps.limit", 500.0), Property("retry.attempts", 2))
    )


def test_set_location_alone_or_with_properties() -> None:
    assert parse("ALTER MODEL m SET LOCATION 'https://h/v1'") == SetProperties(M, location=H)
    assert parse("ALTER MODEL m SET endpoint = 'https://h/v1', qps.limit = 1") == SetProperties(
        M, (Property("qps.limit", 1.0),), location=H
    )


def test_unset_properties() -> None:
    assert parse("ALTER MODEL m UNSET PROPERTIES ('qps.limit')") == UnsetProperties(M, ("qps.limit",))
    assert parse("ALTER MODEL m RESET ('qps.limit', timeout)") == UnsetProperties(M, ("qps.limit", "timeout.ms"))
    assert parse("ALTER MODEL m UNSET qps.limit, tpm.limit") == UnsetProperties(M, ("qps.limit", "tpm.limit"))


def test_unset_with_if_exists_lets_an_unknown_key_pass() -> None:
    statement = parse("ALTER MODEL m UNSET PROPERTIES IF EXISTS ('nonsense')")
    assert statement == UnsetProperties(M, ("nonsense",), keys_if_exist=True)


def test_comment_in_both_forms() -> None:
    assert parse("ALTER MODEL m SET COMMENT 'c'") == parse("COMMENT ON MODEL m IS 'c'") == SetComment(M, "c")
    assert parse("ALTER MODEL m UNSET COMMENT") == parse("COMMENT ON MODEL m IS NULL") == SetComment(M, None)


def test_rename() -> None:
    assert parse("ALTER MODEL m RENAME TO n") == RenameModel(M, ModelName(("n",)))


def test_aliases() -> None:
    assert parse("ALTER MODEL m VERSION '2.1' SET ALIAS Champion") == SetAlias(M, "2.1", "Champion")
    assert parse("ALTER MODEL m VERSION 2.1 UNSET ALIAS 'x'") == UnsetAlias(M, "x", "2.1")


def test_traffic() -> None:
    shares = (TrafficShare("2.0", 90), TrafficShare("2.1", 10))
    assert parse("ALTER MODEL m SET TRAFFIC ('2.0'=90, '2.1'=10)") == SetTraffic(M, shares)
    assert parse("ALTER MODEL m SET TRAFFIC (2.0 = 90 PERCENT, 2.1 = 10 PERCENT)") == SetTraffic(M, shares)
    assert parse("ALTER MODEL m UNSET TRAFFIC") == UnsetTraffic(M)


def test_rollback() -> None:
    assert parse("ALTER MODEL m ROLLBACK") == Rollback(M)
    assert parse("ALTER MODEL m ROLLBACK TO VERSION 'v'") == Rollback(M, "v")


def test_drop_version() -> None:
    assert parse("ALTER MODEL m DROP VERSION 2.1") == DropVersion(M, "2.1")
    assert parse("ALTER MODEL m DROP VERSION IF EXISTS '2.1'") == DropVersion(M, "2.1", version_if_exists=True)


@pytest.mark.parametrize(
    ("verb", "enabled"), [("ENABLE", True), ("RESUME", True), ("DISABLE", False), ("PAUSE", False)]
)
def test_kill_switch(verb: str, enabled: bool) -> None:
    assert parse(f"ALTER MODEL m {verb}") == SetEnabled(M, enabled)


def test_alter_if_exists() -> None:
    assert parse("ALTER MODEL IF EXISTS m ENABLE") == SetEnabled(M, True, if_exists=True)


def test_drop_and_undrop() -> None:
    assert parse("DROP MODEL m") == DropModel(M)
    assert parse("DROP MODEL IF EXISTS m") == DropModel(M, if_exists=True)
    assert parse("DROP TEMPORARY MODEL m") == DropModel(M, temporary=True)
    assert parse("UNDROP MODEL m") == UndropModel(M)


def test_show_models() -> None:
    assert parse("SHOW MODELS") == ShowModels()
    assert parse("SHOW MODELS IN cat.db LIKE 'a*'") == ShowModels(ModelName(("cat", "db")), "a*")
    assert parse("SHOW MODELS FROM db 'a*'") == ShowModels(ModelName(("db",)), "a*")
    assert parse("SHOW MODELS LIKE ?", args=["a*"]) == ShowModels(None, "a*")


def test_show_create() -> None:
    assert parse("SHOW CREATE MODEL m") == ShowCreateModel(M)
    assert parse("SHOW CREATE MODEL m VERSION 1") == ShowCreateModel(M, "1")


def test_describe() -> None:
    assert parse("DESCRIBE MODEL m") == parse("DESC MODEL m") == DescribeModel(M)
    assert parse("DESCRIBE MODEL EXTENDED m VERSION '1'") == DescribeModel(M, True, "1")
    assert parse("DESCRIBE MODEL extended") == DescribeModel(ModelName(("extended",)))


def test_show_versions_and_history() -> None:
    assert parse("SHOW VERSIONS IN MODEL m") == parse("SHOW MODEL VERSIONS m") == ShowVersions(M)
    assert parse("DESCRIBE HISTORY MODEL m") == DescribeHistory(M)


def test_show_health() -> None:
    assert parse("SHOW MODEL HEALTH") == parse("SHOW MODEL STATUS") == ShowHealth()
    assert parse("SHOW MODEL HEALTH LIKE 'a'") == ShowHealth("a")


def test_show_properties() -> None:
    assert parse("SHOW MODEL PROPERTIES m") == ShowProperties(M)
    assert parse("SHOW MODEL PROPERTIES m ('timeout')") == ShowProperties(M, "timeout.ms")


def test_test_model() -> None:
    assert parse("TEST MODEL m") == TestModel(M)
    assert parse("TEST MODEL m VERSION 'v' WITH 'text'") == TestModel(M, "v", "text")


def test_explain_ai_keeps_the_query_as_it_was_written() -> None:
    query = "SELECT  ai_function('m', `x y`) -- why\nFROM t"
    assert parse(f"EXPLAIN AI {query} ;") == ExplainAi(query)
    assert parse(f"explain ai approximate {query}") == ExplainAi(query, approximate=True)


def test_grant_and_revoke() -> None:
    for word in ("USE", "USAGE", "EXECUTE"):
        assert parse(f"GRANT {word} ON MODEL m TO p") == Grant(Privilege.USE, M, "p")
    assert parse("REVOKE ALL PRIVILEGES ON MODEL m FROM `a b`") == Revoke(Privilege.ALL, M, "a b")


def test_routing() -> None:
    text = """CREATE TABLE IF NOT EXISTS db.labels AS
        SELECT id, ai_function('m', e) AS o FROM s -- all
        VALIDATE `o` AGAINST ? REJECTED INTO db.`bad rows`"""
    assert parse(text, args=['{"type": "object"}']) == RouteQuery(
        table=TableName(("db", "labels")),
        query="SELECT id, ai_function('m', e) AS o FROM s",
        column="o",
        schema='{"type":"object"}',
        rejected_table=TableName(("db", "bad rows")),
        if_not_exists=True,
    )


def test_parameters_stand_for_strings_in_every_place() -> None:
    text = "CREATE MODEL m LOCATION :url PROPERTIES ('api.key' = :key, 'qps.limit' = :qps) COMMENT :c"
    args = {"url": "https://h/v1", "key": "env:K", "qps": 5, "c": "it's"}
    assert parse(text, args=args) == CreateModel(
        M, H, properties=(Property("api.key", SecretReference("env", "K")), Property("qps.limit", 5.0)), comment="it's"
    )
    text = "TEST MODEL m VERSION ? WITH ?"
    assert parse(text, args=["1", "hello"]) == TestModel(M, "1", "hello")


def test_positional_parameters_count_those_inside_a_query() -> None:
    text = "CREATE TABLE t AS SELECT a FROM b WHERE c = ? VALIDATE a AGAINST ? REJECTED INTO r"
    statement = parse(text, args=[5, "true"])
    assert isinstance(statement, RouteQuery)
    assert statement.schema == "true"


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("COMMENT ON MODEL m IS :c", None),
        ("COMMENT ON MODEL m IS :c", {}),
        ("COMMENT ON MODEL m IS :c", ["x"]),
        ("COMMENT ON MODEL m IS ?", []),
        ("COMMENT ON MODEL m IS ?", {"c": "x"}),
        ("COMMENT ON MODEL m IS :c", {"c": None}),
        ("COMMENT ON MODEL m IS :c", {"c": b"x"}),
        ("COMMENT ON MODEL m IS :c", {"c": "a\0"}),
    ],
)
def test_a_marker_without_a_usable_value_is_refused(text: str, args: dict[str, object] | list[object] | None) -> None:
    with pytest.raises(InvalidParameter):
        parse(text, args=args)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("'it''s'", "it's"),
        (r"'it\'s'", "it's"),
        ('"it\'s"', "it's"),
        ('"say ""x"""', 'say "x"'),
        (r"'a\nb\t\\'", "a\nb\t\\"),
        (r"'\u00e9\%'", "é\\%"),
        (r"r'a\nb'", r"a\nb"),
        ("'-- no /* comment */;'", "-- no /* comment */;"),
        ("''", ""),
        ("''''", "'"),
    ],
)
def test_strings_are_read_as_spark_reads_them(written: str, meant: str) -> None:
    assert parse(f"COMMENT ON MODEL m IS {written}") == SetComment(M, meant)


def test_escaped_string_literals_leave_backslashes_alone() -> None:
    quoting = Quoting(escaped_string_literals=True)
    assert parse(r"COMMENT ON MODEL m IS 'a\nb'", quoting=quoting) == SetComment(M, r"a\nb")


def test_double_quotes_can_be_names() -> None:
    quoting = Quoting(double_quoted_identifiers=True)
    assert parse('DROP MODEL "a b"."c"', quoting=quoting) == DropModel(ModelName(("a b", "c")))
    with pytest.raises(StatementSyntaxError):
        parse('COMMENT ON MODEL m IS "c"', quoting=quoting)


def test_expected_words_are_data() -> None:
    with pytest.raises(StatementSyntaxError) as raised:
        parse("ALTER MODEL m\n  ROLL")
    fields = raised.value.fields
    assert fields["found"] == "'ROLL'"
    assert "ROLLBACK" in fields["expected"]  # type: ignore[operator]
    assert (fields["line"], fields["column"]) == (2, 3)
    assert fields["snippet"] == "  ROLL\n  ^"


@pytest.mark.parametrize("opening", ["(", "[", "{", "([{"])
def test_brackets_beyond_the_depth_have_their_own_code(opening: str) -> None:
    with pytest.raises(NestingTooDeep) as raised:
        parse("CREATE MODEL m PROPERTIES " + opening * 4_000)
    assert raised.value.fields["limit"] == MAX_DEPTH


def test_nesting_in_types_and_in_json_is_bounded() -> None:
    with pytest.raises(NestingTooDeep):
        parse("CREATE MODEL m LOCATION 'https://h' INPUT (a " + "ARRAY<" * 5_000 + "INT" + ">" * 5_000 + ")")
    with pytest.raises(NestingTooDeep):
        parse(f"ALTER MODEL m SET request.x = '{'[' * 100_000}'")


def test_a_query_may_be_deep_but_not_bottomless() -> None:
    deep = "SELECT " + "(" * 500 + "1" + ")" * 500
    assert parse(f"EXPLAIN AI {deep}") == ExplainAi(deep)
    with pytest.raises(NestingTooDeep):
        parse("EXPLAIN AI SELECT " + "(" * 4_000 + "1" + ")" * 4_000)


def test_every_error_says_where() -> None:
    with pytest.raises(LanguageError) as raised:
        parse("CREATE MODEL m\nLOCATION 'https://h/v1'\nPROPERTIES ('qps.limit' = 1,\n  'nonsense' = 2)")
    assert (raised.value.fields["line"], raised.value.fields["column"]) == (4, 3)
