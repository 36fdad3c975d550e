"""Errors of the registry, and the one shape they have on the wire (RFC 9457 problem details with our ``code``).

InferlakeError
├── LanguageError …                       (inferlake_sql.errors)
├── ModelError
│   ├── ModelNotFound                     404  MODEL_NOT_FOUND
│   ├── ModelAlreadyExists                409  MODEL_ALREADY_EXISTS
│   ├── VersionNotFound                   404  VERSION_NOT_FOUND
│   └── ModelDisabled                     409  MODEL_DISABLED
└── RegistryError
    ├── RegistryUnreachable               503  REGISTRY_UNREACHABLE
    └── RegistryProtocolError             502  REGISTRY_PROTOCOL_ERROR
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from inferlake_sql.errors import InferlakeError, JsonValue

PROBLEM_MEDIA_TYPE = "application/problem+json"


class ModelError(InferlakeError):
    """Something about a model forbids what was asked."""

    status = 409
    code = "MODEL_ERROR"


class ModelNotFound(ModelError):
    """No model of that name; ``near`` holds up to three names that look alike."""

    code = "MODEL_NOT_FOUND"
    status = 404

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        hint = f" Did you mean {', '.join(near)}?" if near else " SHOW MODELS lists what is registered."
        super().__init__(f"There is no model {name!r}.{hint}", name=name, near=list(near))


class ModelAlreadyExists(ModelError):
    """CREATE of a name that is taken."""

    code = "MODEL_ALREADY_EXISTS"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A model {name!r} already exists. CREATE OR REPLACE MODEL adds a new version and activates it; "
            f"CREATE MODEL IF NOT EXISTS leaves it as it is.",
            name=name,
        )


class VersionNotFound(ModelError):
    """The model has managed versions and none of that name."""

    code = "VERSION_NOT_FOUND"
    status = 404

    def __init__(self, name: str, version: str, known: Sequence[str]) -> None:
        super().__init__(
            f"Model {name!r} has no version {version!r}. Known versions: {', '.join(known)}.",
            name=name,
            version=version,
            known=list(known),
        )


class ModelDisabled(ModelError):
    """The kill switch is on."""

    code = "MODEL_DISABLED"

    def __init__(self, name: str) -> None:
        super().__init__(f"Model {name!r} is disabled. ALTER MODEL {name} ENABLE allows calls again.", name=name)


class RegistryError(InferlakeError):
    """The registry itself cannot be used."""

    code = "REGISTRY_ERROR"
    status = 503


class RegistryUnreachable(RegistryError):
    """No answer from the registry."""

    code = "REGISTRY_UNREACHABLE"

    def __init__(self, url: str, cause: str) -> None:
        super().__init__(
            f"The registry at {url} does not answer ({cause}). Start it with `inferlake registry serve`, or give its "
            f"address as inferlake.enable(spark, registry=…) or INFERLAKE_REGISTRY_URL.",
            url=url,
        )


class RegistryProtocolError(RegistryError):
    """Something answered that is not our registry, or not this version of it."""

    code = "REGISTRY_PROTOCOL_ERROR"
    status = 502

    def __init__(self, url: str, status: int) -> None:
        super().__init__(
            f"{url} answered HTTP {status} with a document we do not know: is it an Inferlake registry?", url=url
        )


def to_problem(error: InferlakeError) -> dict[str, JsonValue]:
    """Return the problem document of an error."""
    return {
        "type": "about:blank",
        "title": error.code.replace("_", " ").capitalize(),
        "status": error.status,
        "code": error.code,
        "detail": error.message,
        "fields": dict(error.fields),
    }


def from_problem(document: Mapping[str, JsonValue]) -> InferlakeError:
    """Return the error that a problem document describes, of its own class where this side knows the code."""
    code = str(document.get("code", ""))
    fields = document.get("fields")
    cls = {cls.code: cls for cls in _family(InferlakeError)}.get(code)
    error = (cls or InferlakeError).rebuild(str(document.get("detail", "")), fields if isinstance(fields, dict) else {})
    if cls is None and code:
        error.code = code  # a newer registry's error keeps its code
    return error


def _family(root: type[InferlakeError]) -> Iterator[type[InferlakeError]]:
    for cls in root.__subclasses__():
        yield from _family(cls)
        yield cls
    yield root
