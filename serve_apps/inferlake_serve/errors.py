"""What can keep a model from being served.

InferlakeError
└── ServeError
    ├── EngineMissing                 ENGINE_MISSING
    ├── EnginesConflict               ENGINES_CONFLICT
    ├── ModelUnavailable              MODEL_UNAVAILABLE
    ├── UnsupportedHeadSize           UNSUPPORTED_HEAD_SIZE
    ├── ServePortInUse                SERVE_PORT_IN_USE
    ├── NotServed                     NOT_SERVED
    ├── ServeStopped                  SERVE_STOPPED
    └── ServeFailed                   SERVE_FAILED
"""

from __future__ import annotations

from collections.abc import Sequence

from inferlake_sql.errors import InferlakeError


class ServeError(InferlakeError):
    """A model cannot be served here."""

    code = "SERVE_ERROR"
    status = 503


class EngineMissing(ServeError):
    """No build of vLLM is installed."""

    code = "ENGINE_MISSING"

    def __init__(self) -> None:
        super().__init__(
            "The model engine vLLM is not installed. On a machine without a GPU: pip install 'inferlake[cpu]'; "
            "with one: pip install 'inferlake[vllm]'."
        )


class EnginesConflict(ServeError):
    """The builds for CPU and GPU own the same import folder, so whichever came last has overwritten the other."""

    code = "ENGINES_CONFLICT"

    def __init__(self, installed: Sequence[str]) -> None:
        super().__init__(
            f"{' and '.join(installed)} are installed together and overwrite each other. Uninstall both and install "
            f"one: inferlake[cpu] or inferlake[vllm].",
            installed=list(installed),
        )


class ModelUnavailable(ServeError):
    """A model that is neither a usable folder, nor in the hub's cache, nor to be had from the hub."""

    code = "MODEL_UNAVAILABLE"
    status = 404

    def __init__(self, model: str, cause: str) -> None:
        super().__init__(
            f"The model {model!r} cannot be had: {cause}. Give a folder with config.json and weights, an id that the "
            f"hub knows, or leave --model out for the one that ships with Inferlake.",
            model=model,
        )


class UnsupportedHeadSize(ServeError):
    """An attention head that the engine's CPU kernels do not have: it would start and die at the first request."""

    code = "UNSUPPORTED_HEAD_SIZE"
    status = 400

    def __init__(self, model: str, size: int, supported: Sequence[int]) -> None:
        super().__init__(
            f"The model {model!r} has attention heads of {size}, and the engine on a CPU knows "
            f"{', '.join(map(str, supported))} only. Serve it with --accelerator gpu, or take another model.",
            model=model,
            head_dim=size,
            supported=list(supported),
        )


class ServePortInUse(ServeError):
    """Somebody else listens on the port that was asked for."""

    code = "SERVE_PORT_IN_USE"
    status = 409

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} of {host} is in use. Give another one with --port, or --port 0 for any that is free.",
            host=host,
            port=port,
        )


class NotServed(ServeError):
    """A name under which nothing is served from this machine."""

    code = "NOT_SERVED"
    status = 404

    def __init__(self, name: str, served: Sequence[str]) -> None:
        known = f"Served are: {', '.join(served)}." if served else "Nothing is served at the moment."
        super().__init__(f"No model is served as {name!r} here. {known}", name=name, served=list(served))


class ServeStopped(ServeError):
    """The server's process ended before the model was up, for example because somebody stopped it."""

    code = "SERVE_STOPPED"

    def __init__(self, name: str, status: int, said: str, log: str) -> None:
        cause = f": {said}" if said else ""
        super().__init__(
            f"The server of {name!r} ended with status {status}{cause}. Its log is {log}.", name=name, log=log
        )


class ServeFailed(ServeError):
    """The model did not come up; ``cause`` is the engine's own last words."""

    code = "SERVE_FAILED"

    def __init__(self, name: str, cause: str, logs: str) -> None:
        super().__init__(f"The model {name!r} did not start: {cause}. Logs are in {logs}.", name=name, logs=logs)
