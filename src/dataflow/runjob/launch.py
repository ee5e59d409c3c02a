"""From a claimed run to a running child: the five answers, the environment, the first command."""

from __future__ import annotations

import os

from dataflow import failpoints
from dataflow.actions.prepare import make_folders, prepare
from dataflow.errors import BadInput, CannotExecute, LeaseLost
from dataflow.runjob import endings
from dataflow.runjob.child import Child
from dataflow.runjob.environment import child_environment, describe, write_context
from dataflow.runjob.kill_command import KillCommand
from dataflow.runjob.output import RunLog
from dataflow.runjob.processes import boottime
from dataflow.runjob.steps import list_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.actions.prepare import Prepared
    from dataflow.model.records import Ending, Plan, Run
    from dataflow.runjob.environment import Given
    from dataflow.runjob.guard import Guard
    from dataflow.runjob.request import JobRequest
    from dataflow.runjob.terminal import Terminal
    from dataflow.store.store import Store


class Launcher:
    """Starts the commands of runs with what the job's plan gives them: environment, passwords, redaction."""

    def __init__(
        self,
        request: JobRequest,
        guard: Guard,
        terminals: tuple[Terminal, Terminal],
        plan: Plan,
        give: Callable[[Plan], Given],
    ) -> None:
        self.given = give(plan)
        self.guard = guard
        self._plan = plan
        self._give = give
        self._request = request
        self._terminals = terminals
        self._context_path = os.path.join(request.config.context_dir, guard.name)
        self._contexts: list[str] = []
        self._made = 0

    def follow(self, plan: Plan) -> None:
        """Has later runs given what a changed plan says; SecretError if a new password does not open."""
        if plan is not self._plan:
            self.given = self._give(plan)
            self._plan = plan

    def launch(
        self, store: Store, plan: Plan, run: Run, began_at: float
    ) -> tuple[Child | None, Ending | None]:
        """The child under way, or the ending of a run that must not start."""
        config = self._request.config
        prepared = prepare(store, plan, run, config.project_dir, config.environment)
        refusal = None if self._request.force else endings.refused(prepared)
        if refusal is not None:
            return None, refusal
        if reason := make_folders(prepared):
            return None, endings.not_started(prepared, reason)
        try:
            child = self._child(prepared, began_at)
        except OSError as error:
            reason = f"its context cannot be written: {error.strerror}: {error.filename}"
            return None, endings.not_started(prepared, reason)
        return child, self.start_step(child)

    def start_step(self, child: Child) -> Ending | None:
        """Starts the next command of a run; its ending if that cannot be executed."""
        failpoints.reach("before_spawn")
        try:
            child.start(self._terminals, self.given.inherited.get("PATH", os.defpath))
        except LeaseLost as error:
            return endings.too_late(child, str(error))
        except (CannotExecute, BadInput) as error:
            child.broken = error
            if child.script_code is not None:
                return endings.check_not_executed(child, str(error))
            return endings.not_executed(child.prepared, str(error))
        failpoints.reach("after_spawn")
        return None

    def release(self, child: Child) -> None:
        """A run is over: the next one may have its context file, which is cheaper than to make another."""
        child.log.close()
        if child.context_path:
            self._contexts.append(child.context_path)

    def close(self) -> None:
        """Removes the context files."""
        for path in self._contexts:
            try:
                os.unlink(path)
            except OSError:
                pass  # The script has removed it, or its folder has become read-only.
        self._contexts.clear()

    def _new_context(self) -> str:
        """A name no other process uses, on this machine or another: it begins with the claimant's token."""
        self._made += 1
        return f"{self._context_path}-{self._made}.json"

    def _child(self, prepared: Prepared, began_at: float) -> Child:
        request, run = self._request, prepared.run
        checked = {item.source.dataset.name for item in prepared.inputs if item.pin and item.pin.checked}
        steps = list_steps(prepared.plan, request.argv, request.config.checks, checked)
        child = Child(prepared, steps, self.guard, began_at, RunLog(request.config.log_dir, run.run_id))
        told = describe(prepared)
        context = self._contexts.pop() if self._contexts else self._new_context()
        try:
            write_context(context, prepared, told)
        except OSError:
            self._contexts.append(context)
            raise
        child.give(child_environment(self.given, prepared, told, context), self.given.redactor, context)
        if request.timeout_seconds:
            child.timeout_at = boottime() + request.timeout_seconds
        if request.kill_command:
            child.kill_command = KillCommand(list(request.kill_command), child.environment)
        return child
