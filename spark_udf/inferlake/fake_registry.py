"""A registry in memory for tests: models are added in Python, and what was reported can be looked at.

    with FakeRegistry() as registry, StubEndpoint() as stub:
        registry.add_model("m", stub.url)
        inferlake.enable(spark, registry=registry.url)

It answers over HTTP, since workers are other processes. It knows no statements but SHOW MODELS: a test of statements
wants a real registry.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit

from inferlake_registry.contract.leases import Lease, LeaseRequest
from inferlake_registry.contract.models import Arm, CallSettings, Credentials, Endpoint, ModelSnapshot, ModelType
from inferlake_registry.contract.problems import PROBLEM_MEDIA_TYPE, ModelNotFound, to_problem
from inferlake_registry.contract.runs import RejectedSample, RunListing, RunReport, UsageReport
from inferlake_registry.contract.statements import Column, ColumnType, StatementResult
from inferlake_registry.contract.wire import decode, encode
from inferlake_sql.errors import InferlakeError, JsonValue, NotSupported
from inferlake_sql.names import near, parse_reference
from inferlake_sql.secret import Secret
from inferlake_sql.statements import ContractColumn

_LEASE_MS: Final = 5_000


class FakeRegistry:
    """The contract in memory, on a free loopback port, for the length of a ``with``."""

    def __init__(self) -> None:
        self.models: dict[str, ModelSnapshot] = {}
        self.resolved: list[str] = []  # references, in order
        self.keys_read: list[str] = []  # names of the models whose key was asked for, in order
        self.runs: dict[str, RunReport] = {}
        self.rejected: dict[str, RejectedSample] = {}
        self.usage: list[UsageReport] = []
        self._keys: dict[str, Secret] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="fake-registry", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def add_model(
        self,
        name: str,
        url: str,
        *,
        version: str = "1",
        model_type: ModelType = ModelType.CHAT,
        settings: CallSettings = CallSettings(),  # noqa: B008 - a frozen value
        api_key: str | None = None,
        inputs: Sequence[ContractColumn] = (),
        outputs: Sequence[ContractColumn] = (),
    ) -> ModelSnapshot:
        """Register a model at an address, in the place of one of that name; ``inputs`` and ``outputs`` are checked."""
        before = self.models.get(name)
        endpoint = Endpoint(version=version, url=url, model_name=name, model_type=model_type)
        snapshot = ModelSnapshot(
            model_id=f"fake-{name}",
            name=name,
            revision=before.revision + 1 if before else 1,
            enabled=True,
            pinned=False,
            arms=(Arm(100, endpoint),),
            settings=settings,
            has_secrets=api_key is not None,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
        )
        self.models[name] = snapshot
        self._keys.pop(name, None)
        if api_key is not None:
            self._keys[name] = Secret(api_key)
        return snapshot

    def resolve(self, reference: str) -> ModelSnapshot:
        """Return the model of a call. Raises ModelNotFound with near names."""
        self.resolved.append(reference)
        return self._find(parse_reference(reference).name.display)

    def answer(self, method: str, path: str, body: Any) -> JsonValue:
        """Answer one request. Raises errors of the family."""
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        match method, parts:
            case "GET", ["readyz" | "livez"]:
                return {"status": "ok"}
            case "GET", ["v1", "runs"]:
                return encode(RunListing(tuple(self.runs.values()), None))
            case "POST", ["v1", "runs"]:
                report = decode(RunReport, body)
                self.runs[report.run_id] = report
                return None
            case "POST", ["v1", "runs", _, "rejected"]:
                samples = decode(tuple[RejectedSample, ...], body)
                self.rejected |= {sample.rejected_id: sample for sample in samples}
                return None
            case "POST", ["v1", "usage"]:
                self.usage += decode(tuple[UsageReport, ...], body)
                return None
            case "POST", ["v1", "sql"]:
                return encode(self._statement(str(body["statement"])))
            case "POST", ["v1", "models", name, *below]:
                return self._of_model(name, below, body)
            case _:
                raise NotSupported(f"{method} {path}", "A fake registry has what a driver and its workers need.")

    def _of_model(self, name: str, below: list[str], body: Any) -> JsonValue:
        match below:
            case ["resolve"]:
                return encode(self.resolve(str(body["reference"])))
            case ["credentials"]:
                model = self._find(name)
                self.keys_read.append(model.name)
                key = self._keys.get(model.name)
                headers = {} if key is None else {"authorization": Secret(f"Bearer {key.reveal()}")}
                return encode(Credentials(headers, model.revision), reveal=True)
            case ["leases"]:
                return encode(self._lease(self._find(name), decode(LeaseRequest, body)))
            case _:  # a lease that is given back
                return None

    def _lease(self, model: ModelSnapshot, wanted: LeaseRequest) -> Lease:
        settings = model.settings
        spacing_ms = 0.0 if settings.qps_limit is None else 1_000 / settings.qps_limit
        return Lease(
            lease_id="fake",
            count=wanted.count,
            first_delay_ms=0.0,
            spacing_ms=spacing_ms,
            expires_in_ms=_LEASE_MS,
            epoch=model.revision,
            enabled=model.enabled,
            concurrency=settings.concurrency_limit,
            qps_limit=settings.qps_limit,
            holders=1,
        )

    def _statement(self, text: str) -> StatementResult:
        if " ".join(text.split()).rstrip("; ").upper() != "SHOW MODELS":
            raise NotSupported("This statement", "A fake registry knows SHOW MODELS; add models with add_model().")
        return StatementResult((Column("name", ColumnType.STRING),), tuple((name,) for name in sorted(self.models)))

    def _find(self, name: str) -> ModelSnapshot:
        if name not in self.models:
            raise ModelNotFound(name, near(name, self.models))
        return self.models[name]


def _handler(registry: FakeRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer("GET", None)

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            self._answer("POST", json.loads(self.rfile.read(length) or b"null"))

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _answer(self, method: str, body: object) -> None:
            try:
                self._send(200, "application/json", registry.answer(method, self.path, body))
            except InferlakeError as error:
                self._send(error.status, PROBLEM_MEDIA_TYPE, to_problem(error))

        def _send(self, status: int, kind: str, document: JsonValue | Mapping[str, JsonValue]) -> None:
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler
