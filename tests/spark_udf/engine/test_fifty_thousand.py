"""Fifty thousand rows in eight tasks, each row with a fate of its own: every answer comes back in its own row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from pyspark.sql import functions as sf
from spark_fixtures import Lake

from inferlake import functions as F
from inferlake.testing import Received, Reply, chat, error

ROWS = 50_000
TASKS = 8
SEED = 20_240_601


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to a row: the answers that its attempts get in turn, and the error that it ends with."""

    answers: tuple[Reply, ...]
    error_code: str | None = None
    http_status: int = 200


KINDS: dict[str, int] = {
    "good": 840,
    "throttled": 10,
    "broken": 20,
    "overloaded": 10,
    "gave up": 10,
    "refused": 30,
    "empty": 30,
    "error member": 20,
    "cut off": 30,
}


def fate_of(row: int) -> Fate:
    """Return a row's fate, the same one each time; in a hundred rows sixteen do not have it easy."""
    random = Random(SEED * ROWS + row)
    (kind,) = random.choices(list(KINDS), list(KINDS.values()))
    fate = _fate(kind, f"answer to {row}")
    return replace(fate, answers=tuple(replace(answer, delay_s=_delay(random)) for answer in fate.answers))


def _fate(kind: str, text: str) -> Fate:
    match kind:
        case "good":
            return Fate((chat(text),))
        case "throttled":
            return Fate((error(429, headers={"retry-after": "0.02"}), chat(text)))
        case "broken":
            return Fate((error(500), chat(text)))
        case "overloaded":
            return Fate((error(503), chat(text)))
        case "gave up":
            return Fate((chat(text, error={"message": "broke", "type": "server_error"}), chat(text)))
        case "refused":
            return Fate((error(400),), "bad_request", 400)
        case "empty":
            return Fate((chat(""),), "empty")
        case "error member":
            return Fate((chat(text, error={"message": "no", "type": "invalid_request_error"}),), "bad_request")
        case _:
            return Fate((chat(text, finish_reason="length"),), "truncated")


def _delay(random: Random) -> float:
    """Return seconds: mostly none or few milliseconds, and now and then so long that others overtake."""
    return random.choices((0.0, random.uniform(0.001, 0.02), random.uniform(0.1, 0.5)), (50, 49, 1))[0]


class Endpoint:
    """Answers a row's attempts by its fate and counts them. What is asked beyond that is a server error."""

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()

    def __call__(self, received: Received) -> Reply:
        row = int(received.prompt.removeprefix("row "))
        attempt = self.asked[row]
        self.asked[row] += 1
        answers = fate_of(row).answers
        return answers[attempt] if attempt < len(answers) else error(500)


def expected(row: int) -> dict[str, Any]:
    """Return what a row should come back with."""
    fate = fate_of(row)
    return {
        "id": row,
        "response": None if fate.error_code else f"answer to {row}",
        "error_code": fate.error_code,
        "http_status": fate.http_status,
        "attempts": len(fate.answers),
        "from_cache": False,
    }


@pytest.mark.timeout(240)
def test_every_answer_comes_back_in_its_own_row(lake: Lake) -> None:
    endpoint = Endpoint()
    lake.stub.script = endpoint
    asked = F.ai_function(lake.model, "text", returns="struct", timeout_ms=180_000).alias("r")
    rows = lake.spark.range(ROWS).repartition(TASKS).select("id", sf.format_string("row %d", "id").alias("text"))
    answered = rows.select("id", sf.spark_partition_id().alias("task"), asked).select("task", "id", *OUTCOME).toArrow()
    tasks = Counter(answered.column("task").to_pylist())
    assert len(tasks) == TASKS
    assert min(tasks.values()) > ROWS // TASKS // 2
    results = sorted(answered.drop_columns("task").to_pylist(), key=lambda result: result["id"])
    wanted = [expected(row) for row in range(ROWS)]
    assert [pair for pair in zip(results, wanted, strict=True) if pair[0] != pair[1]] == []
    assert endpoint.asked == {row["id"]: row["attempts"] for row in wanted}
    assert lake.stub.calls == sum(row["attempts"] for row in wanted)


OUTCOME = ("r.response", "r.error_code", "r.http_status", "r.attempts", "r.from_cache")
