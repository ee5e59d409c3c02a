"""Datasets and jobs declared in TOML: reading and writing them.

Registering checks schedules, dates and time zones, not this module.
"""

from __future__ import annotations

import os

from dataflow.config import fields
from dataflow.config.durations import parse_seconds
from dataflow.config.problems import Problems, suggestion
from dataflow.config.project import PROJECT_FILE
from dataflow.config.toml import load_toml, toml_table
from dataflow.config.variables import SETTINGS
from dataflow.errors import BadInput
from dataflow.model.records import Dataset, Job
from dataflow.model.variable_names import is_variable_name, may_come_from_store
from dataflow.model.wording import format_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from dataflow.config.fields import Reader

TABLES = ("dataset", "job")
PIPELINE_TABLES = ("connection", "spark", "notify", "server")
"""Tables of dataflow.toml that only pipelines, notifications or the server read; not checked here."""

DATASET_KEYS: dict[str, Reader] = {
    **dict.fromkeys(("hostname", "database", "schemaname", "tablename", "username"), fields.read_text),
    **dict.fromkeys(("encryptedpass", "location", "format"), fields.read_text),
    "grain": fields.read_grain,
    **dict.fromkeys(("timezone", "mode"), fields.read_name),
    "options": fields.read_pairs,
    "fresh_within": parse_seconds,
    "due_by": fields.read_time_of_day,
}
"""The keys of a [dataset.NAME] table that go to the store; each is a field of Dataset."""

DATASET_FIELDS = {"fresh_within": "fresh_within_seconds"}
"""Keys whose field has another name."""

JOB_KEYS: dict[str, tuple[str, Reader]] = {
    "in": ("inputs", fields.read_inputs),
    "out": ("outputs", fields.read_outputs),
    "schedule": ("schedule", fields.read_text),
    "start": ("start", fields.read_moment),
    "end": ("end", fields.read_moment),
    "catchup": ("catchup", fields.read_flag),
    "timezone": ("timezone", fields.read_name),
    "ordered": ("ordered", fields.read_flag),
    "retries": ("retries", fields.read_count),
    "retry_delay": ("retry_delay_seconds", parse_seconds),
    "max_running": ("max_running", fields.read_count),
    "lease": ("lease_seconds", parse_seconds),
    "grace": ("grace_seconds", parse_seconds),
    "timeout": ("timeout_seconds", parse_seconds),
    "priority": ("priority", fields.read_whole),
    "pool": ("pool", fields.read_text),
    "order": ("order", fields.read_name),
    "retry_backoff": ("retry_backoff", fields.read_number),
    "retry_max_delay": ("retry_max_delay_seconds", parse_seconds),
    "final_exit_codes": ("final_exit_codes", fields.read_exit_codes),
    "max_crashes": ("max_crashes", fields.read_count),
    "on_change": ("on_change", fields.read_name),
    "late_after": ("late_after_seconds", parse_seconds),
    "environment": ("environment", fields.read_pairs),
}
"""The keys of a [job.NAME] table, each with its field of Job; `environment` last, as it is a table itself."""

_DATASET_READERS = {**DATASET_KEYS, "check": fields.read_check, "password": fields.refuse_password}
_JOB_READERS = {**{key: reader for key, (_, reader) in JOB_KEYS.items()}, "command": fields.read_command}


class Declarations:
    """What files declare; checks, commands, and variables the store may not set, stay on this machine."""

    def __init__(self) -> None:
        self.datasets: list[Dataset] = []
        self.jobs: list[Job] = []
        self.checks: dict[str, tuple[str, ...]] = {}
        self.environments: dict[str, dict[str, str]] = {}
        self.commands: dict[str, tuple[str, ...]] = {}
        self.secret_variables: tuple[str, ...] = ()
        self.connection_variables: tuple[str, ...] = ()


def read_declarations(paths: list[str]) -> Declarations:
    """Return all datasets and jobs of these files; raise one ConfigError with all problems."""
    problems = Problems()
    together = Declarations()
    first_path: dict[str, str] = {}
    for path in paths:
        declared = read_tables(path, load_toml(path, problems), problems)
        names = [f"dataset.{dataset.name}" for dataset in declared.datasets]
        for name in names + [f"job.{job.name}" for job in declared.jobs]:
            if name in first_path:
                problems.add(f"{path}: {name}", f"is also declared in {first_path[name]}; keep one of them")
            first_path.setdefault(name, path)
        together.datasets += declared.datasets
        together.jobs += declared.jobs
        together.checks |= declared.checks
        together.environments |= declared.environments
        together.commands |= declared.commands
    problems.raise_if_any()
    return together


def read_project_file(path: str, problems: Problems) -> tuple[dict[str, str], Declarations]:
    """Return the settings and declarations of a project file and note all problems."""
    document = load_toml(path, problems)
    declared = read_tables(path, document, problems)
    tables = (document.get("notify"), document.get("server"))
    declared.secret_variables = tuple(name for table in tables for name in _list_named_variables(table))
    declared.connection_variables = _list_named_variables(document.get("connection"))
    given = {key: document[key] for key in SETTINGS if key in document}
    return _read_values(f"{path}: ", given, dict.fromkeys(SETTINGS, fields.read_name), problems), declared


def _list_named_variables(tables: object) -> tuple[str, ...]:
    """Return the variables that channels, connections or the login read secrets from; others check them."""
    return tuple(
        value
        for table in (tables.values() if isinstance(tables, dict) else ())
        if isinstance(table, dict)
        for key, value in table.items()
        if key.endswith("_variable") and isinstance(value, str)
    )


