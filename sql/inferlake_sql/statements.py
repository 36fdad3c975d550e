"""Every statement of the language as a frozen value: what ``parse`` returns and the registry carries out.

Names keep their spelling and carry a key to look up by. Versions and aliases are texts. Property values are already
checked and typed; a literal secret is a ``Secret``, a pointer to one a ``SecretReference``. ``Statement`` is the union.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from inferlake_sql.location import Location
from inferlake_sql.names import ModelName
from inferlake_sql.properties import Property


class IfPresent(StrEnum):
    """What CREATE does when the name is taken."""

    ERROR = "error"
    KEEP = "keep"  # IF NOT EXISTS
    REPLACE = "replace"  # OR REPLACE: a new version, activated; never an erasure


@dataclass(frozen=True, slots=True)
class ContractColumn:
    """One column of INPUT or OUTPUT; ``type`` is Spark's DDL in one spelling, such as ``ARRAY<STRUCT<a: INT>>``."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class CreateModel:
    """Registers a model and its first version, or with REPLACE its next one."""

    name: ModelName
    location: Location
    provider: str | None = None  # USING, lower case with '-': 'ray-serve'
    properties: tuple[Property, ...] = ()
    version: str | None = None
    comment: str | None = None
    input: tuple[ContractColumn, ...] = ()
    output: tuple[ContractColumn, ...] = ()
    if_present: IfPresent = IfPresent.ERROR
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class CreateModelLike:
    """Copies another model's active version under a new name."""

    name: ModelName
    source: ModelName
    comment: str | None = None
    if_present: IfPresent = IfPresent.ERROR
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class AddVersion:
    """Adds an immutable version without activating it; None and () mean inherited from the active one."""

    name: ModelName
    version: str
    location: Location | None = None
    provider: str | None = None
    properties: tuple[Property, ...] = ()
    comment: str | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetVersion:
    """Activates a version. One that carries a location or properties adds an unknown version first."""

    name: ModelName
    version: str
    location: Location | None = None
    properties: tuple[Property, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetProperties:
    """Changes a model by SET LOCATION, SET USING and SET PROPERTIES, in one statement or each alone.

    Operational keys change in place; an identity key, a location or a provider makes a version and activates it.
    """

    name: ModelName
    properties: tuple[Property, ...] = ()
    location: Location | None = None
    provider: str | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class UnsetProperties:
    """Sets keys (canonical, each once) back to their defaults; ``keys_if_exist`` silences unset and unknown ones."""

    name: ModelName
    keys: tuple[str, ...]
    keys_if_exist: bool = False
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetComment:
    """Replaces the model's comment in place; None removes it."""

    name: ModelName
    comment: str | None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameModel:
    """Gives a model another name; history and grants move with it."""

    name: ModelName
    new_name: ModelName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetAlias:
    """Points an alias at a version, away from wherever it pointed."""

    name: ModelName
    version: str
    alias: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class UnsetAlias:
    """Takes an alias from a version; without ``version``, from whichever has it."""

    name: ModelName
    alias: str
    version: str | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TrafficShare:
    """One version's share, 0 to 100."""

    version: str
    percent: int


@dataclass(frozen=True, slots=True)
class SetTraffic:
    """Splits calls between versions; the shares sum to 100 and name each version once."""

    name: ModelName
    shares: tuple[TrafficShare, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class UnsetTraffic:
    """Sends everything to the active version again."""

    name: ModelName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Rollback:
    """Returns to the previous activation, split included, or to the last one of ``version``."""

    name: ModelName
    version: str | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropVersion:
    """Removes a version that is not active, aliased or in a split."""

    name: ModelName
    version: str
    version_if_exists: bool = False
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetEnabled:
    """Turns the kill switch: ENABLE or DISABLE."""

    name: ModelName
    enabled: bool
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropModel:
    """Drops every version of a model, softly."""

    name: ModelName
    if_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class UndropModel:
    """Brings back the model that was dropped last under this name."""

    name: ModelName


@dataclass(frozen=True, slots=True)
class ShowModels:
    """Lists models; ``namespace`` is a prefix in parts, ``pattern`` a LIKE pattern with Spark's ``*`` and ``|``."""

    namespace: ModelName | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCreateModel:
    """Prints the statement that would make the model again, secrets masked or as references."""

    name: ModelName
    version: str | None = None


@dataclass(frozen=True, slots=True)
class DescribeModel:
    """Shows name, value and source of everything that is set, inherited or default."""

    name: ModelName
    extended: bool = False
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ShowVersions:
    """Lists a model's versions in the order of their creation."""

    name: ModelName


@dataclass(frozen=True, slots=True)
class DescribeHistory:
    """Lists every change of a model, the latest first."""

    name: ModelName


@dataclass(frozen=True, slots=True)
class ShowHealth:
    """Lists the health of models whose name fits the pattern."""

    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowProperties:
    """Lists a model's properties, or the one of ``key`` (canonical)."""

    name: ModelName
    key: str | None = None


@dataclass(frozen=True, slots=True)
class TestModel:
    """Calls the endpoint once on purpose, with ``text`` or a short text of the registry's own."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

    name: ModelName
    version: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ExplainAi:
    """Estimates what a query would ask of its models; the query is Spark's and stays as it was written."""

    query: str
    approximate: bool = False


class Privilege(StrEnum):
    """What can be granted on a model; USAGE and EXECUTE are read as USE."""

    USE = "USE"
    ALTER = "ALTER"
    ALL = "ALL PRIVILEGES"


@dataclass(frozen=True, slots=True)
class Grant:
    """Lets a principal do something with a model."""

    privilege: Privilege
    name: ModelName
    principal: str


@dataclass(frozen=True, slots=True)
class Revoke:
    """Takes a privilege back."""

    privilege: Privilege
    name: ModelName
    principal: str


@dataclass(frozen=True, slots=True)
class TableName:
    """A Spark table's name in parts, as written."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RouteQuery:
    """CREATE TABLE … AS query VALIDATE column AGAINST schema REJECTED INTO table; the query is Spark's, untouched."""

    table: TableName
    query: str
    column: str
    schema: str  # JSON Schema as text
    rejected_table: TableName
    if_not_exists: bool = False


Statement: TypeAlias = (
    CreateModel
    | CreateModelLike
    | AddVersion
    | SetVersion
    | SetProperties
    | UnsetProperties
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
    | ExplainAi
    | Grant
    | Revoke
    | RouteQuery
)
