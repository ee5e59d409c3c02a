"""What one call of RunJob says on standard error, in order with its children's output, and what it counts."""

from __future__ import annotations

from dataflow.model.status import RunOutcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.errors import DataFlowError
    from dataflow.model.records import Ending
    from dataflow.runjob.output import RunLog, Terminal

LAST_LINES = 10


class Report:
    """Lines on standard error; never passed a secret."""

    def __init__(self, terminal: Terminal, quiet: bool) -> None:
        self._terminal = terminal
        self._quiet = quiet

    def say(self, text: str) -> None:
        """Print information; --quiet suppresses it."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Print a warning or an error, even with --quiet."""
        self._terminal.write(f"RunJob: {text}\n".encode("utf-8", "surrogateescape"))

    def ended(self, ending: Ending, state: str, seconds: float) -> None:
        """Print how a run ended."""
        run = ending.run
        line = f"{run.job} {run.dataid}: {ending.outcome!s}"
        if ending.reason:
            line += f", {ending.reason}"
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


class Tally:
    """Counted outcomes, the last run that was started, and what prevents further runs."""

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = {}
        self.last: Ending | None = None
        self.lost = 0
        self.broken: DataFlowError | None = None

    def count(self, ending: Ending) -> None:
        """Count a run's outcome."""
        self.outcomes[ending.outcome] = self.outcomes.get(ending.outcome, 0) + 1
        if ending.outcome is RunOutcome.LOST:
            self.lost += 1
        if ending.outcome is not RunOutcome.RETURNED:
            self.last = ending

    @property
    def done(self) -> int:
        """Number of successful runs."""
        return self.outcomes.get(RunOutcome.DONE, 0)

    @property
    def failed(self) -> int:
        """Number of failed and invalid runs."""
        return self.outcomes.get(RunOutcome.FAILED, 0) + self.outcomes.get(RunOutcome.INVALID, 0)
