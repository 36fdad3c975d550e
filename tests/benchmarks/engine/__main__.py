"""The call engine against what people use, in one run: ``inferlake bench`` or ``python tests/benchmarks/engine``.

Prints a table, and writes it with the plot and the profile below ``artifacts/bench``. It wants a quiet machine and
nginx with its Lua module (Debian: ``apt-get install nginx libnginx-mod-http-lua``).
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

import psutil
from rich.console import Console
from rich.markdown import Markdown

_HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE.parents[1] / "fixtures"))

from bench import bench  # noqa: E402
from figure import Figure  # noqa: E402
from plot import draw  # noqa: E402
from scenarios import SCENARIOS  # noqa: E402

_PACKAGES: Final = ("inferlake", "pyspark", "pyarrow", "pyreqwest", "lmdb", "aiohttp", "openai", "requests", "ray")


def main() -> int:
    """Run the scenarios; the status is 1 when a figure is not reached."""
    parser = argparse.ArgumentParser(prog="inferlake bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="a scenario; may be given several times")
    parser.add_argument("--out", type=Path, default=Path("artifacts/bench"))
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON document")
    options = parser.parse_args()
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=options.json)
    figures: list[Figure] = []
    with bench() as on:
        for name in options.only or SCENARIOS:
            with console.status(f"{name} …"):
                for figure in SCENARIOS[name](on, out):
                    figures.append(figure)
                    console.print(f"{'✓' if figure.met else '✗'} {figure.scenario}: {figure.measured}")
    table = as_markdown(figures)
    (out / "engine.md").write_text(table)
    draw(figures, out / "engine.png")
    console.print(Markdown(table))
    console.print(f"written to {out}: engine.md, engine.png" + ", profile.txt" * (out / "profile.txt").exists())
    if options.json:
        print(json.dumps([asdict(figure) for figure in figures]))  # noqa: T201
    return 0 if all(figure.met for figure in figures) else 1


def as_markdown(figures: list[Figure]) -> str:
    """Return the figures as a page."""
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {machine()}.",
        "",
        "| scenario | to reach | measured | |",
        "|---|---|---|---|",
        *(f"| {one.scenario} | {one.target} | {one.measured} | {'✓' if one.met else '✗'} |" for one in figures),
        "",
        "| rows/s, whole job | |",
        "|---|---|",
        *(
            f"| {who} | {rate:,.0f} |"
            for who, rate in {who: rate for one in figures for who, rate in one.rates.items()}.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def machine() -> str:
    """Return what it was measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    processor = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "?")
    memory = psutil.virtual_memory().total / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{psutil.cpu_count()} cores of {processor}, {memory:.0f} GiB, Python {platform.python_version()}, {packages}"
    )


if __name__ == "__main__":
    sys.exit(main())
