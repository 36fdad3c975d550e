"""What the demo looks like: headings, statements as one would type them, progress that also works in a log file.

On a terminal the long parts move; anywhere else they are plain lines, a few a minute, so that a log of a build says the
same without control characters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.rule import Rule
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

_QUIET_SECONDS: Final = 10.0  # between two plain lines about the same long part
_WIDEST: Final = 120  # longer lines are hard to read


@dataclass(slots=True)
class Waiting:
    """Parts that start at the same time, each with what it said when it was ready."""

    names: Sequence[str]
    started: float = field(default_factory=time.monotonic)
    spinner: Spinner = field(default_factory=lambda: Spinner("dots", style="cyan"))
    ready: dict[str, tuple[float, str]] = field(default_factory=dict)

    def arrived(self, name: str, detail: str) -> float:
        """Note that a part is ready and return the seconds it took."""
        seconds = time.monotonic() - self.started
        self.ready[name] = (seconds, detail)
        return seconds


class Screen:
    """One console, and the few forms that the demo uses on it."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.doing = "starting"  # what an error would have interrupted
        if console.width > _WIDEST:
            console.width = _WIDEST

    def title(self, text: str, below: str) -> None:
        """Open the show."""
        self.console.print()
        self.show(Group(Text(text, "bold cyan"), Text(below, "dim"), Text()))

    def heading(self, number: int, text: str) -> None:
        """Begin a part."""
        self.doing = f"part {number}, {text[:1].lower()}{text[1:]}"
        self.console.print()
        title = Text.assemble((f"{number} ", "bold cyan"), (text, "bold"))
        self.console.print(Rule(title, align="left", style="cyan"))

    def statement(self, text: str, language: str = "sql") -> None:
        """Show a statement as one would type it."""
        code = Syntax(text, language, theme="ansi_dark", background_color="default", word_wrap=True)
        self.show(code)

    def answer(self, text: str) -> None:
        """Show what came back."""
        self.console.print(_hung("→", "green", Text(text)))

    def say(self, text: str) -> None:
        """Say a sentence."""
        self.show(Text.from_markup(text))

    def show(self, what: RenderableType) -> None:
        """Show anything two columns in."""
        self.console.print(Padding(what, (0, 0, 0, 2), expand=False))

    def stopping(self, name: str) -> None:
        """Say what is being ended."""
        self.show(Text(f"stopping the {name} …", "dim"))

    def stopped(self, folder: Path) -> None:
        """Say that everything has ended, and where the traces are."""
        self.show(Text(f"stopped; logs and tables are in {_near(folder)}\n", "dim"))

    def claim(self, sentence: str, *, holds: bool) -> None:
        """Show a sentence that was checked, and whether it is true."""
        mark, style = ("✓", "bold green") if holds else ("✗", "bold red")
        self.console.print(_hung(mark, style, Text(sentence)))

    def warn(self, text: str) -> None:
        """Say something that the reader must not miss."""
        self.console.print(_hung("!", "bold yellow", Text(text, "yellow")))

    def card(self, title: str, lines: Sequence[tuple[str, str]]) -> None:
        """Show names with their values in a frame."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in lines:
            grid.add_row(name, value)
        self.console.print(
            Padding(Panel(grid, title=title, title_align="left", border_style="cyan", expand=False), 1, expand=False)
        )

    @contextmanager
    def waiting(self, names: Sequence[str]) -> Iterator[Callable[[str, str], None]]:
        """Show parts that start at the same time; the block calls ``ready(name, detail)``, from any thread."""
        state = Waiting(names)
        if self.console.is_terminal:
            with Live(get_renderable=lambda: _moving(state), console=self.console, refresh_per_second=8):
                yield lambda name, detail: _ignore(state.arrived(name, detail))
        else:
            self.say(f"starting: {', '.join(names)}")

            def arrived(name: str, detail: str) -> None:
                self.say(f"ready after {state.arrived(name, detail):.1f} s: {name} · {detail}")

            yield arrived

    @contextmanager
    def counting(self, title: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show how far something is; the block calls ``at(done)`` as often as it likes."""
        if self.console.is_terminal:
            with Progress(
                TextColumn(" "),
                SpinnerColumn(style="cyan"),
                TextColumn("{task.description}"),
                BarColumn(complete_style="cyan", finished_style="green"),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=self.console,
            ) as bar:
                task = bar.add_task(title, total=total)
                yield lambda done: bar.update(task, completed=min(done, total))
        else:
            yield _PlainCount(self, title, total).at


class _PlainCount:
    """Progress as lines: the first at once, then one each ten seconds, and one when it is complete."""

    def __init__(self, screen: Screen, title: str, total: int) -> None:
        self._screen, self._title, self._total = screen, title, total
        self._started = self._said = time.monotonic()
        self._complete = False
        screen.say(f"{title}: 0 of {total}")

    def at(self, done: int) -> None:
        now = time.monotonic()
        complete = done >= self._total
        if complete > self._complete or now - self._said >= _QUIET_SECONDS:
            self._said, self._complete = now, complete
            self._screen.say(f"{self._title}: {min(done, self._total)} of {self._total}, {now - self._started:.0f} s")


def _moving(state: Waiting) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    for width in (2, 1, None, None):
        grid.add_column(width=width)
    grid.add_column(justify="right")
    for name in state.names:
        if name in state.ready:
            seconds, detail = state.ready[name]
            grid.add_row("", Text("✓", "bold green"), name, Text(detail, "dim"), Text(f"{seconds:.1f} s", "dim"))
        else:
            seconds = time.monotonic() - state.started
            grid.add_row("", state.spinner, name, Text("starting …", "dim"), f"{seconds:.0f} s")
    return Group(grid)


def _hung(mark: str, style: str, text: Text) -> RenderableType:
    """Return a text that hangs behind its mark, also where it takes several lines."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=3, justify="right")
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, style), text)
    return grid


def _near(path: Path) -> str:
    """Return a path as it is typed from here, where that is shorter."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _ignore(_: object) -> None:
    return None
