"""A driver that is killed half way and runs again with the same ``reuse`` pays for the rest and ends the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
import resume_program
from answers_by_row import calling, expected, said, without_source
from demo_process import MARK
from spark_cluster import kill_marked, left, program_environment, wait_until
from spark_fixtures import Lake

from inferlake.testing import chat

ROWS = 20_000
WORKERS = 2
IN_FLIGHT = 64  # at most, of each worker


def start_driver(lake: Lake, folder: Path, output: Path, mark: str) -> subprocess.Popen[bytes]:
    """Start a driver of its own process group; its Python workers make another one."""
    folder.mkdir()
    arguments = [lake.client.url, lake.model, str(ROWS), str(folder.parent / "reuse"), str(folder), str(output)]
    with (folder / "log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, resume_program.__file__, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**program_environment(folder), MARK: mark},
            start_new_session=True,
        )


@pytest.mark.timeout(300)
def test_a_driver_killed_at_half_and_run_again(lake: Lake, tmp_path: Path) -> None:
    lake.stub.script = lambda received: chat(received.prompt, delay_s=0.01)
    lake.client.execute(f"ALTER MODEL {lake.model} SET 'concurrency.per.worker'={IN_FLIGHT}")
    mark, output = uuid4().hex, tmp_path / "answers.json"
    try:
        killed = start_driver(lake, tmp_path / "killed", output, mark)
        wait_until(lambda: lake.stub.calls >= ROWS // 2, 120)
        os.killpg(killed.pid, signal.SIGKILL)  # Python and Java at once: nobody says goodbye to the workers
        killed.wait()
        assert not left(mark)  # they end by themselves
        assert not output.exists()
        paid = lake.stub.calls
        assert ROWS // 2 <= paid < ROWS

        again = start_driver(lake, tmp_path / "again", output, mark)
        assert again.wait(200) == 0, (tmp_path / "again" / "log").read_text()[-4_000:]
        assert not left(mark)
    finally:
        kill_marked(mark)
    resumed = json.loads(output.read_text())
    assert ROWS <= lake.stub.calls <= ROWS + WORKERS * IN_FLIGHT
    # Every answer of the killed job is used but those that were in flight, and each of those is paid once more.
    reused = sum(answer[-1] for answer in resumed)
    assert reused == ROWS - (lake.stub.calls - paid)
    assert paid - WORKERS * IN_FLIGHT <= reused <= paid

    undisturbed = said(calling(lake.spark, lake.model, ROWS, 4))
    assert without_source(resumed) == without_source(undisturbed) == expected(lake.model, ROWS)
    assert not any(answer[-1] for answer in undisturbed)
