"""What all scenarios share: an endpoint, a registry with models, and jobs in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from endpoint import BenchEndpoint, bench_endpoint
from registry_fixtures import RegistryProcess, run_registry

_HERE: Final = Path(__file__).parent
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where everything runs. ``registries`` are two processes on one database."""

    endpoint: BenchEndpoint
    registries: tuple[RegistryProcess, RegistryProcess]

    @property
    def registry(self) -> str:
        """Return the first registry's address."""
        return self.registries[0].url

    def model(self, url: str, **properties: object) -> str:
        """Create a model at an address and return its name; ``qps_limit=500`` sets ``qps.limit``."""
        name = f"bench_{next(_numbers)}"
        settings = {
            "model.type": "chat",
            "model.name": "m",
            "prompt.system": "Classify the session log; answer JSON.",
            "concurrency.limit": 2048,
            **{key.replace("_", "."): value for key, value in properties.items()},
        }
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in settings.items())
        with self.registries[0].client() as client:
            client.execute(f"CREATE MODEL {name} USING 'openai' LOCATION '{url}' PROPERTIES ({listed})")
        return name


@contextmanager
def bench() -> Iterator[Bench]:
    """Run an endpoint and two registries for the length of a ``with``."""
    with ExitStack() as stack:
        endpoint = stack.enter_context(bench_endpoint())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="inferlake-bench-registry-")))
        registries = []
        for _ in range(2):
            registries.append(run_registry(folder, "--no-probes"))
            stack.callback(registries[-1].stop)
        yield Bench(endpoint, (registries[0], registries[1]))


def start(script: str, *words: str, **options: object) -> subprocess.Popen[str]:
    """Start a job; ``in_flight=512`` becomes ``--in-flight 512``."""
    command = [sys.executable, str(_HERE / script), *words]
    for name, value in options.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(job: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for a job and return its figures. Raises RuntimeError with what it said when it failed."""
    out, errors = job.communicate()
    if job.returncode != 0:
        raise RuntimeError(f"{job.args} failed:\n{errors[-4000:]}")
    figures: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return figures


def measure(script: str, *words: str, **options: object) -> dict[str, Any]:
    """Run a job and return its figures."""
    return finish(start(script, *words, **options))
