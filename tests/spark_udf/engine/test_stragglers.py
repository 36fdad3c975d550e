"""A few calls that take a hundred times longer delay neither the others nor the whole by much."""

from __future__ import annotations

import random
import time

from engine_calls import answers, calling, model_at

from inferlake.testing import StubEndpoint, chat

ROWS = 20_000
IN_FLIGHT = 64
USUAL_S = 0.02
LONG_S = 2.0


def test_one_call_in_a_hundred_that_takes_a_hundred_times_longer_costs_at_most_twice_the_ideal(
    stub: StubEndpoint,
) -> None:
    dice = random.Random(11)
    rows = [f"row {number}" for number in range(ROWS)]
    long = set(dice.sample(rows, ROWS // 100))
    latencies = {row: LONG_S if row in long else USUAL_S for row in rows}
    stub.script = lambda received: chat(received.prompt, delay_s=latencies[received.prompt])
    began = time.monotonic()
    results = answers(calling(model_at(stub.url, concurrency_per_worker=IN_FLIGHT)), rows)
    took = time.monotonic() - began
    assert [result["response"] for result in results] == rows
    assert stub.calls == ROWS
    assert stub.peak_in_flight == IN_FLIGHT
    # 19,800 x 0.02 s + 200 x 2 s, 64 at a time: 12.4 s if there were always 64 in flight.
    ideal = sum(latencies.values()) / IN_FLIGHT
    assert took <= 2 * ideal, f"{took:.1f} s against {ideal:.1f} s"
