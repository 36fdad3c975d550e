"""Server time of the dashboard's pages with 1,000 models and 48 hours of probes, one a minute: 2.9 million samples.

Run it: ``python tests/benchmarks/dashboard_pages.py``; it prints a table. The budget is 300 ms a page.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fixtures"))

import click
import dashboard_data
from dashboard_fixtures import serve

PAGES = ("/", "/models", "/models?q=model_07", "/models?after=model_0499", "/models/model_0500", "/rejected", "/runs")
TIMES = 20


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as served:
        began = time.perf_counter()
        dashboard_data.seed_large(served.database, served.execute, datetime.now(UTC))
        click.echo(f"seeded in {time.perf_counter() - began:.0f} s")
        click.echo(f"{'page':28} {'median':>8} {'worst':>8} {'bytes':>9}")
        for path in PAGES:
            taken, size = [], 0
            for _ in range(TIMES):
                start = time.perf_counter()
                answer = served.get(path)
                taken.append((time.perf_counter() - start) * 1_000)
                answer.raise_for_status()
                size = len(answer.content)
            click.echo(f"{path:28} {statistics.median(taken):5.0f} ms {max(taken):5.0f} ms {size:9,}")


if __name__ == "__main__":
    main()
