"""The ordered pump: rows in, results out in the same order, as many calls in flight as the windows allow.

It lives on the engine's loop. Input waits as Arrow arrays and becomes requests piece by piece, shortly before they
are sent, so a long look-ahead costs little memory. Calls that wait (for a retry, for another worker's answer) hold no
place, so the window stays full of calls that are really in flight.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from inferlake.result import CallResult
from inferlake.worker.calls import Call, CallFailed
from inferlake.worker.rows import Batch, Lane, Row, pieces

PIECE: Final = 128  # rows turned into requests at once: about a millisecond of the loop's time
LOOK_AHEAD: Final = 64  # rows ahead of the oldest unfinished one, in units of the calls in flight
LOOK_AHEAD_LEAST: Final = 2_048
PARKED_MOST: Final = 8_192  # started calls that only wait; each costs about 4 kB
BYTES_MOST: Final = 64 << 20  # of input and answers held at once
OUTPUT_ROWS: Final = 4_096
OUTPUT_AGE_S: Final = 0.2


class Hungry:
    """The pump can take another batch."""


class Done:
    """All results are out."""


Event = Hungry | Done | BaseException | list[CallResult]


class Plan(Protocol):
    """What a task's rows are, and what becomes of their calls."""

    def rows(self, piece: Batch) -> list[Row]:
        """Return the rows of a piece of input, each with its result, its call, or an equal row before it."""
        ...

    def failed(self, failure: CallFailed, row: Row) -> CallResult:
        """Return the result of a call that has failed for good."""
        ...

    def ended(self, call: Call) -> None:
        """Learn that a call's row has its result."""

    def flush(self) -> None:
        """Keep every answer so far."""

    def abandon(self) -> None:
        """Learn that calls which have not begun will not be made."""


