"""Sixteen processes start at the same instant on a thousand chunks: each chunk runs exactly once."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from tests.acceptance.flow import Flow, finish, wait_until

PROCESSES = 16
CHUNKS = 1000

# A process that is ready to run, waits for the barrier, and only then becomes RunJob.
LAUNCHER = """
import os, sys, time
sys.argv[1:], place = sys.argv[2:], sys.argv[1]
from dataflow.cli.runjob import main
import dataflow.runjob.session
open(f"{place}/here.{os.getpid()}", "w").close()
while not os.path.exists(f"{place}/go"):
    time.sleep(0.001)
sys.exit(main())
"""


def test_sixteen_processes_on_a_barrier_run_each_of_a_thousand_chunks_exactly_once(flow: Flow) -> None:
    chunks = [f"shard-{number}" for number in range(CHUNKS)]
    flow.declare()
    flow.ready("bobin", *chunks)
    barrier = flow.path / "barrier"
    barrier.mkdir()
    (flow.path / "launcher.py").write_text(LAUNCHER)
    # O_APPEND and one short line: no shell, for the sake of speed.
    recorder = _make_recorder(flow)
    command = (
        sys.executable,
        "launcher.py",
        str(barrier),
        "--drain",
        "--quiet",
        "--job",
        "loadbob",
        str(recorder),
    )
    herd = [flow.project.start(*command, env=flow.env, start_new_session=True) for _ in range(PROCESSES)]
    flow.started.extend(herd)
    wait_until(lambda: len(list(barrier.iterdir())) == PROCESSES, limit_seconds=300)
    (barrier / "go").touch()
    assert [finish(process, timeout=300)[0] for process in herd] == [0] * PROCESSES

    recorded = flow.lines()
    assert Counter(recorded) == Counter(chunks)
    assert Counter(flow.outcomes()) == {"DONE": CHUNKS}
    assert set(flow.states().values()) == {"DONE"}
    assert flow.select("SELECT count(*), max(version) FROM chunk WHERE run_id IS NOT NULL") == [(CHUNKS, 1)]
    # Not one process did it all.
    assert len({run.pid for run in flow.runs()}) > 1


def _make_recorder(flow: Flow) -> Path:
    """The fastest child that records its dataid: a shell with builtins only."""
    return flow.script("record.sh", 'echo "$dataid" >> ran')
