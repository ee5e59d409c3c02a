"""Every command that prints a table, on terminals of 80 and 120 columns: no long line, no broken word."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.flow import Flow
from tests.project import Project

JOB = "load_customer_orders_into_the_warehouse"
INPUT = "customer_orders_of_all_european_markets"
OUTPUT = "customer_orders_cleaned_and_deduplicated"
SCHEDULED = "publish_hourly_revenue_report"
DECLARED = f"""
[dataset.{INPUT}]
grain = "hourly"
timezone = "Europe/London"
location = "data/incoming/{INPUT}/{{dataid}}.csv"
[dataset.{OUTPUT}]
grain = "hourly"
timezone = "Europe/London"
location = "data/outgoing/{OUTPUT}/{{dataid}}/{{run_id}}.csv"
format = "csv"
[job.{JOB}]
in = ["{INPUT}"]
out = ["{OUTPUT}"]
[job.{SCHEDULED}]
schedule = "@hourly"
"""
HOURS = [f"2026-03-29T{hour:02d}+01:00" for hour in range(2, 8)]
COMMANDS = (
    ("status",),
    ("status", "--all"),
    ("status", "--wide"),
    ("runs",),
    ("runs", "--wide"),
    ("journal",),
    ("journal", "--wide"),
    ("chunks", INPUT),
    ("chunks", OUTPUT),
    ("chunks", OUTPUT, "--wide"),
    ("dataset", "list"),
    ("dataset", "list", "--all"),
    ("dataset", "show", OUTPUT),
    ("job", "list"),
    ("job", "show", JOB),
    ("versions", OUTPUT, HOURS[0]),
    ("doctor",),
    ("doctor", "--wide"),
    ("why", JOB),
    ("why", JOB, HOURS[0]),
    ("why", JOB, HOURS[1]),
    ("why", JOB, HOURS[4]),
    ("why", SCHEDULED),
    ("sql", "select * from datastatus"),
    ("sql", "select * from run"),
    ("sql", "select * from run", "--wide"),
    ("db", "version"),
    ("--help",),
)
TIME = re.compile(r"\d\d:\d\d|\d{1,2}|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|20\d\d|[\d.]+[dhms]")
COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")
FOOTERS = (
    "Hidden columns: about took All of them: --wide or --json",
    "Hidden: 1 automatic calendar dataset. To list: --all",
)
FOOTER = {word for footer in FOOTERS for word in footer.split()}


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    """A project with work that is done, failed, held and lost; names have up to 40 characters."""
    path: Path = tmp_path_factory.mktemp("tables") / "project"
    home = path.parent / "home"
    path.mkdir()
    home.mkdir()
    flow = Flow(Project(path, home), f"sqlite:///{path / '.dataflow' / 'dataflow.db'}")
    flow.declare(DECLARED)
    flow.ready(INPUT, *HOURS)
    for hour in HOURS:
        folder = path / "data" / "incoming" / INPUT
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{hour}.csv").write_text("1\n")
    write = f'mkdir -p "$(dirname "${OUTPUT}_location")"; echo 1 > "${OUTPUT}_location"'
    script = flow.script(f"{JOB}.sh", f"{write}\ncase $dataid in *T03*) exit 3;; *T04*) sleep 600;; esac")
    flow.runjob(str(script))
    flow.runjob(str(script), code=3)
    lost = flow.start(str(script))
    wait_until(lambda: len(list((path / "data" / "outgoing" / OUTPUT).iterdir())) == 3)
    os.killpg(lost.pid, signal.SIGKILL)
    lost.wait()
    why = "waits until the auditors have signed the figures of the last quarter"
    flow.dataflow("hold", JOB, HOURS[4], "--why", why)
    flow.dataflow("withdraw", INPUT, HOURS[5], "--why", "the market sent the wrong file")
    yield flow
    flow.end()


def wait_until(holds: object) -> None:
    deadline = time.monotonic() + 30
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def on_screen(flow: Flow, words: tuple[str, ...], width: int) -> list[str]:
    """The lines that a command prints on a terminal of this width, without colours."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    env = flow.env | {"TERM": "xterm-256color", "COLUMNS": "", "TZ": "Europe/London"}
    streams = {"stdin": slave, "stdout": slave, "stderr": slave}
    process = flow.project.start("dataflow", *words, env=env, start_new_session=True, **streams)
    os.close(slave)
    shown = b""
    with contextlib.suppress(OSError):  # reading the terminal of a process that has ended
        while data := os.read(master, 4096):
            shown += data
    os.close(master)
    process.wait(30)
    return COLOUR.sub("", shown.decode()).replace("\r", "").splitlines()