class Pump:
    """Drives the rows of one task. All methods run on the loop; ``emit`` may be called from it at any time."""

    def __init__(self, plan: Plan, emit: Callable[[Event], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._plan = plan
        self._emit = emit
        self._input: deque[tuple[Batch, int]] = deque()  # pieces not yet prepared, each with its share of the bytes
        self._input_rows = 0
        self._input_ended = False
        self._order: deque[Row] = deque()  # prepared and not yet put out
        self._ready: dict[int, deque[Row]] = {}  # by lane: prepared and not yet started
        self._lanes: dict[int, Lane] = {}
        self._running: dict[asyncio.Task[None], Call] = {}
        self._output: list[CallResult] = []
        self._output_timer: asyncio.TimerHandle | None = None
        self._bytes = 0
        self._asked = False
        self._scheduled = False
        self._over = False

    def start(self) -> None:
        """Ask for the first batch."""
        self._schedule()

    def offer(self, batch: Batch) -> None:
        """Take a batch that was asked for."""
        self._asked = False
        rows, size = len(batch[0]), sum(column.nbytes for column in batch)
        for piece in pieces(batch, PIECE):
            share = size * len(piece[0]) // rows  # Arrow would walk all offsets of a piece to tell its own size
            self._input.append((piece, share))
            self._bytes += share
        self._input_rows += rows
        self._schedule()

    def end_input(self) -> None:
        """Learn that there will be no further batch."""
        self._asked = False
        self._input_ended = True
        self._schedule()

    async def cancelled(self, wait_s: float) -> None:
        """Abandon everything, and give calls in flight this long to close their connections."""
        running = tuple(self._running)
        self.cancel()
        if running:
            await asyncio.wait(running, timeout=wait_s)

    def cancel(self) -> None:
        """Abandon everything; nothing is emitted any more."""
        self._over = True
        for task in self._running:
            task.cancel()
        for lane in self._lanes.values():
            lane.window.on_room.discard(self._schedule)
        for ready in self._ready.values():
            ready.clear()
        self._plan.abandon()
        self._set_output_timer(None)

    def _schedule(self) -> None:
        """Advance once at the end of this turn of the loop, however many calls ended in it."""
        if not self._scheduled and not self._over:
            self._scheduled = True
            self._loop.call_soon(self._advance)

    def _advance(self) -> None:
        self._scheduled = False
        if self._over:
            return
        try:
            self._collect()
            self._launch()
            self._collect()  # rows that need no call are finished as soon as they are prepared
            self._ask_or_end()
        except Exception as error:  # noqa: BLE001 - a mistake of ours, or bad input: the task must hear of it
            self._stop(error)

    def _launch(self) -> None:
        """Start what is ready, and then prepare one piece: ten thousand rows with answers must not hold up the loop."""
        self._start()
        if self._input and not any(self._ready.values()) and self._may_prepare():
            self._prepare_piece()
            self._start()
            self._schedule()

    def _start(self) -> None:
        for key, ready in self._ready.items():
            self._start_ready(self._lanes[key], ready)

    def _start_ready(self, lane: Lane, ready: deque[Row]) -> None:
        room = self._running_most() - len(self._running)
        for _ in range(min(room, len(ready))):
            if not lane.window.try_enter():
                return
            row = ready.popleft()
            call = _placed(row)
            task = self._loop.create_task(self._work(lane, ready, row))
            self._running[task] = call
            task.add_done_callback(self._ended)

    def _may_prepare(self) -> bool:
        return len(self._order) < self._look_ahead() and len(self._running) < self._running_most()

    def _look_ahead(self) -> int:
        return max(LOOK_AHEAD_LEAST, LOOK_AHEAD * self._places())

    def _running_most(self) -> int:
        return PARKED_MOST + self._places()

    def _prepare_piece(self) -> None:
        piece, share = self._input.popleft()
        self._input_rows -= len(piece[0])
        self._bytes -= share
        for row in self._plan.rows(piece):
            self._order.append(row)
            if row.lane is None:
                continue
            key = id(row.lane)
            if key not in self._lanes:
                self._lanes[key] = row.lane
                self._ready[key] = deque()
                row.lane.window.on_room.add(self._schedule)
            self._ready[key].append(row)

    async def _work(self, lane: Lane, ready: deque[Row], row: Row) -> None:
        """Call for a row and go on with the next one for as long as there is a place: a task a place, not a row."""
        send, window, task = lane.sender.send, lane.window, asyncio.current_task()
        assert task is not None
        while True:
            call = row.call
            assert call is not None
            try:
                row.result = await send(call)
            except CallFailed as failed:
                row.result = self._plan.failed(failed, row)
                # Its frames hold the request and the client, and it is in them: they would stay until cycles are
                # collected.
                failed.__traceback__ = failed.__context__ = None
            row.call = None
            self._plan.ended(call)
            self._schedule()
            # What comes in during this turn is stored at its end: before a place is used again, so that a killed worker
            # has lost what was in flight and no more.
            await asyncio.sleep(0)
            if not ready or not (window.may_hand_on() if call.placed else window.try_enter()):
                return
            row = ready.popleft()
            call.placed = False
            self._running[task] = _placed(row)

    def _ended(self, task: asyncio.Task[None]) -> None:
        # Here and not in the task: one that is cancelled before its first step runs none of its own code.
        self._running.pop(task).leave()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._stop(error)

    def _collect(self) -> None:
        """Move the finished prefix into the output; put that out when it is full or nothing is left to wait for."""
        order, output = self._order, self._output
        while order and (result := order[0].settled()) is not None:
            order.popleft()
            output.append(result)
            if len(output) >= OUTPUT_ROWS:
                self._put_out()
                output = self._output
        if output and not order and not self._input:
            self._put_out()
        elif output and self._output_timer is None:
            self._output_timer = self._loop.call_later(OUTPUT_AGE_S, self._put_out_in_time)

    def _put_out(self) -> None:
        self._set_output_timer(None)
        if self._output and not self._over:
            self._plan.flush()
            self._emit(self._output)
            self._output = []

    def _put_out_in_time(self) -> None:
        try:
            self._put_out()
        except Exception as error:  # noqa: BLE001 - the disk of the store, say: the task must hear of it
            self._stop(error)

    def _set_output_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self._output_timer is not None:
            self._output_timer.cancel()
        self._output_timer = timer

    def _ask_or_end(self) -> None:
        if self._input_ended:
            if not self._input and not self._order:
                self.cancel()
                self._emit(Done())
        elif not self._asked and self._wants_input():
            self._asked = True
            self._emit(Hungry())

    def _wants_input(self) -> bool:
        wanted = max(2 * PIECE, self._places() * 2)
        return self._input_rows < wanted and self._bytes < BYTES_MOST and len(self._order) < self._look_ahead()

    def _places(self) -> int:
        return sum(lane.window.rule.limit for lane in self._lanes.values())

    def _stop(self, error: BaseException) -> None:
        if not self._over:
            try:
                self.cancel()
            finally:  # giving up claims needs the store, which may be what has failed
                self._emit(error)


def _placed(row: Row) -> Call:
    """Note that a row's call holds the place that has just been taken for it."""
    assert row.call is not None
    row.call.placed = True
    return row.call
