"""Rules for a dataset before it is registered, and for the names of datasets and jobs.

Nothing here reads the store; registry_draft.py checks whether a dataset is used or has chunks.
"""

from __future__ import annotations

import re

from dataflow.actions.locations import FIELDS
from dataflow.actions.shell_names import shell_name
from dataflow.errors import BadInput
from dataflow.model.grain import check_timezone, parse_grain
from dataflow.model.record import names_of, replace
from dataflow.model.records import Dataset
from dataflow.model.url_text import holds_secret, is_secret, masked_host, without_secrets
from dataflow.model.wording import did_you_mean, quoted
from dataflow.store.registry import CALENDAR_SUFFIX

TODAY = "today"
MODES = ("partition", "snapshot")
LONGEST_NAME = 100
NAME_RULE = (
    f"A name has 1 to {LONGEST_NAME} letters, digits, underscores, dots and dashes, and starts with a "
    "letter or digit."
)

_NOT_IN_PLAIN_TEXT = (
    "contains a password or another secret, which is not kept in plain text. Leave it out, and store it "
    "encrypted: dataflow dataset add {} --password-stdin. Scripts get it as {}_password."
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_BRACES = re.compile(r"\{[^{}]*\}|[{}]")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{38,}={0,2}")  # the seed's records: at least 28 bytes


def check_name(kind: str, name: str) -> str:
    """Return the name; BadInput if it is not valid for a dataset or job."""
    if _NAME.fullmatch(name) and len(name) <= LONGEST_NAME:
        return name
    raise BadInput(f"{quoted(name)} is not a valid name for a {kind}: {_why_no_name(name)}. {NAME_RULE}")


def is_automatic(name: str) -> bool:
    """True for the calendars that DataFlow creates and fills."""
    return name == TODAY or name.endswith(CALENDAR_SUFFIX)


def refuse_automatic(name: str, wish: str) -> None:
    """Raise BadInput if the dataset is a calendar that DataFlow maintains."""
    if is_automatic(name):
        raise BadInput(
            f"Dataset {name} is a calendar that DataFlow maintains; it {wish}. "
            "To change a job's schedule: dataflow job add JOB --schedule …"
        )


def check_dataset(dataset: Dataset, before: Dataset | None = None) -> Dataset:
    """Return the dataset in canonical form; BadInput for the first invalid field."""
    check_name("dataset", dataset.name)
    refuse_automatic(dataset.name, "cannot be added or changed directly")
    try:
        _check_texts(dataset)
        _check_mode(dataset.mode)
        if before is None or dataset.location != before.location:
            _check_location(dataset)
        _check_options(dataset.options)
        _refuse_secrets(dataset, before)
        if before is None or dataset.encryptedpass != before.encryptedpass:
            _check_record(dataset.encryptedpass)
        grain, timezone = parse_grain(dataset.grain).value, check_timezone(dataset.timezone)
        due_by = _check_due_by(dataset.due_by, grain) if dataset.due_by else ""
    except BadInput as error:
        raise BadInput(f"Dataset {dataset.name}: {error}") from error
    options = tuple(sorted(dataset.options))
    return replace(dataset, grain=grain, timezone=timezone, options=options, due_by=due_by)


def check_text(what: str, text: str) -> None:
    """Raise BadInput for text that a process or the store cannot hold."""
    if "\0" in text:
        raise BadInput(f"{what} contains NUL. Remove it.")
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise BadInput(f"{what} is not valid UTF-8. Write it in UTF-8.")


def _check_texts(dataset: Dataset) -> None:
    for name in names_of(dataset):
        value = getattr(dataset, name)
        if isinstance(value, str):
            check_text(name, value)


def _check_mode(mode: str) -> None:
    if mode not in MODES:
        raise BadInput(
            f"{quoted(mode)} is not a mode.{did_you_mean(mode, MODES)} Known modes: {', '.join(MODES)}."
        )


def _check_due_by(due_by: str, grain: str) -> str:
    from dataflow.model.freshness import WITHOUT_TIME, parse_due_by  # start-up: few datasets have one

    if grain in WITHOUT_TIME:
        raise BadInput(
            f"due_by needs dataids with a time, and those of grain {grain} have none. Use --fresh-within, "
            "which counts from the last publication, or another --grain."
        )
    try:
        return parse_due_by(due_by)
    except BadInput as error:
        raise BadInput(f"due_by {error}") from error


def _check_location(dataset: Dataset) -> None:
    location = dataset.location
    if holds_secret(location):
        # What follows a secret may belong to it.
        shown = without_secrets(location).partition("***")[0] + "***"
        raise BadInput(
            f"location {quoted(shown)} " + _NOT_IN_PLAIN_TEXT.format(dataset.name, shell_name(dataset.name))
        )
    for found in _BRACES.findall(location):
        field = found.strip("{}")
        if field not in FIELDS or len(found) < len(field) + 2:
            known = ", ".join([f"{{{name}}}" for name in FIELDS])
            hint = did_you_mean(field, FIELDS)
            raise BadInput(
                f"location {quoted(location)} uses the unknown field {quoted(found)}.{hint} Known: {known}."
            )


def _check_options(options: tuple[tuple[str, str], ...]) -> None:
    seen: dict[str, str] = {}
    for key, value in options:
        if not key:
            raise BadInput("an option has no name. Write --option NAME=VALUE.")
        check_text(f"option {key}", key + value)
        other = seen.setdefault(shell_name(key), key)
        if other != key:
            raise BadInput(
                f"options {other} and {key} would become the same variable in a script. Rename one of them."
            )


def _refuse_secrets(dataset: Dataset, before: Dataset | None) -> None:
    """Refuse plain secrets beside the location; a store keeps those it has."""
    known = before.options if before else ()
    found = [f"option {pair[0]}" for pair in dataset.options if is_secret(*pair) and pair not in known]
    if masked_host(dataset.hostname) != dataset.hostname and (
        not before or dataset.hostname != before.hostname
    ):
        found.append(f"hostname {quoted(masked_host(dataset.hostname))}")
    if found:
        raise BadInput(f"{found[0]} {_NOT_IN_PLAIN_TEXT.format(dataset.name, shell_name(dataset.name))}")


def _check_record(record: str) -> None:
    # Imported here because only datasets with a password need it.
    from dataflow.secrets.cipher import salt_of

    if record and salt_of(record) is None and not _BASE64.fullmatch(record):
        raise BadInput(
            "encryptedpass is not an encrypted record, and a password is never stored in plain text. "
            "Create one: dataflow secret encrypt --dataset NAME"
        )


def _why_no_name(name: str) -> str:
    if not name or len(name) > LONGEST_NAME:
        return f"it is {len(name)} characters long" if name else "it is empty"
    for position, letter in enumerate(name, start=1):
        if not re.match("[A-Za-z0-9_.-]", letter):
            return f"character {position} is {quoted(letter)}"
    return f"it starts with {quoted(name[0])}"
