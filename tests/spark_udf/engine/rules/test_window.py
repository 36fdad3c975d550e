"""How the number of calls in flight grows and shrinks."""

from __future__ import annotations

import asyncio

from inferlake.worker.window import Aimd, Window


def test_it_doubles_per_window_until_the_cap() -> None:
    rule = Aimd(cap=512)
    limits = [rule.limit]
    for _ in range(8):
        for _ in range(rule.limit):
            rule.success(rule.limit)
        limits.append(rule.limit)
    assert limits == [8, 16, 32, 64, 128, 256, 512, 512, 512]


def test_after_a_loss_it_grows_by_one_per_window() -> None:
    rule = Aimd(cap=512)
    for _ in range(92):
        rule.success(512)
    assert rule.limit == 100
    rule.loss(sent=0.0, now=1.0)
    assert rule.limit == 70
    for _ in range(71):  # a few more than 70, since the limit grows meanwhile
        rule.success(70)
    assert rule.limit == 71


def test_losses_of_one_window_shrink_it_once() -> None:
    rule = Aimd(cap=100, start=100)
    for _ in range(50):
        rule.loss(sent=0.5, now=1.0)
    assert rule.limit == 70
    rule.loss(sent=1.5, now=2.0)
    assert rule.limit == 49


def test_it_never_falls_below_one_nor_grows_unused() -> None:
    rule = Aimd(cap=8)
    for moment in range(1, 50):
        rule.loss(sent=float(moment), now=float(moment))
    assert rule.limit == 1
    rule = Aimd(cap=512)
    for _ in range(1_000):
        rule.success(in_use=3)
    assert rule.limit == 8


def test_who_was_here_before_gets_the_next_place() -> None:
    async def scenario() -> list[str]:
        window = Window(Aimd(cap=1), asyncio.get_running_loop())
        order = []
        assert window.try_enter()
        back = asyncio.ensure_future(window.enter(float("inf")))
        await asyncio.sleep(0)
        window.leave()
        order.append("new" if window.try_enter() else "nobody new")
        order.append("back" if await back else "lost")
        return order

    assert asyncio.run(scenario()) == ["nobody new", "back"]


def test_waiting_for_a_place_ends_at_the_deadline_and_leaves_nothing_behind() -> None:
    async def scenario() -> tuple[bool, int]:
        loop = asyncio.get_running_loop()
        window = Window(Aimd(cap=1), loop)
        assert window.try_enter()
        entered = await window.enter(loop.time() + 0.02)
        window.leave()
        return entered, window.in_use

    assert asyncio.run(scenario()) == (False, 0)


def test_a_cancelled_wait_gives_its_place_back() -> None:
    async def scenario() -> int:
        window = Window(Aimd(cap=1), asyncio.get_running_loop())
        assert window.try_enter()
        waiting = asyncio.ensure_future(window.enter(float("inf")))
        await asyncio.sleep(0)
        window.leave()  # grants the place ...
        waiting.cancel()  # ... to a task that will not use it
        await asyncio.wait([waiting])
        return window.in_use

    assert asyncio.run(scenario()) == 0


def test_a_place_is_handed_on_unless_somebody_waits_or_the_limit_has_shrunk_or_there_is_a_pause() -> None:
    async def scenario() -> list[bool]:
        loop = asyncio.get_running_loop()
        window = Window(Aimd(cap=2), loop)
        assert window.try_enter() and window.try_enter()
        handed_on = [window.may_hand_on()]
        waiting = asyncio.ensure_future(window.enter(float("inf")))
        await asyncio.sleep(0)
        handed_on.append(window.may_hand_on())
        waiting.cancel()
        await asyncio.wait([waiting])
        handed_on.append(window.may_hand_on())
        window.rule.loss(sent=0.0, now=1.0)
        handed_on.append(window.may_hand_on())
        window.leave()
        handed_on.append(window.may_hand_on())
        window.pause(loop.time() + 60.0)
        handed_on.append(window.may_hand_on())
        return handed_on

    assert asyncio.run(scenario()) == [True, False, True, False, True, False]


def test_a_pause_stops_everybody_and_is_never_shortened() -> None:
    async def scenario() -> tuple[bool, bool, float]:
        loop = asyncio.get_running_loop()
        window = Window(Aimd(cap=4), loop)
        began = loop.time()
        window.pause(began + 0.06)
        window.pause(began + 0.01)
        during = window.try_enter()
        entered = await window.enter(float("inf"))
        return during, entered, loop.time() - began

    during, entered, waited = asyncio.run(scenario())
    assert (during, entered) == (False, True)
    assert waited >= 0.06