def in_pipe(flow: Flow, words: tuple[str, ...]) -> str:
    done = flow.dataflow(*words, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_line_is_wider_than_the_terminal_and_no_word_is_broken(
    busy: Flow, words: tuple[str, ...], width: int
) -> None:
    lines = on_screen(busy, words, width)
    assert lines
    assert [line for line in lines if len(line) > width] == []
    whole = set(in_pipe(busy, words).split()) | FOOTER
    too_long = [word for word in whole if len(word) > width - 2]
    for word in " ".join(lines).split():
        known = word in whole or TIME.fullmatch(word.strip(";,.)(")) or "…" in word
        assert known or word.rstrip(",.") in whole or any(word in one for one in too_long), word


def test_a_pipe_gets_every_column_and_full_times(busy: Flow) -> None:
    out = busy.dataflow("runs").stdout
    header = "run_id job dataid attempt outcome exit_code host started_at ended_at reason"
    assert out.splitlines()[0].split() == header.split()
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", out)
    assert f"{SCHEDULED}.calendar" in busy.dataflow("dataset", "list").stdout


def test_a_terminal_names_the_columns_that_it_hides_and_wide_shows_them(busy: Flow) -> None:
    (hidden,) = [line for line in on_screen(busy, ("runs",), 80) if line.startswith("Hidden columns: ")]
    assert "host" in hidden
    assert any(line.startswith("host ") for line in on_screen(busy, ("runs", "--wide"), 80))


def test_calendars_are_hidden_on_a_terminal_until_asked_for(busy: Flow) -> None:
    shown = "\n".join(on_screen(busy, ("dataset", "list"), 120))
    assert "Hidden: 1 automatic calendar dataset. To list: --all" in shown
    assert f"{SCHEDULED}.calendar" not in shown
    assert f"{SCHEDULED}.calendar" in "\n".join(on_screen(busy, ("dataset", "list", "--all"), 120))


def test_a_run_whose_process_is_gone_says_so(busy: Flow) -> None:
    assert "RUNNING (process gone)" in busy.dataflow("runs").stdout
    found = {run["run_id"]: run for run in busy.project.json("dataflow", "runs", env=busy.env)}
    assert [(run["outcome"], run["process_gone"]) for run in found.values()] == [
        ("RUNNING", True),
        ("FAILED", False),
        ("DONE", False),
    ]
    status = busy.dataflow("status").stdout
    assert f"{JOB}/{HOURS[2]}: RUNNING (process gone): run 3 on " in status
    assert "1 (1 gone)" in status
    jobs = busy.project.json("dataflow", "status", env=busy.env)["jobs"]
    assert {job["job"]: (job["RUNNING"], job["process_gone"]) for job in jobs} == {
        JOB: (1, True),
        SCHEDULED: (0, False),
    }


def test_a_hold_shows_who_asked_for_it_and_why(busy: Flow) -> None:
    shown = busy.dataflow("why", JOB, HOURS[4]).stdout
    why = "waits until the auditors have signed the figures of the last quarter"
    assert re.search(rf"is on hold \(by \S+@\S+: {why}\)", shown)
