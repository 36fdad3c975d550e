"""Errors of the registry, and the one shape they have on the wire (RFC 9457 problem details with our ``code``).

InferlakeError
├── LanguageError …                       (inferlake_sql.errors)
├── ModelError
│   ├── ModelNotFound                 404  MODEL_NOT_FOUND
│   ├── ModelAlreadyExists            409  MODEL_ALREADY_EXISTS
│   ├── VersionNotFound               404  VERSION_NOT_FOUND
│   ├── ModelDisabled                 409  MODEL_DISABLED
│   ├── NotDropped                    404  MODEL_NOT_DROPPED
│   ├── VersionExists                 409  VERSION_EXISTS
│   ├── VersionInUse                  409  VERSION_IN_USE
│   ├── NoPreviousVersion             409  NO_PREVIOUS_VERSION
│   ├── SplitActive                   409  SPLIT_ACTIVE
│   ├── AliasNotFound                 404  ALIAS_NOT_FOUND
│   ├── EndpointFailed                502  ENDPOINT_FAILED
│   ├── SecretUnavailable             409  SECRET_UNAVAILABLE
│   └── ConcurrentModification        409  CONCURRENT_MODIFICATION
└── RegistryError
    ├── RegistryUnreachable           503  REGISTRY_UNREACHABLE
    ├── RegistryProtocolError         502  REGISTRY_PROTOCOL_ERROR
    ├── Unauthorised                  401  UNAUTHORISED
    ├── ForeignHost                   421  FOREIGN_HOST
    ├── NotFound                      404  NOT_FOUND
    ├── BadRequest                    400  BAD_REQUEST
    ├── MethodNotAllowed              405  METHOD_NOT_ALLOWED
    ├── PortInUse                     503  PORT_IN_USE
    ├── BadSetting                    400  BAD_SETTING
    └── Unexpected                    500  UNEXPECTED_ERROR
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

    def __init__(self, name: str, near: Sequence[str] = (), whole: str | None = None) -> None:
        """``whole`` is a path written as one name, for the case that its dots are part of the name."""
        hint = f" Did you mean {', '.join(near)}?" if near else " SHOW MODELS lists what is registered."
        dots = f" Its dots divide a path; as one name it goes in backquotes: {whole}." if whole is not None else ""
        super().__init__(f"There is no model {name!r}.{hint}{dots}", name=name, near=list(near))


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


class NotDropped(ModelError):
    """UNDROP of a name under which nothing was dropped."""

    code = "MODEL_NOT_DROPPED"
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"No model {name!r} has been dropped, so there is none to bring back.", name=name)


class VersionExists(ModelError):
    """A version is immutable: its name cannot be used for something else."""

    code = "VERSION_EXISTS"

    def __init__(self, name: str, version: str) -> None:
        super().__init__(
            f"Model {name!r} has a version {version!r} with another content, and a version never changes. "
            f"Choose a new version.",
            name=name,
            version=version,
        )


class VersionInUse(ModelError):
    """A version that is active, aliased or in a split cannot be dropped."""

    code = "VERSION_IN_USE"

    def __init__(self, name: str, version: str, use: str) -> None:
        super().__init__(
            f"Version {version!r} of model {name!r} cannot be dropped: {use}.", name=name, version=version, use=use
        )


class NoPreviousVersion(ModelError):
    """ROLLBACK with nothing to go back to."""

    code = "NO_PREVIOUS_VERSION"

    def __init__(self, name: str, version: str | None = None) -> None:
        what = "no earlier activation" if version is None else f"no earlier activation of version {version!r}"
        super().__init__(
            f"Model {name!r} has {what} to go back to; DESCRIBE HISTORY MODEL {name} shows what there was.", name=name
        )


class SplitActive(ModelError):
    """A change of identity while a split is set: it would be unclear which arm changes."""

    code = "SPLIT_ACTIVE"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Model {name!r} splits its traffic, so it is unclear which version would change. Use "
            f"ALTER MODEL {name} ADD VERSION …, or ALTER MODEL {name} UNSET TRAFFIC first.",
            name=name,
        )


class AliasNotFound(ModelError):
    """The model has no such alias."""

    code = "ALIAS_NOT_FOUND"
    status = 404

    def __init__(self, name: str, alias: str, known: Sequence[str]) -> None:
        listed = f"Known aliases: {', '.join(known)}." if known else "It has none."
        super().__init__(f"Model {name!r} has no alias {alias!r}. {listed}", name=name, alias=alias, known=list(known))


class EndpointFailed(ModelError):
    """The endpoint was asked on purpose and gave no usable answer."""

    code = "ENDPOINT_FAILED"
    status = 502

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(f"The endpoint of model {name!r} does not answer as it should: {cause}.", name=name)


class SecretUnavailable(ModelError):
    """A reference to a secret leads nowhere on the registry's machine."""

    code = "SECRET_UNAVAILABLE"

    def __init__(self, name: str, key: str, why: str) -> None:
        super().__init__(f"{key!r} of model {name!r} cannot be had: {why}.", name=name, key=key)


class ConcurrentModification(ModelError):
    """Somebody else changed the model at the same moment and won."""

    code = "CONCURRENT_MODIFICATION"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Model {name!r} was changed by somebody else at the same moment; look and try again.", name=name
        )


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


class Unauthorised(RegistryError):
    """The registry wants a token and got none, or another one."""

    code = "UNAUTHORISED"
    status = 401

    def __init__(self) -> None:
        super().__init__("This registry wants a token: inferlake.enable(spark, token=…) or INFERLAKE_REGISTRY_TOKEN.")


class ForeignHost(RegistryError):
    """A request for a name that is not this service's: a page elsewhere may have made its own name lead here."""

    code = "FOREIGN_HOST"
    status = 421

    def __init__(self, host: str) -> None:
        super().__init__(
            f"This registry is not called {host!r}. Use 127.0.0.1 or localhost, or start it with --allow-host {host}.",
            host=host,
        )


class NotFound(RegistryError):
    """No such address, or nothing under it."""

    code = "NOT_FOUND"
    status = 404

    def __init__(self, what: str) -> None:
        super().__init__(f"There is no {what} here.")


class BadRequest(RegistryError):
    """The request's body or parameters do not have the form that the address takes."""

    code = "BAD_REQUEST"
    status = 400

    def __init__(self, why: str) -> None:
        super().__init__(f"The request cannot be read: {why}.")


class MethodNotAllowed(RegistryError):
    """The address exists, for another method."""

    code = "METHOD_NOT_ALLOWED"
    status = 405

    def __init__(self, method: str) -> None:
        super().__init__(f"This address does not take {method}.", method=method)


class PortInUse(RegistryError):
    """Somebody else listens there."""

    code = "PORT_IN_USE"

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} of {host} is in use. Choose another with --port (0 takes a free one).", host=host, port=port
        )


class BadSetting(RegistryError):
    """A setting of the service that it cannot start with."""

    code = "BAD_SETTING"
    status = 400

    def __init__(self, setting: str, why: str) -> None:
        super().__init__(f"{setting} {why}.", setting=setting)


class Unexpected(RegistryError):
    """A fault of the registry's own; its log has the details under the request's id."""

    code = "UNEXPECTED_ERROR"
    status = 500

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"The registry failed in a way it did not expect; its log says more at request {request_id}.",
            request_id=request_id,
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
