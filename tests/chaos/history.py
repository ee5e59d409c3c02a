"""What children record about themselves, and the checks that hold whatever was killed, stopped or cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.acceptance.flow import Flow

# Each run writes its beginning, a beat every few milliseconds while it lives, and its end.
BEATING = """
import os, random, sys, time
run, dataid = os.environ["DATAFLOW_RUN_ID"], os.environ["dataid"]
file = os.open("history", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def tell(what):
    os.write(file, f"{run} {dataid} {what} {time.clock_gettime_ns(time.CLOCK_BOOTTIME)}\\n".encode())
tell("start")
until = time.monotonic() + random.uniform(0.05, {longest})
while time.monotonic() < until:
    time.sleep(0.005)
    tell("beat")
tell("end")
"""


def list_events(flow: Flow, file: str = "history") -> list[tuple[int, str, str, int]]:
    """Run id, dataid, what and when; a line that a kill cut off is left out."""
    lines = [line.split(" ") for line in flow.lines(file)]
    return [(int(line[0]), line[1], line[2], int(line[3])) for line in lines if len(line) == 4 and line[3]]


def assert_no_two_runs_of_a_chunk_overlap(flow: Flow, file: str = "history") -> None:
    """The last sign of life of each run is older than the beginning of the next run of the same chunk."""
    spans: dict[tuple[str, int], list[int]] = {}
    for run_id, dataid, _, at in list_events(flow, file):
        spans.setdefault((dataid, run_id), []).append(at)
    runs = {run.run_id: run for run in flow.runs()}
    before: dict[str, tuple[int, int]] = {}
    for (dataid, run_id), times in sorted(spans.items()):
        if dataid in before:
            earlier, last_at = before[dataid]
            late_ms = (last_at - min(times)) / 1e6
            assert late_ms < 0, (f"one lived {late_ms} ms into the next", runs[earlier], runs[run_id])
        before[dataid] = run_id, max(times)


def assert_each_chunk_was_done_once(
    flow: Flow, dataids: Iterable[str], job: str = "loadbob", file: str = "history"
) -> None:
    """One accepted outcome and one version for every chunk, by a run that came to its end; none is left."""
    wanted = Counter(dataids)
    runs = flow.runs(job)
    done = [run for run in runs if run.outcome == "DONE"]
    assert Counter(run.dataid for run in done) == wanted
    assert not [run for run in runs if run.outcome == "RUNNING"]
    ended = {run_id for run_id, _, what, _ in list_events(flow, file) if what == "end"}
    assert {run.run_id for run in done} <= ended
    versions = flow.select(
        "SELECT max(c.version), count(*) FROM chunk c JOIN run r ON r.run_id = c.run_id "
        f"WHERE r.job = '{job}'"
    )
    assert versions == [(1, len(wanted))]
