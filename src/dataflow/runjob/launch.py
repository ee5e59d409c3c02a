"""From a run that may start to a running child: its context file, its environment, its commands."""

from __future__ import annotations

import os

from dataflow import failpoints
from dataflow.errors import BadInput, CannotExecute, DataFlowError, LeaseLost
from dataflow.model.record import record
from dataflow.model.records import Ending
from dataflow.private_files import open_with_folder, remove_file, reuse_file
from dataflow.runjob import endings
from dataflow.runjob.child import Child, list_steps
from dataflow.runjob.environment import child_environment, describe, make_context
from dataflow.runjob.guard import Guard
from dataflow.runjob.handoff import Attempt
from dataflow.runjob.kill_command import KillCommand
from dataflow.runjob.output import RunLog, Terminal
from dataflow.runjob.processes import boottime
from dataflow.runjob.request import JobRequest


@record
class Ended:
    """A run that has ended, with its child if it had one; `error` stands in the way of every later run."""

    ending: Ending
    child: Child | None = None
    error: DataFlowError | None = None


class Launcher:
    """Starts the commands of runs."""

    def __init__(self, request: JobRequest, guard: Guard, terminals: tuple[Terminal, Terminal]) -> None:
        self.guard = guard
        self._request = request
        self._terminals = terminals
        self._context_path = os.path.join(request.config.context_dir, guard.name)
        self._old_contexts: list[str] = []  # of released runs

    def launch(self, attempt: Attempt) -> Child | Ended:
        """Start the first command of a run that may start."""
        if attempt.ending is not None:
            return Ended(attempt.ending, None, attempt.error)
        config = self._request.config
        assert attempt.prepared is not None
        steps = list_steps(attempt.prepared, self._request.argv, config.checks)
        child = Child(attempt, steps, self.guard, RunLog(config.log_dir, attempt.run.run_id))
        try:
            self._give(child)
        except OSError as error:
            reason = f"its context cannot be written: {error.strerror}: {error.filename}"
            return Ended(endings.not_started(child.prepared, reason))
        if attempt.timeout_seconds:
            child.timeout_at = boottime() + attempt.timeout_seconds
        if self._request.kill_command:
            child.kill_command = KillCommand(list(self._request.kill_command), child.environment)
        return self.start_step(child)

    def start_step(self, child: Child) -> Child | Ended:
        """Start the next command of a run; its ending if that cannot be started."""
        failpoints.reach("before_spawn")
        try:
            child.start(self._terminals)
        except (LeaseLost, CannotExecute, BadInput) as error:
            ending = endings.not_executed(child.prepared, child.script_code, error)
            stops_all = child.script_code is None and not isinstance(error, LeaseLost)
            return Ended(ending, child, error if stops_all else None)
        failpoints.reach("after_spawn")
        return child

    def release(self, child: Child) -> None:
        """Close the log of an ended run and leave its context file to the next run; see `tidy`."""
        child.log.close()
        if child.context_path:
            self._old_contexts.append(child.context_path)

    def tidy(self) -> None:
        """Remove the context files of released runs."""
        while self._old_contexts:
            remove_file(self._old_contexts.pop())

    def _give(self, child: Child) -> None:
        """Write the run's context file and set its environment."""
        variables = describe(child.prepared)
        # No other process on any machine uses this name: it begins with the claimant's token.
        context = f"{self._context_path}-{child.run.run_id}.json"
        try:
            self._write_context(context, make_context(child.prepared, variables))
        except OSError:
            remove_file(context)
            raise
        child.environment = child_environment(child.given, child.prepared, variables, context)
        child.context_path = context

    def _write_context(self, path: str, data: bytes) -> None:
        """Write to the file of an ended run, or to a new one if that run's script has replaced or kept it."""
        if self._old_contexts:
            old_path = self._old_contexts.pop()
            if reuse_file(old_path, path, data):
                return
            remove_file(old_path)
        with open(path, "xb", opener=open_with_folder) as file:
            file.write(data)
