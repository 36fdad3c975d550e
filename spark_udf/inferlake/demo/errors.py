"""What can go wrong with the demo, each with what to look at next.

InferlakeError
└── DemoError
    ├── WorkFolder                    WORK_FOLDER         nothing can be written there
    ├── ServiceFailed                 SERVICE_FAILED      a part ended before it was ready
    ├── ServiceSlow                   SERVICE_SLOW        a part was not ready in time
    ├── ServiceDied                   SERVICE_DIED        a part ended after it was ready
    ├── EndpointLost                  ENDPOINT_LOST       the model went away while rows were asked
    ├── NotReconciled                 NOT_RECONCILED      two counts that must be equal are not
    ├── NoProbeStored                 NO_PROBE_STORED     the registry did not probe the model in time
    └── Unexpected                    UNEXPECTED          a foreign error, with the place of its details
"""

from __future__ import annotations

from pathlib import Path

from inferlake_sql.errors import InferlakeError


class DemoError(InferlakeError):
    """The demo cannot go on."""

    code = "DEMO_ERROR"


class WorkFolder(DemoError):
    """The folder for tables, database and logs cannot be made."""

    code = "WORK_FOLDER"

    def __init__(self, folder: Path, cause: str) -> None:
        super().__init__(
            f"No folder can be made in {folder}: {cause}. Give --work-dir another one.", folder=str(folder)
        )


class ServiceFailed(DemoError):
    """A process of the demo ended before it was ready."""

    code = "SERVICE_FAILED"

    def __init__(self, name: str, status: int, said: str, log: Path) -> None:
        super().__init__(
            f"The {name} ended with status {status} before it was ready: {said[:300] or 'it said nothing'} "
            f"(all of it: {log}).",
            name=name,
            status=status,
            log=str(log),
        )


class ServiceSlow(DemoError):
    """A process of the demo is alive and not ready after the time it may take."""

    code = "SERVICE_SLOW"

    def __init__(self, name: str, seconds: float, log: Path) -> None:
        super().__init__(
            f"The {name} is not ready after {seconds:.0f} s. On a busy machine give it more with "
            f"INFERLAKE_DEMO_START_SECONDS; what it said is in {log}.",
            name=name,
            seconds=seconds,
            log=str(log),
        )


class ServiceDied(DemoError):
    """A process of the demo ended although nobody asked it to."""

    code = "SERVICE_DIED"

    def __init__(self, name: str, status: int, log: Path) -> None:
        super().__init__(f"The {name} ended with status {status}; the reason is at the end of {log}.", name=name)


class EndpointLost(DemoError):
    """The model's endpoint went away in the middle of a run; nothing that it had answered is lost."""

    code = "ENDPOINT_LOST"

    def __init__(self, answered: int, failed: int, log: Path) -> None:
        super().__init__(
            f"The model's endpoint was gone before the end. {answered} rows had been answered and are routed; {failed} "
            f"waited for it and failed with `network`. What the model said last is in {log}.",
            answered=answered,
            failed=failed,
        )


class NotReconciled(DemoError):
    """Two counts that must be equal are not: something was lost, or paid twice."""

    code = "NOT_RECONCILED"

    def __init__(self, what: str, left: int, right: int, log: Path) -> None:
        super().__init__(
            f"The counts do not agree: {what}, but {left} is not {right}. Details are in {log}.",
            what=what,
            left=left,
            right=right,
        )


class NoProbeStored(DemoError):
    """The registry probes every model by itself, and has stored nothing."""

    code = "NO_PROBE_STORED"

    def __init__(self, model: str, seconds: float, log: Path) -> None:
        super().__init__(
            f"The registry has stored no health sample of {model!r} within {seconds:.0f} s; its log is {log}.",
            model=model,
            seconds=seconds,
        )


class Unexpected(DemoError):
    """An error of somebody else's library, cut to its first line."""

    code = "UNEXPECTED"

    def __init__(self, doing: str, said: str, log: Path) -> None:
        super().__init__(f"Something broke while {doing}: {said} (all of it: {log}).", doing=doing)
