"""What RunJob or a worker says on standard error, in order with its children's output, and what it counts."""

from __future__ import annotations

from collections.abc import Callable

from dataflow.errors import DataFlowError
from dataflow.model.answers import Why
from dataflow.model.records import Ending
from dataflow.model.status import RunOutcome, WorkState
from dataflow.model.wording import counted
from dataflow.runjob.output import RunLog, Terminal
from dataflow.runjob.request import JobRequest

LAST_LINES = 10


class Report:
    """Lines on standard error; never passed a secret."""

    def __init__(self, terminal: Terminal, quiet: bool, program: str = "RunJob") -> None:
        self._terminal = terminal
        self._quiet = quiet
        self._program = program

    def say(self, text: str) -> None:
        """Print information; --quiet suppresses it."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Print a warning or an error, even with --quiet."""
        self._terminal.write(f"{self._program}: {text}\n".encode("utf-8", "surrogateescape"))

    def ended(self, ending: Ending, state: str, seconds: float) -> None:
        """Print how a run ended."""
        run = ending.run
        line = f"{run.job} {run.dataid}: {ending.outcome!s}"
        if ending.reason:
            line += f", {ending.reason}"
        if ending.outcome == "RETURNED":
            reason = ending.reason.partition("? no: ")[2] or ending.reason
            line = f"{run.job} {run.dataid}: not started: {reason}"
        line = line.replace("INTERRUPTED, interrupted: SIG", "INTERRUPTED by SIG")
        if state and state not in (ending.outcome, "CLAIMABLE"):
            line += f"; now {state}"
        line += f" (run {run.run_id}, {seconds:.1f} s)"
        if ending.untouched and ending.outcome == "RETURNED" and not ending.delay_seconds:
            return  # The command cannot be executed, which is reported once, at the end.
        if ending.outcome in ("DONE", "INTERRUPTED"):
            self.say(line)
        else:
            self.warn(line)

    def last_lines(self, log: RunLog) -> None:
        """Repeat the last lines of a failed run's output, with the path of its log."""
        lines = log.list_last_lines(LAST_LINES)
        if lines:
            self.warn(f"last lines of {log.path}:")
            self._terminal.write(b"".join(b"  | " + line + b"\n" for line in lines))

    def holes(self, log: RunLog) -> None:
        """Report a log that could not be written completely; the run itself is not affected."""
        if log.error is not None:
            self.warn(f"the log {log.path} is incomplete: {log.error.strerror}")


def explain_nothing(request: JobRequest, found: Why, say: Callable[[str], None]) -> int:
    """Say why nothing ran and return the exit code: already done is success, anything else is waiting."""
    say(f"{request.job}: {found.verdict}")
    if found.next:
        say(f"next: {found.next}")
    return 0 if found.verdict.startswith("READY") else request.waiting_exit_code


class Tally:
    """What became of the work of one call, the last run that was started, and what prevents further runs."""

    def __init__(self) -> None:
        self.last: Ending | None = None
        self.lost = 0
        self.retries = 0
        self.has_failed_run = False
        self.broken: DataFlowError | None = None
        self._ends: dict[int, str | None] = {}

    def count(self, ending: Ending, state: str | None) -> None:
        """Count a run that left its work in a state; a run that was handed back counts for nothing."""
        if ending.outcome is RunOutcome.RETURNED:
            return
        self.last = ending
        self.lost += ending.outcome is RunOutcome.LOST
        self.has_failed_run |= ending.outcome in (RunOutcome.FAILED, RunOutcome.INVALID)
        # Work that is done may be claimable already, because an input has a newer version: still done.
        self.note(ending.run.work_id, WorkState.DONE if ending.outcome is RunOutcome.DONE else state)

    def note(self, work_id: int, state: str | None) -> None:
        """Note the state that a run left its work in."""
        self.retries += self._ends.get(work_id) in (WorkState.WAITING, WorkState.CLAIMABLE)
        self._ends[work_id] = state

    @property
    def done(self) -> int:
        """Number of chunks that are done, however many runs each of them took."""
        return self._count_ends(WorkState.DONE)

    @property
    def failed(self) -> int:
        """Number of chunks that failed or are invalid."""
        return self._count_ends(WorkState.FAILED, WorkState.INVALID)

    def describe(self, left: str) -> str:
        """Return how many chunks are done, failed and left, and how many runs were lost or retried."""
        lost = f", {counted(self.lost, 'run')} cancelled or lost" if self.lost else ""
        retries = f"; {counted(self.retries, 'retry', 'retries')}" if self.retries else ""
        return f"{counted(self.done, 'chunk')} done, {self.failed:,} failed{lost}{left}{retries}"

    def _count_ends(self, *states: WorkState) -> int:
        return sum(state in states for state in self._ends.values())
