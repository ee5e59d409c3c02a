"""`RunJob --dry-run`: what would be claimed and passed on, with secrets masked."""

from __future__ import annotations

from dataflow.actions.claim import preview
from dataflow.actions.names import get_plan
from dataflow.actions.prepare import ask
from dataflow.actions.shell_names import FIELDS, shell_name
from dataflow.actions.why import why
from dataflow.cli.context import Context
from dataflow.model.records import ClaimRequest, Plan
from dataflow.model.url_text import is_secret, masked_host, without_secrets
from dataflow.runjob.environment import describe, password_variables
from dataflow.runjob.explain import find_obstacle
from dataflow.runjob.request import JobRequest, with_canonical_dataid
from dataflow.runjob.session import claimant_of

MASK = "********"


def show_claim(request: JobRequest, context: Context) -> int:
    """Print the run that a claim would return; claim nothing."""
    store = context.store
    plan = get_plan(store, request.job)
    request = with_canonical_dataid(request, plan)
    claimant = claimant_of(request, "0" * 16)
    asked = ClaimRequest(claimant, ("dry-run",), *request.lease_and_grace(plan.job), request.dataid)
    result, plan = preview(store, plan, asked)
    if result.again:
        print("would claim none of the first due intervals; RunJob itself also tries the later ones")
        return request.waiting_exit_code
    if not result.runs:
        found = why(store, request.config, plan, request.dataid)
        print(f"would claim nothing: {found.verdict}")
        return request.waiting_exit_code
    prepared = ask(store, plan, result.runs[0], request.config.project_dir, request.config.environment)
    told = describe(prepared)
    told["DATAFLOW_RUN_ID"] = "(the next)"
    kept = {dataset.name: MASK for dataset in plan.datasets if dataset.encryptedpass}
    told |= password_variables(plan, kept)
    refusal = prepared.superseded or prepared.refusal
    broken = None if refusal else find_obstacle(claimant.script_path)
    then = f"run: {' '.join(request.argv)}"
    if refusal:
        then = "hand it back, because one answer is no"
    elif broken:
        then = f"hand it back with exit code {broken.exit_code}: {broken}"
    print(f"would claim {plan.job.name} {prepared.run.dataid} and {then}")
    for answer in prepared.answers:
        print(f"  {answer.question}? {answer.answer}: {answer.evidence}")
    calendars = [shell_name(item.source.dataset.name) for item in prepared.inputs if item.is_calendar]
    for name in (f"{calendar}_{field}" for calendar in calendars for field in FIELDS):
        told.pop(name, None)  # they say nothing that the dataid does not
    for name, text in told.items():
        value = _shown(name, text, plan)
        print(f"  {name}={value!r}" if any(c in value for c in "\n\r\t") else f"  {name}={value}")
    if broken:
        return broken.exit_code
    return request.waiting_exit_code if refusal else 0


def _shown(name: str, text: str, plan: Plan) -> str:
    """The value of a variable without secrets, also those that an older store keeps in plain text."""
    if name.endswith("_hostname"):
        return masked_host(text)
    given = name if name in dict(plan.job.environment) else name.partition("_option_")[2]
    return MASK if is_secret(given, text) else without_secrets(text)
