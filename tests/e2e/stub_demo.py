"""The demo with a scripted endpoint in the model's place, for what cannot be had from a real one at will.

    [STUB_SESSIONS=file] python stub_demo.py SCRIPT [options of `inferlake demo`]

Everything else is real: the registry's process, Spark, the engine, the files. SCRIPT is one of ``SCRIPTS``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from inferlake.cli import main
from inferlake.demo import job, local_spark, services
from inferlake.demo.children import Children
from inferlake.testing import Answer, Received, Reply, StubEndpoint, chat, error

CONTEXT_BYTES = 6_000  # longer prompts are refused, as a model with a short context does


class Model:
    """Answers like a small model that is mostly right, and counts like an endpoint of `inferlake serve`."""

    def __init__(self) -> None:
        self.endpoint = StubEndpoint(self.answer)
        self.requests = 0

    def answer(self, received: Received) -> Answer:
        if received.path == "/v1/requests":
            return Reply(200, json.dumps({"requests": self.requests}).encode())
        if not received.path.endswith("/chat/completions"):
            return Reply(200, b"{}")
        self.requests += 1
        if len(received.body) > CONTEXT_BYTES:
            return error(400, code="context_length_exceeded", message="the prompt is too long")
        if "response_format" not in received.json and "pay" in received.prompt:
            return chat('The label is "normal".')
        return chat('{"label":"normal"}')


class Counting(Model):
    """Counts one request too many, as if a row had been paid twice."""

    def answer(self, received: Received) -> Answer:
        if self.requests == 50:
            self.requests += 1
        return super().answer(received)


class Slow(Model):
    """Takes two seconds for every answer."""

    def answer(self, received: Received) -> Answer:
        answer = super().answer(received)
        return replace(answer, delay_s=2.0) if isinstance(answer, Reply) and "chat" in received.path else answer


class Dying(Model):
    """Is gone after its 60th request."""

    def answer(self, received: Received) -> Answer:
        if self.requests == 60:
            # In the loop's own thread, where nobody may wait for it; from now on nothing can connect.
            self.endpoint._loop.create_task(self.endpoint._shut())
        return super().answer(received)


SCRIPTS: dict[str, Callable[[], Model]] = {"fair": Model, "counting": Counting, "slow": Slow, "dying": Dying}


def run(script: str, options: list[str]) -> None:
    model = SCRIPTS[script]()

    def start(
        children: Children, folder: Path, chosen: str | None, ready: Callable[[str, str], None]
    ) -> services.Services:
        registry = children.start(
            services.REGISTRY, (*services._INFERLAKE, "registry", "serve", *services._keeping(folder))
        )
        url = services._announced_url(registry, 60)
        ready(services.REGISTRY, url)
        # In a thread as in the demo itself: in the main thread Spark would put its own handler in place of the demo's.
        spark = services._begin(lambda: local_spark.start(folder)).result()
        ready(services.SPARK, spark.version)
        ready(services.SERVED, model.endpoint.origin)
        return services.Services(url, model.endpoint.origin, registry, spark)

    services.start = start
    job.SESSIONS = Path(os.environ.get("STUB_SESSIONS", job.SESSIONS))
    with model.endpoint:
        main(["demo", *options])


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
