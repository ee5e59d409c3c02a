"""What a child gets: its environment variables and what its context file says.

Values reach the child byte for byte; no shell ever sees them.
"""

from __future__ import annotations

import json

from dataflow.actions.shell_names import input_prefixes, shell_name
from dataflow.config.store_url import find_password
from dataflow.model.job_dataid import find_interval
from dataflow.model.mapping import CONTAINING, SEVERAL_WORDS, word_of
from dataflow.model.record import record, replace
from dataflow.model.records import Dataset, Plan, PlanInput
from dataflow.model.url_text import SHORTEST_GUESSED, is_secret, list_location_secrets, without_secrets
from dataflow.model.variable_names import list_secrets, may_come_from_store
from dataflow.secrets.redaction import Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dataflow.actions.prepare import Prepared
    from dataflow.config.settings import Config
    from dataflow.runjob.request import Face, JobRequest


CONTEXT = "DATAFLOW_CONTEXT"
INTERVAL = ("DATAFLOW_INTERVAL_START", "DATAFLOW_INTERVAL_END")
SECRET_NAMES = "DATAFLOW_SECRET_NAMES"
"""Names the variables that are secrets of a run, for a RunJob inside it."""
LONGEST_LIST = 100_000
"""Bytes; Linux allows 131,072 for one variable."""
REGISTERED = (
    *("hostname", "database", "schemaname", "tablename", "username"),
    *("format", "grain", "timezone", "mode"),
)
"""The fields of a dataset that its script gets as they are registered."""


@record
class Given:
    """What every child of this process gets, and the redactor that hides its secrets."""

    inherited: dict[str, str]
    passwords: dict[str, str]
    redactor: Redactor
    secrets: tuple[str, ...] = ()

    _hidden = ("inherited", "passwords", "secrets")

    def hiding(self, places: Iterable[str]) -> Given:
        """Also redact the secrets of these locations: older versions may have been published elsewhere."""
        found = {secret for place in places for secret in list_location_secrets(place)}
        secrets = (*self.secrets, *(found - set(self.secrets)))
        return self if secrets == self.secrets else replace(self, redactor=Redactor(secrets), secrets=secrets)


def make_given(request: JobRequest, plan: Plan, face: Face) -> Given:
    """Our environment without our secrets, the passwords of the job's datasets, and a redactor.

    Secrets of others in our environment are passed on, because scripts may need them, and redacted.
    """
    config = request.config
    secrets = own_secrets(request.environ, config)
    passwords = open_passwords(plan, face.passphrase)
    local = config.environments.get(plan.job.name, {})
    environ = {} if request.clean_env else request.environ
    places = [place for item in plan.datasets for place in (item.location, f"x://{item.hostname}")]
    signed = [secret for place in places for secret in list_location_secrets(place)]
    kept = [plan.job.environment, *(item.options for item in plan.datasets)]
    signed += [
        value
        for pairs in kept
        for name, value in pairs
        if is_secret(name, value) and len(value) >= SHORTEST_GUESSED
    ]
    inherited = inherited_environment(environ, secrets, local)
    # Nobody has refused those that are too short to be redacted.
    known = [*list_secrets(inherited), *(inherited.get(name, "") for name in config.connection_variables)]
    others = [secret for secret in known if len(secret) >= SHORTEST_GUESSED]
    hidden = (*passwords.values(), *secrets.values(), *others, *signed, *face.list_secrets())
    return Given(inherited, passwords, Redactor(hidden), hidden)


def open_passwords(plan: Plan, passphrase: Callable[[], str]) -> dict[str, str]:
    """Decrypt the passwords of the job's own datasets, by dataset name."""
    records = {item.name: item.encryptedpass for item in plan.datasets if item.encryptedpass}
    if not records:
        return {}
    from dataflow.secrets.cipher import decrypt  # start-up: only jobs with passwords pay for it

    return {name: decrypt(record, passphrase(), f"dataset:{name}") for name, record in records.items()}


def own_secrets(environ: Mapping[str, str], config: Config) -> dict[str, str]:
    """Return the variables of our own environment that hold DataFlow's secrets, and the secret in each.

    They include what an outer RunJob gave its run, which runs started inside it must not see.
    """
    names = ["PASSKEY", "AUTHBROKER_CLIENT_SECRET", *config.secret_variables]
    names += environ.get(SECRET_NAMES, "").split(",")
    if not config.store_url.startswith("sqlite:"):
        names.append("PGPASSWORD")
    found = {name: environ[name] for name in names if environ.get(name)}
    for name in environ:
        if name == "DATAFLOW_STORE" or name.startswith("DATAFLOW_CONN_"):
            scheme, colon, rest = environ[name].partition("://")
            password = find_password(scheme.partition("+")[0] + colon + rest)  # postgresql+psycopg2://
            if password is not None:
                found[name] = password
    return found


def inherited_environment(
    environ: Mapping[str, str], secrets: Mapping[str, str], local: Mapping[str, str]
) -> dict[str, str]:
    """Return what a child gets from this machine: our environment without secrets, and `local` variables."""
    hidden = {*secrets, "DATAFLOW_PASSKEY_FILE", SECRET_NAMES, *INTERVAL}
    return {name: value for name, value in environ.items() if name not in hidden} | dict(local)


