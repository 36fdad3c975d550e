"""An endpoint that is down for a while, or for good: rows wait within their own time, and traffic is not multiplied."""

from __future__ import annotations

import threading
import time
from collections import Counter

from engine_calls import answers, calling, codes, model_at
from one_bad_row import ROWS, all_answered, failing_first

from inferlake.testing import Answer, Received, StubEndpoint, chat, echo, error

# Five faults open the breaker with at most eight calls in flight, each of the first four makes room for one more.
BEFORE_IT_OPENS = 8 + 4
MANY = [f"row {number}" for number in range(300)]


def test_a_storm_of_503_does_not_multiply_the_traffic(stub: StubEndpoint) -> None:
    # All rows are refused, and each could have four attempts: 1,200 calls. But the breaker opens, and the first probe
    # comes after the rows' time.
    stub.script = error(503)
    results = answers(calling(model_at(stub.url, timeout_ms=3_000), max_error_ratio=1.0), MANY)
    assert codes(results) == {"network": 300}
    assert all("HTTP 503" in result["error"] for result in results)
    assert 5 <= stub.calls <= BEFORE_IT_OPENS


def test_a_storm_of_503_that_passes_costs_the_calls_that_it_refused(stub: StubEndpoint) -> None:
    refused: list[str] = []

    def script(received: Received) -> Answer:
        if received.at < stub.requests[0].at + 1.0:
            refused.append(received.prompt)
            return error(503)
        return echo(received)

    stub.script = script
    results = answers(calling(stub.url), MANY)
    assert [result["response"] for result in results] == MANY
    assert 5 <= len(refused) <= BEFORE_IT_OPENS
    assert stub.calls == 300 + len(refused)
    tries = Counter(refused)
    assert [result["attempts"] for result in results] == [1 + tries[row] for row in MANY]


def test_load_that_is_shed_with_a_wait_is_no_outage(stub: StubEndpoint) -> None:
    hit = ROWS[:8]
    stub.script = failing_first(error(503, headers={"retry-after": "0.3"}), rows=hit)
    began = time.monotonic()
    results = answers(calling(stub.url), ROWS)
    all_answered(results)
    assert [result["attempts"] for result in results] == [2 if row in hit else 1 for row in ROWS]
    assert stub.calls == len(ROWS) + len(hit)
    assert 0.3 <= time.monotonic() - began < 4.0  # a breaker would stay open for five seconds


def test_rows_wait_for_an_endpoint_that_comes_back(stub: StubEndpoint) -> None:
    stub.shut()
    back = threading.Timer(1.0, stub.listen)
    back.start()
    results = answers(calling(stub.url), MANY)
    back.join()
    assert [result["response"] for result in results] == MANY
    assert stub.calls == 300


def test_an_endpoint_that_is_restarted_in_the_middle_costs_what_was_in_flight(stub: StubEndpoint) -> None:
    stub.script = lambda received: chat(received.prompt, delay_s=0.02)

    def restart() -> None:
        while stub.calls < 100:
            time.sleep(0.005)
        stub.shut()
        time.sleep(1.0)
        stub.listen()

    restarting = threading.Thread(target=restart)
    restarting.start()
    results = answers(calling(model_at(stub.url, concurrency_per_worker=8)), MANY)
    restarting.join()
    assert [result["response"] for result in results] == MANY
    seen = Counter(request.prompt for request in stub.requests)
    cut = [row for row, times in seen.items() if times == 2]
    assert set(seen) == set(MANY)
    assert 1 <= len(cut) <= 8
    assert stub.calls == 300 + len(cut)


def test_rows_of_an_endpoint_that_stays_away_fail_within_their_own_time(stub: StubEndpoint) -> None:
    stub.shut()
    began = time.monotonic()
    results = answers(calling(model_at(stub.url, timeout_ms=2_000), max_error_ratio=1.0), MANY)
    assert codes(results) == {"network": 300}
    assert all("refused" in result["error"] for result in results)
    assert time.monotonic() - began < 3.0
    assert stub.calls == 0