def read_tables(path: str, document: dict[str, Any], problems: Problems) -> Declarations:
    """Return the datasets, jobs and checks of one document and note all invalid keys and values."""
    _refuse_other_keys(path, document, problems)
    declared = Declarations()
    for name, table in _tables(path, document, "dataset", problems).items():
        values = _read_table(f"{path}: dataset.{name}", name, table, _DATASET_READERS, problems)
        check = values.pop("check", None)
        if check is not None:
            declared.checks[name] = check
        # A table with only a check refers to a dataset declared elsewhere.
        if check is None or values:
            given = {DATASET_FIELDS.get(key, key): value for key, value in values.items()}
            declared.datasets.append(Dataset(name, **given))
    for name, table in _tables(path, document, "job", problems).items():
        values = _read_table(f"{path}: job.{name}", name, table, _JOB_READERS, problems)
        command = values.pop("command", None)
        if command is not None:
            declared.commands[name] = command
        local = _take_local(values)
        if local:
            declared.environments[name] = local
        # A table with only a command or such variables refers to a job declared elsewhere.
        if values or not (local or command):
            declared.jobs.append(Job(name, **{JOB_KEYS[key][0]: value for key, value in values.items()}))
    _refuse_misplaced(path, declared, problems)
    return declared


def _take_local(values: dict[str, Any]) -> dict[str, str]:
    """Separate the variables that the store may not set from a job's environment."""
    given = values.pop("environment", ())
    kept = tuple(pair for pair in given if may_come_from_store(pair[0]))
    if kept:
        values["environment"] = kept
    return dict(pair for pair in given if pair not in kept)


def _refuse_misplaced(path: str, declared: Declarations, problems: Problems) -> None:
    """Note settings in a file that no worker reads, and variables that no file may set."""
    places = [f"dataset.{name}.check" for name in declared.checks]
    places += [f"job.{name}.command" for name in declared.commands]
    for job, variables in declared.environments.items():
        for name in variables:
            place = f"job.{job}.environment.{name}"
            places.append(place)
            if not is_variable_name(name):
                problems.add(
                    f"{path}: {place}", "is not a variable name; use letters, digits and underscores"
                )
            elif name == "PASSKEY" or name.startswith("DATAFLOW_"):
                problems.add(f"{path}: {place}", "is reserved for DataFlow; choose another name")
    if os.path.basename(path) != PROJECT_FILE:
        reason = f"is only read from the {PROJECT_FILE} on the machine that runs the job; move it there"
        for place in places:
            problems.add(f"{path}: {place}", reason)


def write_declarations(datasets: Iterable[Dataset], jobs: Iterable[Job]) -> str:
    """Return these datasets and jobs as TOML; defaults are left out."""
    tables = [toml_table(("dataset", dataset.name), _dataset_items(dataset)) for dataset in datasets]
    for job in jobs:
        tables.append(toml_table(("job", job.name), _job_items(job)))
        if job.environment:
            tables.append(toml_table(("job", job.name, "environment"), job.environment))
    return "\n".join(tables)


def _tables(path: str, document: dict[str, Any], kind: str, problems: Problems) -> dict[str, Any]:
    tables = document.get(kind, {})
    if isinstance(tables, dict):
        return tables
    problems.add(f"{path}: {kind}", f"must be named tables, like [{kind}.NAME]")
    return {}


def _refuse_other_keys(path: str, document: dict[str, Any], problems: Problems) -> None:
    is_project_file = os.path.basename(path) == PROJECT_FILE
    for key in document:
        is_local = key in SETTINGS or key in PIPELINE_TABLES
        if key in TABLES or (is_local and is_project_file):
            continue
        if is_local:
            problems.add(f"{path}: {key}", f"is a setting of the worker; move it to {PROJECT_FILE}")
        else:
            known = (*SETTINGS, *TABLES, *PIPELINE_TABLES)
            problems.add(f"{path}: {key}", f"unknown key. {suggestion(key, known)}")


def _read_table(
    origin: str, name: str, table: object, readers: dict[str, Reader], problems: Problems
) -> dict[str, Any]:
    try:
        fields.read_name(name)
    except BadInput as error:
        problems.add(origin, f"its name {error}")
    if not isinstance(table, dict):
        problems.add(origin, "must be a table")
        return {}
    return _read_values(f"{origin}.", table, readers, problems)


def _read_values(
    prefix: str, table: dict[str, Any], readers: Mapping[str, Reader], problems: Problems
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in table.items():
        try:
            if key not in readers:
                known = [known for known in readers if known != "password"]
                raise BadInput(f"unknown key. {suggestion(key, known)}")
            values[key] = readers[key](value)
        except BadInput as error:
            problems.add(f"{prefix}{key}", str(error))
    return values


def _dataset_items(dataset: Dataset) -> list[tuple[str, object]]:
    plain = Dataset(dataset.name)
    items: list[tuple[str, object]] = []
    for key, reader in DATASET_KEYS.items():
        value = getattr(dataset, DATASET_FIELDS.get(key, key))
        if value != getattr(plain, DATASET_FIELDS.get(key, key)):
            items.append((key, format_seconds(value) if reader is parse_seconds else value))
    return items


def _job_items(job: Job) -> list[tuple[str, object]]:
    plain = Job(job.name)
    items: list[tuple[str, object]] = []
    for key, (name, reader) in JOB_KEYS.items():
        value = getattr(job, name)
        if value == getattr(plain, name) or key == "environment":
            continue
        items.append((key, format_seconds(value) if reader is parse_seconds else value))
    return items
