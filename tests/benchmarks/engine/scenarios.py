"""The scenarios: each runs the product, and a peer where there is one, in one go, and gives lines of the table."""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench import Bench, finish, measure, start
from figure import Figure

MS: Final = 50  # of the endpoint
_ABOVE: Final = 40_000  # requests per second: a limit that is kept and not reached, twice what is called


def throughput(on: Bench, out: Path) -> Iterator[Figure]:
    """The whole job on 100,000 distinct rows against a bare loop, in turns, and against what people use."""
    count = 100_000
    limited, unlimited, bare = [], [], []
    for _ in range(3):
        bare.append(count / _peer(on, "bare", count, 512))
        limited.append(count / _route(on, count, qps_limit=_ABOVE))
        unlimited.append(count / _route(on, count))
    rates = {
        "Inferlake": statistics.median(unlimited),
        f"Inferlake under qps.limit {_ABOVE:,}": statistics.median(limited),
        "bare pyreqwest loop": statistics.median(bare),
    }
    for ours, named in ((limited, f", qps.limit {_ABOVE:,}"), (unlimited, ", no qps.limit")):
        ratios = sorted(mine / theirs for mine, theirs in zip(ours, bare, strict=True))
        yield Figure(
            f"100,000 distinct rows called, checked, routed and written{named}",
            "≥ 0.85 of a bare pyreqwest loop's rows/s; goal 9.0 s",
            f"{ratios[1]:.2f} ({ratios[0]:.2f} to {ratios[2]:.2f}); {count / statistics.median(ours):.1f} s",
            ratios[1] >= 0.85,
            rates,
        )
    for kind, rows, in_flight, least, shown in (
        ("openai", 10_000, 256, 12.0, "openai AsyncOpenAI in a pandas UDF"),
        ("aiohttp", 20_000, 256, 1.8, "aiohttp and gather in a pandas UDF"),
        ("requests", 10_000, 64, 0.0, "requests in 64 threads a task"),
        ("no call", 100_000, 1, 0.0, "Spark alone, no call"),
    ):
        rate = rows / _peer(on, kind, rows, in_flight)
        times = rates["Inferlake"] / rate
        yield Figure(
            f"the same, against {shown}",
            f"≥ {least:g} times the rows/s" if least else "for comparison",
            f"{times:.1f} times ({rate:,.0f} rows/s)",
            times >= least,
            {shown: rate},
        )


def ray_tasks(on: Bench, out: Path) -> Iterator[Figure]:
    """The article's comparison, on the same number of rows."""
    count = 12_800
    theirs = measure("ray_tasks.py", rows=count, url=on.endpoint.url(MS))["seconds"]
    ours = _route(on, count, qps_limit=_ABOVE)
    yield Figure(
        f"Ray tasks of 64 rows with requests, {count:,} rows",
        "≤ 0.4 of their time",
        f"{ours / theirs:.2f} ({ours:.1f} s against {theirs:.1f} s)",
        ours / theirs <= 0.4,
        {"Ray tasks with requests": count / theirs},
    )


