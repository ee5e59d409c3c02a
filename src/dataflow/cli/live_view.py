"""The live view of `dataflow up`: what runs now and how much has been done, below the messages."""

from __future__ import annotations

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dataflow.model.wording import counted
from dataflow.runjob.output import Terminal
from dataflow.runjob.processes import boottime
from dataflow.service.request import Snapshot

MOST_SHOWN = 12


class Messages(Terminal):
    """Prints messages above the live view."""

    def __init__(self, console: Console) -> None:
        super().__init__(2)
        self._console = console

    def write(self, data: bytes) -> None:
        text = data.decode("utf-8", "replace").removesuffix("\n")
        self._console.print(Text(text), soft_wrap=True)

    def flush(self, wait_seconds: float | None) -> bool:
        return True


class LiveView:
    """A few lines at the bottom of the terminal; leaving `with` leaves the messages and a summary."""

    def __init__(self) -> None:
        console = Console(stderr=True, highlight=False)
        self.messages = Messages(console)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._last: Snapshot | None = None

    def __enter__(self) -> LiveView:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)
        if self._last is not None:
            self.messages.write(f"dataflow: {count_runs(self._last)}".encode())

    def show(self, state: Snapshot) -> None:
        """Shows the current state."""
        self._last = state
        self._live.update(make_table(state, boottime()), refresh=True)


def make_table(state: Snapshot, now: float) -> Table:
    """The view of a worker at a moment."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for run in sorted(state.doing, key=lambda run: run.began_at)[:MOST_SHOWN]:
        seconds = int(now - run.began_at)
        table.add_row(f"run {run.run_id}", run.job, run.dataid, f"{seconds // 60}:{seconds % 60:02d}")
    if len(state.doing) > MOST_SHOWN:
        table.add_row("…", f"{len(state.doing) - MOST_SHOWN} more", "", "")
    grid = Table.grid()
    if state.doing:
        grid.add_row(table)
    grid.add_row(Text(summarise(state)))
    return grid


def summarise(state: Snapshot) -> str:
    """The last line of the view."""
    if state.trouble:
        return f"waiting for the store: {state.trouble}"
    busy = f"{len(state.doing)} of {counted(state.streams, 'stream')} busy"
    end = "stopping (again: hand back)" if state.is_draining else "Ctrl-C to stop"
    jobs = counted(state.jobs, "job")
    return f"{jobs} · {busy} · {count_runs(state)} · {end}"


def count_runs(state: Snapshot) -> str:
    """How the runs of a worker have ended."""
    lost = f", {state.lost:,} lost" if state.lost else ""
    return f"{counted(state.done, 'run')} done, {state.failed:,} failed{lost}"
