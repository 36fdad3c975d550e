"""A timer that runs a little too early loses nobody: uvloop counts whole milliseconds, rounded up or down."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import uvloop

from inferlake.result import CallResult, ErrorCode
from inferlake.worker.breaker import Breaker, BreakerGate, Circuit, State
from inferlake.worker.calls import Call, CallFailed, Cause
from inferlake.worker.window import Aimd, Window

BETWEEN_S = 0.0004  # no whole millisecond: the timer is early by as much
BEHIND_S = 0.003  # a clock that is behind the loop's: for it every timer is early


def run(scenario: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(asyncio.wait_for(scenario, 5))


def test_a_pause_ends_for_those_who_wait_for_its_end() -> None:
    async def scenario() -> tuple[bool, bool]:
        loop = asyncio.get_running_loop()
        window = Window(Aimd(cap=4), loop)
        until = loop.time() + 0.03 + BETWEEN_S
        window.pause(until)
        entered = await window.enter(float("inf"))
        return entered, loop.time() >= until

    assert run(scenario()) == (True, True)


class Broken:
    """Fails until it is told to work."""

    def __init__(self) -> None:
        self.works = False

    async def send(self, call: Call) -> CallResult:
        if not self.works:
            raise CallFailed(ErrorCode.NETWORK, "no connection", Cause.FAULT)
        return CallResult("done")


def test_a_broken_address_is_probed_for_those_who_wait_for_it() -> None:
    async def scenario() -> str | None:
        loop = asyncio.get_running_loop()
        window = Window(Aimd(cap=4), loop)

        def clock() -> float:
            return loop.time() - BEHIND_S

        breaker, inner = Breaker(), Broken()
        circuit = Circuit(breaker, clock)
        gate = BreakerGate(inner, circuit, 30.0, clock)

        def call() -> Call:
            assert window.try_enter()
            return Call(b"k", b"{}", "id", 30.0, window, placed=True)

        for _ in range(5):
            failing = call()
            assert await asyncio.gather(gate.send(failing), return_exceptions=True)
            failing.leave()
        assert breaker.state is State.OPEN
        breaker.open_until = clock() + 0.03
        circuit.opened()
        inner.works = True
        waiting = call()
        answered = await gate.send(waiting)
        waiting.leave()
        return answered.response

    assert run(scenario()) == "done"
