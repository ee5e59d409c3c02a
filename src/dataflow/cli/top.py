"""`dataflow top`: the progress of all jobs on one screen, for a terminal of 80 columns or more."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from dataflow.actions.job_progress import get_progress
from dataflow.actions.status_description import list_lost
from dataflow.cli.options import Commands, add_switches
from dataflow.cli.status import duration
from dataflow.cli.terminal import find_width, measure, short_span, shorten_middle
from dataflow.model.wording import counted, utc_text
from dataflow.runjob.dead_workers import is_dead_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.actions.job_progress import JobProgress, Progress
    from dataflow.cli.context import Context
    from dataflow.store.run_reads import LiveRun

PLAIN_WIDTH = 80
PLAIN_HEIGHT = 1000
SHORTEST_INTERVAL = 0.2
BAR_WIDTH = 14
NAME_WIDTH = 20
HOST_WIDTH = 32
WORKER_LINES = 5
RUN_LINES = 8
"""Lines that workers and runs may take as long as there are jobs to show."""


def add_parser(commands: Commands) -> None:
    """Adds `top`."""
    parser = commands.add("top", top)
    add_switches(parser, once="print one frame")
    help_text = "time between two frames (default: 2s)"
    parser.add_argument("--interval", type=duration, default=2.0, metavar="DURATION", help=help_text)


def top(args: argparse.Namespace, context: Context) -> None:
    """Shows all jobs with their progress, rate, time left and failures, the workers and the runs, until
    interrupted. Prints one frame if stdout is not a terminal. Rates are those of the last ten minutes.
    """
    width = find_width(sys.stdout)
    if args.once or width is None:
        size = (width or PLAIN_WIDTH, PLAIN_HEIGHT)
        print("\n".join(draw(_get_progress(context), *size, _is_unicode())))
        return
    _watch(context, max(args.interval, SHORTEST_INTERVAL))


def _get_progress(context: Context) -> Progress:
    lost = list_lost(context.store, context.config.host, context.is_gone)
    gone = [run for run, _ in lost]
    return get_progress(context.store, lambda row: is_dead_here(context.config, row), gone)


def draw(found: Progress, width: int, height: int, unicode: bool = True) -> list[str]:
    """The lines of one frame: none wider, and not more of them, than the terminal."""
    lines = [_headline(found), ""]
    names = [job.job for job in found.jobs] + [run.job for run in found.runs]
    longest = max((measure(name) for name in names), default=0)
    name_width = max(3, min(longest, NAME_WIDTH + max(0, width - PLAIN_WIDTH)))
    jobs = sorted(found.jobs, key=lambda job: (not job.running, not job.waiting, not job.failed, job.job))
    workers = _worker_lines(found)
    runs = [
        _run_line(run, found.now_at, name_width) + (", gone" if run.run_id in found.gone else "")
        for run in found.runs
    ]
    reserved = min(len(runs) + 2, RUN_LINES) if runs else 0
    reserved_before = min(len(workers) + 1, WORKER_LINES) if workers else 0
    room = max(1, height - len(lines) - 1 - reserved_before - reserved)
    heading = (f"{'job':<{name_width}}", " " * BAR_WIDTH, "done/total".rjust(15))
    lines.append(" ".join([*heading, "run".rjust(4), "fail".rjust(5), "rate".rjust(7), "eta".rjust(7)]))
    lines += _cut([_job_line(job, name_width, unicode, found.is_paused) for job in jobs], room)
    if not jobs:
        lines.append("No jobs yet. Add one: dataflow job add NAME --in DATASET --out DATASET")
    if workers:
        lines += ["", *_cut(workers, max(2, height - len(lines) - 1 - reserved))]
    if runs:
        lines += ["", f"{'run':>7} {'job':<{name_width}} {'for':>7} dataid"]
        lines += _cut(runs, max(1, height - len(lines)))
    return [_fitted(line, width) for line in lines[:height]]


def _fitted(line: str, width: int) -> str:
    while measure(line) > width:
        line = line.rstrip("…")[:-1] + "…"
    return line


def _headline(found: Progress) -> str:
    parts = [utc_text(found.now_at)[:19] + "Z", counted(len(found.jobs), "job")]
    gone = sum(run.run_id in found.gone for run in found.runs)
    parts.append(f"{len(found.runs) - gone} running" + (f" ({gone} gone)" if gone else ""))
    if found.is_paused:
        parts.append("paused")
    if found.workers:
        parts.append(counted(len(found.workers), "worker"))
    if found.incidents:
        parts.append(f"{counted(len(found.incidents), 'incident')}: {', '.join(found.incidents[:3])}")
    return ", ".join(parts)


def _job_line(job: JobProgress, name_width: int, unicode: bool, is_paused: bool = False) -> str:
    share = job.done / job.total if job.total else 0.0
    full = int(share * BAR_WIDTH)
    bar = ("█" if unicode else "#") * full + ("░" if unicode else ".") * (BAR_WIDTH - full)
    eta = _span(job.eta_seconds)
    if job.held and not job.waiting and not job.running:
        eta = "held"
    elif is_paused and job.waiting + job.gone:
        eta = "paused"
    name = shorten_middle(job.job, name_width)
    cells = (
        f"{job.done:,}/{job.total:,}".rjust(15),
        str(job.running).rjust(4),
        str(job.failed or "").rjust(5),
    )
    return " ".join([name + " " * (name_width - measure(name)), bar, *cells, _rate(job.rate), eta.rjust(7)])


def _rate(rate: float | None) -> str:
    """Chunks per second, minute or hour, in seven columns."""
    if not rate:
        return " " * 7
    for unit, size in (("s", 1), ("m", 60), ("h", 3600)):
        if rate * size >= 1 or unit == "h":
            return f"{rate * size:.1f}/{unit}".rjust(7)
    raise AssertionError


def _span(seconds: float | None) -> str:
    return "" if seconds is None else short_span(seconds).replace(" ", "")


def _run_line(run: LiveRun, now: float, name_width: int) -> str:
    name = shorten_middle(run.job, name_width)
    age = _span(max(0.0, now - run.started_at))
    shown = name + " " * (name_width - measure(name))
    return f"{run.run_id:>7} {shown} {age:>7} {run.dataid} on {run.host}"


def _worker_lines(found: Progress) -> list[str]:
    """A heading and one line for each worker; nothing without workers."""
    if not found.workers:
        return []
    hosts = [shorten_middle(one.host, HOST_WIDTH) for one in found.workers]
    width = max(map(measure, [*hosts, "worker on"]))
    lines = [f"{'worker on':<{width}} {'process':>7} {'busy':>7} {'jobs':>4} {'for':>7} version"]
    for host, one in zip(hosts, found.workers, strict=True):
        age = _span(max(0.0, found.now_at - one.started_at))
        cells = f"{one.pid:>7} {f'{one.busy}/{one.streams}':>7} {one.jobs:>4} {age:>7} {one.version}"
        lines.append(f"{host}{' ' * (width - measure(host))} {cells}")
    return lines


def _cut(lines: Sequence[str], most: int) -> list[str]:
    """The first lines, and how many more there are."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"… and {len(lines) - most + 1:,} more"]


def _is_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _watch(context: Context, interval_seconds: float) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=False)
    unicode = _is_unicode()
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while not stopping.is_set():
            lines = draw(_get_progress(context), console.width, console.height, unicode)
            live.update(Text("\n".join(lines), no_wrap=True), refresh=True)
            stopping.wait(interval_seconds)
