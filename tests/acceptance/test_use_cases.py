"""The three use cases DataFlow was made for: one job, one command line, no flag of any kind."""

from __future__ import annotations

import subprocess

from tests.acceptance.flow import Flow, finish, wait_until

COMMAND = ("myETL.sh",)
"""What is typed after RunJob in all three."""

MY_ETL = """
[dataset.shards]
[dataset.loaded]
[job.myETL]
in = ["shards"]
out = ["loaded"]
"""

CHAIN = (
    MY_ETL
    + """
[dataset.reported]
[job.report]
in = ["loaded"]
out = ["reported"]
"""
)


def test_runjob_quits_until_data_is_ready_then_runs_once(flow: Flow) -> None:
    flow.declare(MY_ETL)
    flow.script("myETL.sh", 'echo "$dataid" >> ran; until test -e go; do sleep 0.01; done')

    not_ready = flow.runjob(*COMMAND)
    assert flow.lines() == []
    assert "no chunk of shards is ready" in not_ready.stderr

    flow.ready("shards", "2026-08-20")
    running = flow.start(*COMMAND)
    wait_until(lambda: flow.lines() == ["2026-08-20"])
    second = flow.runjob(*COMMAND)
    assert "RUNNING" in second.stderr
    (flow.path / "go").touch()
    assert finish(running)[0] == 0
    assert flow.status("loaded") == {"2026-08-20": "READY"}

    third = flow.runjob(*COMMAND)
    assert "READY" in third.stderr
    assert flow.lines() == ["2026-08-20"]
    assert flow.outcomes() == ["DONE"]


def test_catching_up_after_an_outage_is_the_same_command_repeated(flow: Flow) -> None:
    flow.declare(CHAIN)
    flow.script("myETL.sh")
    flow.script("report.sh", 'echo "$dataid" >> reported')
    days = [f"2026-08-{day:02d}" for day in range(16, 21)]
    flow.ready("shards", *reversed(days))

    flow.runjob("report.sh")
    assert flow.lines("reported") == []
    for done in range(1, len(days) + 1):
        flow.runjob(*COMMAND)
        assert flow.lines() == days[:done]
        if done % 2:
            flow.runjob("report.sh")
    while len(flow.lines("reported")) < len(days):
        before = len(flow.lines("reported"))
        flow.runjob("report.sh")
        assert len(flow.lines("reported")) == before + 1

    assert flow.lines("reported") == days
    flow.runjob(*COMMAND)
    flow.runjob("report.sh")
    assert flow.lines() == flow.lines("reported") == days
    assert set(flow.status("reported").values()) == {"READY"}


def test_a_migration_in_concurrent_streams_skips_nothing_and_repeats_nothing(flow: Flow) -> None:
    flow.declare(MY_ETL)
    flow.script("myETL.sh")
    shards = [f"shard-{number}" for number in range(1, 31)]
    flow.ready("shards", *shards)

    streams = [_start_stream(flow) for _ in range(4)]
    for process in streams:
        _, error = process.communicate(timeout=300)
        assert process.returncode == 0, error

    assert sorted(flow.lines()) == sorted(shards)
    assert set(flow.states("myETL").values()) == {"DONE"}
    assert flow.outcomes() == ["DONE"] * len(shards)


def _start_stream(flow: Flow) -> subprocess.Popen[str]:
    """The same invocation again and again until there is nothing left to do, as cron or a loop would."""
    command = " ".join(f"'{word}'" for word in flow.project.command("RunJob", *COMMAND))
    loop = f"until {command} 2>&1 | grep -q 'myETL: READY'; do :; done"
    process = flow.project.start(
        "/bin/sh", "-c", loop, env=flow.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    flow.started.append(process)
    return process