def repeated(on: Bench, out: Path) -> Iterator[Figure]:
    """Rows of which nine in ten repeat others."""
    count = 100_000
    distinct = _route(on, count)
    before = on.endpoint.served().all
    seconds = _route(on, count, distinct=count // 10)
    calls = on.endpoint.served().all - before - 4  # four rows warm the workers up
    yield Figure(
        "100,000 rows of which 90 % repeat",
        "≤ 10,000 calls, ≥ 5 times faster than distinct ones",
        f"{calls:,} calls, {distinct / seconds:.1f} times ({seconds:.1f} s against {distinct:.1f} s)",
        calls <= count // 10 and distinct / seconds >= 5,
        {"Inferlake, 90 % repeat": count / seconds},
    )


def stragglers(on: Bench, out: Path) -> Iterator[Figure]:
    """One call in a hundred takes a hundred times longer."""
    count, places = 20_000, 64
    before = on.endpoint.served()
    seconds = _route(on, count, url=on.endpoint.url(MS, tail=100), concurrency_per_worker=places)
    after = on.endpoint.served()
    slow = after.slow - before.slow
    ideal = (count - slow + 100 * slow) * MS / 1_000 / (2 * places)
    yield Figure(
        f"1 % of the calls take 100 times longer, 20,000 rows, {places} in flight a task",
        "wall ≤ 2 times the ideal",
        f"{seconds / ideal:.2f} times ({seconds:.1f} s; ideal {ideal:.1f} s)",
        seconds <= 2 * ideal,
    )


def paid_once(on: Bench, out: Path) -> Iterator[Figure]:
    """Queries that evaluate the call more than once."""
    count = 2_000
    model = on.model(on.endpoint.url(MS))
    found = measure(
        "spark_job.py", "queries", model=model, registry=on.registry, rows=count, origin=on.endpoint.origin
    )["calls"]
    for query, calls in found.items():
        yield Figure(query, f"{count:,} calls for {count:,} distinct rows", f"{calls:,} calls", calls == count)


def one_by_one(on: Bench, out: Path) -> Iterator[Figure]:
    """What the engine adds to a single call; under a limit it has to ask the registry for each send slot as well."""
    url = on.endpoint.url(5)
    for limited in (False, True):
        model = on.model(url, **({"qps_limit": _ABOVE} if limited else {}))
        found = measure("worker_job.py", "one-by-one", model=model, registry=on.registry, rows=1_000, url=url)
        added = [_percentile(found["engine_ms"], at) - _percentile(found["bare_ms"], at) for at in (50, 99)]
        yield Figure(
            "one call at a time against a bare client" + (", under a qps.limit" if limited else ""),
            "for comparison" if limited else "≤ 5 ms added at p50, ≤ 10 ms at p99",
            f"{added[0]:.1f} ms at p50, {added[1]:.1f} ms at p99",
            limited or (added[0] <= 5 and added[1] <= 10),
        )


def cpu(on: Bench, out: Path) -> Iterator[Figure]:
    """The engine's CPU a call, with store, limit and validation; beside it the profile of its loop."""
    settings = {"registry": on.registry, "rows": 50_000}
    model = on.model(on.endpoint.url(MS), qps_limit=_ABOVE)
    spent = min(measure("worker_job.py", "cpu", model=model, **settings)["cpu_ms"] for _ in range(3))
    measure("worker_job.py", "cpu", model=model, profile=out / "profile.txt", **settings)
    yield Figure(
        "engine CPU a call: store, limit, transport, validation",
        "≤ 0.12 ms",
        f"{spent:.3f} ms",
        spent <= 0.12,
    )


def limit(on: Bench, out: Path) -> Iterator[Figure]:
    """One limit over eight tasks of two jobs, each with a registry process of its own on one database."""
    qps, seconds = 500, 60
    model = on.model(on.endpoint.url(MS, times=True), qps_limit=qps)
    on.endpoint.take_times()
    rows = qps * (seconds + 12) // 2
    jobs = [
        start("spark_job.py", "route", model=model, registry=registry.url, rows=rows, tasks=4, distinct=rows)
        for registry in on.registries
    ]
    began = [finish(job)["began"] for job in jobs]
    times = sorted(on.endpoint.take_times())
    assert times, "the endpoint saw no call"
    window = max(began) + 2
    steady = sum(window <= at < window + seconds for at in times) / seconds
    worst = max(bisect.bisect_left(times, at + 1) - place for place, at in enumerate(times))
    yield Figure(
        "qps.limit 500, 8 tasks, two registry processes, 60 s",
        "mean ≥ 490, worst sliding second ≤ 515",
        f"mean {steady:.0f}, worst second {worst}",
        steady >= 490 and worst <= 515,
        series={"calls a second under qps.limit 500": _per_second(times)},
    )


def memory(on: Bench, out: Path) -> Iterator[Figure]:
    """A million rows streamed through one worker."""
    count = 1_000_000
    model = on.model(on.endpoint.url(0))
    found = measure(
        "spark_job.py", "stream", model=model, registry=on.registry, rows=count, tasks=1, origin=on.endpoint.origin
    )
    samples: Sequence[tuple[int, float]] = [(rows, size) for rows, size in found["samples"]]
    top = max(size for _, size in samples)
    early = statistics.median(size for rows, size in samples if 150_000 <= rows <= 250_000)
    late = statistics.median(size for rows, size in samples if rows >= 900_000)
    yield Figure(
        "1,000,000 rows streamed through one worker",
        "< 300 MB anonymous; no growth from 200,000 rows on (5 %)",
        f"at most {top:.0f} MB; {early:.0f} MB at 200,000 rows, {late:.0f} MB at the end; "
        f"{count / found['seconds']:,.0f} rows/s",
        top < 300 and late <= early * 1.05,
        series={"anonymous memory of the worker, MB": [(rows, size) for rows, size in samples]},
    )


SCENARIOS: Final[Mapping[str, Callable[[Bench, Path], Iterator[Figure]]]] = {
    "throughput": throughput,
    "ray": ray_tasks,
    "repeated": repeated,
    "stragglers": stragglers,
    "paid-once": paid_once,
    "one-by-one": one_by_one,
    "cpu": cpu,
    "limit": limit,
    "memory": memory,
}


def _peer(on: Bench, kind: str, rows: int, in_flight: int) -> float:
    seconds = measure("spark_job.py", "peer", kind=kind, rows=rows, in_flight=in_flight, url=on.endpoint.url(MS))[
        "seconds"
    ]
    return float(seconds)


def _route(on: Bench, rows: int, *, distinct: int | None = None, url: str | None = None, **properties: object) -> float:
    model = on.model(url or on.endpoint.url(MS), **properties)
    found = measure("spark_job.py", "route", model=model, registry=on.registry, rows=rows, distinct=distinct or rows)
    return float(found["seconds"])


def _percentile(values: Sequence[float], at: int) -> float:
    return statistics.quantiles(values, n=100)[at - 1]


def _per_second(times: Sequence[float]) -> list[tuple[float, float]]:
    first = times[0]
    counts: dict[int, int] = {}
    for at in times:
        counts[int(at - first)] = counts.get(int(at - first), 0) + 1
    return [(float(second), float(calls)) for second, calls in sorted(counts.items())]
