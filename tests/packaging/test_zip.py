"""The wheel as a .zip in ``spark.submit.pyFiles``, on executors that have the base dependencies only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from inferlake.shipping import make_zip
from inferlake.testing import StubEndpoint
from inferlake_registry.client import Client

ROOT = Path(__file__).parents[2]

# What the executors' Python does not have. The project itself is taken off its path: it must come from the zip.
LEAN = """
import sys
_LACKING = ("fastapi", "uvicorn", "starlette", "sqlalchemy", "alembic", "jinja2", "cryptography", "pydantic", "ray",
            "vllm", "torch", "transformers", "pandas")
_SOURCES = ("/registry", "/serve_apps", "/spark_udf", "/sql")
sys.path[:] = [path for path in sys.path if not path.endswith(_SOURCES)]
class Lean:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in _LACKING:
            raise ModuleNotFoundError(f"{name} is not installed on this executor", name=name)
sys.meta_path.insert(0, Lean())
"""

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
import inferlake
from inferlake import functions as F

registry, archive, folder = sys.argv[1:]
builder = SparkSession.builder.master("local-cluster[1,2,512]")
for key, value in {
    "spark.submit.pyFiles": archive,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.sql.warehouse.dir": folder + "/warehouse",
    "spark.local.dir": folder + "/local",
}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
inferlake.enable(spark, registry=registry)

def where(batches):
    import inferlake.worker.runner as runner
    for _ in batches:
        pass
    yield runner.__file__

found = spark.sparkContext.parallelize([1], 1).mapPartitions(where).collect()[0]
frame = spark.range(8).select("id", sf.concat(sf.lit("row "), "id").alias("text"))
answered = frame.select("*", F.ai_function("shipped", "text").alias("out"))
routed = inferlake.route_rejected(answered, "out", {"type": "object"}, keys="id", run="zip")
in_sql = spark.sql("SELECT ai_function('shipped', 'in sql')").collect()[0][0]
print(json.dumps({"found": found, "rejected": routed.summary.rejected, "sql": in_sql}), flush=True)
spark.stop()
"""


@pytest.fixture(scope="module")
def wheel_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("zip")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    return wheel.rename(out / "inferlake.zip")


@pytest.mark.timeout(240)
def test_executors_with_the_base_dependencies_only(wheel_zip: Path, quiet_registry: str, tmp_path: Path) -> None:
    lean = tmp_path / "lean"
    lean.mkdir()
    (lean / "sitecustomize.py").write_text(LEAN)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{lean}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    with StubEndpoint() as stub, Client(quiet_registry) as client:
        client.execute(f"CREATE MODEL shipped LOCATION '{stub.url}'")
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, quiet_registry, str(wheel_zip), str(tmp_path)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYSPARK_PYTHON": str(python)},
        )
        assert done.returncode == 0, done.stderr[-4_000:]
        assert stub.calls == 9
    seen = json.loads(done.stdout.splitlines()[-1])
    assert "inferlake.zip" in seen["found"]
    assert (seen["rejected"], seen["sql"]) == (8, "in sql")


def test_the_zip_that_enable_ships_holds_what_a_worker_imports(tmp_path: Path) -> None:
    archive = make_zip(tmp_path)
    with zipfile.ZipFile(archive) as content:
        names = content.namelist()
    assert "inferlake/worker/runner.py" in names
    assert not any("/web/" in name or "/store/" in name or "/demo/" in name for name in names)
    program = f"""
import sys
{LEAN}
sys.path.insert(0, {str(archive)!r})
import inferlake.calling, inferlake.judging, inferlake.routing.called
print(inferlake.calling.__file__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(archive) in done.stdout
