"""The statements about models as frozen values: what a parsed text means, with nothing of its spelling left."""

from __future__ import annotations

from dataclasses import dataclass

from inferlake_sql.names import ModelName
from inferlake_sql.secret import Secret


@dataclass(frozen=True, slots=True)
class SecretReference:
    """Where a secret is kept: ``secret://scope/key``, ``env:NAME`` or ``file:/path``. The reference itself may be shown."""

    text: str


PropertyValue = str | Secret | SecretReference


@dataclass(frozen=True, slots=True)
class Property:
    """One property with its canonical key and canonical text."""

    key: str
    value: PropertyValue


@dataclass(frozen=True, slots=True)
class Field:
    """One column of an INPUT or OUTPUT contract; ``type`` is Spark DDL."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Share:
    """One version's percentage of the traffic."""

    version: str
    percent: int


@dataclass(frozen=True, slots=True)
class CreateModel:
    """CREATE [OR REPLACE] [TEMPORARY] MODEL [IF NOT EXISTS]."""

    name: ModelName
    provider: str
    location: str
    properties: tuple[Property, ...] = ()
    inputs: tuple[Field, ...] = ()
    outputs: tuple[Field, ...] = ()
    comment: str | None = None
    version: str | None = None
    replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class CreateModelLike:
    """CREATE MODEL … LIKE other: a copy of the other's active version."""

    name: ModelName
    source: ModelName
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddVersion:
    """ALTER MODEL … ADD VERSION: what is not given is inherited from the active version."""

    name: ModelName
    version: str
    location: str | None = None
    properties: tuple[Property, ...] = ()
    comment: str | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetVersion:
    """ALTER MODEL … SET VERSION; with LOCATION or PROPERTIES it may add the version first."""

    name: ModelName
    version: str
    location: str | None = None
    properties: tuple[Property, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetProperties:
    """ALTER MODEL … SET key=value, …."""

    name: ModelName
    properties: tuple[Property, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class UnsetProperties:
    """ALTER MODEL … UNSET PROPERTIES [IF EXISTS] (key, …); ``quiet`` is the inner IF EXISTS."""

    name: ModelName
    keys: tuple[str, ...]
    quiet: bool = False
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetLocation:
    """ALTER MODEL … SET LOCATION: a new version, activated at once."""

    name: ModelName
    location: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetComment:
    """ALTER MODEL … SET COMMENT, or COMMENT ON MODEL; None takes the comment away."""

    name: ModelName
    comment: str | None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameModel:
    """ALTER MODEL … RENAME TO."""

    name: ModelName
    new_name: ModelName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetAlias:
    """ALTER MODEL … VERSION v SET ALIAS a."""

    name: ModelName
    version: str
    alias: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class UnsetAlias:
    """ALTER MODEL … [VERSION v] UNSET ALIAS a."""

    name: ModelName
    alias: str
    version: str | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetTraffic:
    """ALTER MODEL … SET TRAFFIC: shares sum to 100."""

    name: ModelName
    shares: tuple[Share, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class UnsetTraffic:
    """ALTER MODEL … UNSET TRAFFIC: everything to the active version."""

    name: ModelName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Rollback:
    """ALTER MODEL … ROLLBACK [TO VERSION v]: back to an earlier activation."""

    name: ModelName
    to_version: str | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropVersion:
    """ALTER MODEL … DROP VERSION [IF EXISTS] v; ``quiet`` is the inner IF EXISTS."""

    name: ModelName
    version: str
    quiet: bool = False
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetEnabled:
    """ALTER MODEL … ENABLE or DISABLE."""

    name: ModelName
    enabled: bool
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropModel:
    """DROP [TEMPORARY] MODEL [IF EXISTS]."""

    name: ModelName
    if_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class UndropModel:
    """UNDROP MODEL: the last dropped model of that name comes back."""

    name: ModelName


@dataclass(frozen=True, slots=True)
class ShowModels:
    """SHOW MODELS [IN namespace] [LIKE pattern]; a pattern has ``*`` and ``|`` as Spark's SHOW TABLES."""

    namespace: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCreateModel:
    """SHOW CREATE MODEL."""

    name: ModelName
    version: str | None = None


@dataclass(frozen=True, slots=True)
class DescribeModel:
    """DESCRIBE MODEL [EXTENDED]."""

    name: ModelName
    extended: bool = False
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ShowVersions:
    """SHOW VERSIONS IN MODEL."""

    name: ModelName


@dataclass(frozen=True, slots=True)
class DescribeHistory:
    """DESCRIBE HISTORY MODEL."""

    name: ModelName


@dataclass(frozen=True, slots=True)
class ShowHealth:
    """SHOW MODEL HEALTH [LIKE pattern]."""

    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowProperties:
    """SHOW MODEL PROPERTIES m [('key')]."""

    name: ModelName
    key: str | None = None


@dataclass(frozen=True, slots=True)
class TestModel:
    """TEST MODEL: the one statement that calls the endpoint on purpose."""

    __test__ = False  # the name is no test case for pytest

    name: ModelName
    version: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ExplainAI:
    """EXPLAIN AI [APPROXIMATE] query: the query stays Spark's own text."""

    query: str
    approximate: bool = False


@dataclass(frozen=True, slots=True)
class Grant:
    """GRANT (or, with ``revoke``, REVOKE) USE ON MODEL."""

    name: ModelName
    principal: str
    revoke: bool = False


@dataclass(frozen=True, slots=True)
class CreateTableValidated:
    """CREATE TABLE t AS query VALIDATE column AGAINST schema REJECTED INTO table; the query stays Spark's own text."""

    table: str
    query: str
    column: str
    schema: str
    rejected_table: str
    if_not_exists: bool = False


Statement = (
    CreateModel
    | CreateModelLike
    | AddVersion
    | SetVersion
    | SetProperties
    | UnsetProperties
    | SetLocation
    | SetComment
    | RenameModel
    | SetAlias
    | UnsetAlias
    | SetTraffic
    | UnsetTraffic
    | Rollback
    | DropVersion
    | SetEnabled
    | DropModel
    | UndropModel
    | ShowModels
    | ShowCreateModel
    | DescribeModel
    | ShowVersions
    | DescribeHistory
    | ShowHealth
    | ShowProperties
    | TestModel
    | ExplainAI
    | Grant
    | CreateTableValidated
)