def describe(prepared: Prepared) -> dict[str, str]:
    """Return all variables of a run, without secrets.

    The store is not trusted: a row may have been written without the checks of `job add`.
    """
    run, plan = prepared.run, prepared.plan
    told = {name: value for name, value in plan.job.environment if may_come_from_store(name)}
    told |= {"dataid": run.dataid, "jobid": plan.job.name}
    prefixes = _prefixes(plan)
    for item in prepared.inputs:
        if word_of(item.source.mapping) not in SEVERAL_WORDS or item.source.mapping == CONTAINING:
            version = item.pin.version if item.pin else 0
            prefix = prefixes[item.source.position]
            told |= _fields(prefix, item.source.dataset, item.dataid, item.location, version)
    for source in plan.inputs:
        if word_of(source.mapping) in SEVERAL_WORDS:
            told |= _lists(prefixes[source.position], source, prepared)
    versions = {chunk.dataset: chunk.version for chunk in run.replaces}
    for output, (_, place) in zip(plan.outputs, prepared.outputs, strict=True):
        name = output.dataset.name
        told |= _fields(name, output.dataset, run.dataid, place, versions.get(name, 0) + 1)
    told["DATAFLOW_RUN_ID"] = str(run.run_id)
    if interval := find_interval(run.dataid, plan):
        told |= zip(INTERVAL, (moment.isoformat() for moment in interval), strict=True)
    return told


def child_environment(
    given: Given, prepared: Prepared, told: dict[str, str], context: str = ""
) -> dict[str, str]:
    """Return the whole environment of a child; without `context` it does not inherit another run's."""
    passwords = password_variables(prepared.plan, given.passwords)
    environment = given.inherited | told | passwords
    environment.pop(CONTEXT, None)
    if context:
        environment[CONTEXT] = context
    if passwords:
        environment[SECRET_NAMES] = ",".join(passwords)
    return environment


def password_variables(plan: Plan, passwords: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with the passwords of a job's own datasets."""
    prefixes = _prefixes(plan)
    sources = [(prefixes[item.position], item.dataset.name) for item in plan.inputs]
    sources += [(shell_name(item.dataset.name), item.dataset.name) for item in plan.outputs]
    return {f"{prefix}_password": passwords[name] for prefix, name in sources if name in passwords}


def make_context(prepared: Prepared, told: dict[str, str]) -> bytes:
    """Return what the context file of a run says: its facts, without secrets."""
    run, plan = prepared.run, prepared.plan
    names = {source.position: source.dataset.name for source in plan.inputs}
    facts = {
        "run_id": run.run_id,
        "job": plan.job.name,
        "dataid": run.dataid,
        "attempt": run.attempt,
        "inputs": [
            {
                "dataset": item.source.dataset.name,
                "mapping": item.source.mapping,
                "dataid": item.dataid,
                "version": item.pin.version if item.pin else None,
                "location": without_secrets(item.location),
            }
            for item in prepared.inputs
        ],
        "missing": [
            {"dataset": names[item.position], "dataid": item.dataid} for item in prepared.run.lacking
        ],
        "outputs": [
            {"dataset": name, "dataid": run.dataid, "location": without_secrets(place)}
            for name, place in prepared.outputs
        ],
        "answers": [answer.as_dict() for answer in prepared.answers],
        "environment": {
            name: without_secrets(value) if name.endswith("_location") else value
            for name, value in told.items()
        },
    }
    return json.dumps(facts, ensure_ascii=False).encode("utf-8", "surrogateescape")


def _prefixes(plan: Plan) -> dict[int, str]:
    """Return the prefix of each input's variables, by position."""
    outputs = [output.dataset.name for output in plan.outputs]
    prefixes = input_prefixes([source.as_declared for source in plan.inputs], outputs)
    return {source.position: prefix for source, prefix in zip(plan.inputs, prefixes, strict=True)}


def _lists(prefix: str, source: PlanInput, prepared: Prepared) -> dict[str, str]:
    """Return the variables of an input with several chunks: which it has, and which it does without."""
    there = [item.dataid for item in prepared.inputs if item.source.position == source.position and item.pin]
    lacking = [item.dataid for item in prepared.run.lacking if item.position == source.position]
    fields = {"datasetid": source.dataset.name} | {name: getattr(source.dataset, name) for name in REGISTERED}
    fields |= {f"option_{key}": value for key, value in source.dataset.options}
    for name, dataids in (("dataids", there), ("missing", lacking)):
        # No program starts with a longer variable; a list that is cut would be wrong.
        text = " ".join(dataids)
        if len(text.encode("utf-8", "surrogateescape")) <= LONGEST_LIST:
            fields[name] = text
    return {shell_name(f"{prefix}_{key}"): value for key, value in fields.items()}


def _fields(prefix: str, dataset: Dataset, dataid: str, location: str, version: int) -> dict[str, str]:
    fields = {"datasetid": dataset.name, "location": location, "dataid": dataid, "version": str(version)}
    fields |= {name: getattr(dataset, name) for name in REGISTERED}
    fields |= {f"option_{key}": value for key, value in dataset.options}
    return {shell_name(f"{prefix}_{key}"): value for key, value in fields.items()}
