"""What the article compares with: Ray tasks of 64 rows with a hand-written requests loop. Prints one line of JSON.

    ray_tasks.py --rows 6400 --url URL

A task asks for a sixteenth of a core, since it mostly waits: 32 tasks run at once on two cores. With Ray's default of
one core a task it would be sixteen times slower.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Final

_ROWS_A_TASK: Final = 64
_CORES_A_TASK: Final = 1 / 16


def main() -> None:
    """Run the tasks and print the seconds from the first to the last."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--url", required=True)
    options = parser.parse_args()
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")

    @ray.remote(num_cpus=_CORES_A_TASK)
    def ask(url: str, texts: list[str]) -> list[str]:
        import requests

        with requests.Session() as session:
            answers = []
            for text in texts:
                body = {"model": "m", "messages": [{"role": "user", "content": text}], "temperature": 0}
                reply = session.post(url, json=body, timeout=30)
                reply.raise_for_status()
                answers.append(reply.json()["choices"][0]["message"]["content"])
            return answers

    def run(first: int, count: int) -> int:
        rows = [f"user {at} opened a plain page, error 500, left" for at in range(first, first + count)]
        tasks = [ask.remote(options.url, rows[at : at + _ROWS_A_TASK]) for at in range(0, count, _ROWS_A_TASK)]
        return sum(len(answers) for answers in ray.get(tasks))

    try:
        run(0, 32 * _ROWS_A_TASK)  # starts the worker processes, which the others have running as well
        began = time.monotonic()
        answered = run(10_000_000, options.rows)
        seconds = time.monotonic() - began
    finally:
        ray.shutdown()
    assert answered == options.rows, answered
    print(json.dumps({"seconds": seconds}))  # noqa: T201


if __name__ == "__main__":
    main()
