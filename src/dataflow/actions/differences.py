"""What a registration changes, field by field, as text; password records are never shown."""

from __future__ import annotations

from dataflow.config.declarations import DATASET_FIELDS, JOB_KEYS
from dataflow.model.record import names_of, record
from dataflow.model.url_text import masked_host, masked_pairs, without_secrets
from dataflow.model.wording import format_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Dataset, Job
    from dataflow.store.entries import JobEntry

ADDED, CHANGED, UNCHANGED = "added", "changed", "unchanged"

SHOWN_CHARACTERS = 200

_KEY_OF = {field: key for key, (field, _) in JOB_KEYS.items()}
_KEY_OF |= {field: key for key, field in DATASET_FIELDS.items()}


@record
class Difference:
    """One field before and after, as text; empty if it has no value."""

    field: str
    before: str
    after: str

    def __str__(self) -> str:
        if not self.before:
            return f"{self.field}: {self.after}"
        return f"{self.field}: {self.before} → {self.after or 'nothing'}"


@record
class Change:
    """The change of one dataset or job: added, changed or unchanged, and in which fields.

    `new_inputs` are the datasets that a job did not read before, `followers` the changes of jobs downstream.
    """

    kind: str
    name: str
    what: str
    differences: tuple[Difference, ...] = ()
    new_inputs: tuple[str, ...] = ()
    followers: tuple[Change, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.what}"


def compare(kind: str, before: Dataset | Job | None, after: Dataset | Job) -> Change:
    """Return the change from one record (None if it is new) to the next."""
    if before == after:
        return Change(kind, after.name, UNCHANGED)
    base = before if before is not None else type(after)(after.name)
    found = []
    for name in names_of(after):
        old, new = getattr(base, name), getattr(after, name)
        if old != new:
            found.append(_difference(name, "" if before is None else old, new))
    if before is None:
        return Change(kind, after.name, ADDED, tuple(found))
    old, new = getattr(before, "inputs", ()), getattr(after, "inputs", ())
    return Change(
        kind, after.name, CHANGED, tuple(found), tuple([str(item) for item in new if item not in old])
    )


def compare_days(before: JobEntry, after: JobEntry) -> Change:
    """Return the change of a job that follows the days of its inputs."""
    found = []
    if before.days != after.days:
        found.append(_days_difference("days", before.days, after.days))
    for item, old, new in zip(after.inputs, before.input_days, after.input_days, strict=True):
        if old != new:
            found.append(_days_difference(f"days of {item}", old, new))
    return Change("job", after.job.name, CHANGED if found else UNCHANGED, tuple(found))


def _days_difference(field: str, old: str, new: str) -> Difference:
    return Difference(field, old or "every day", new or "every day")


def _difference(field: str, old: object, new: object) -> Difference:
    if field == "encryptedpass":
        return Difference("password", "a password" if old else "", "a new password" if new else "")
    return Difference(_KEY_OF.get(field, field), _shown(field, old), _shown(field, new))


def _shown(field: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if field.endswith("_seconds") and isinstance(value, int | float):
        return format_seconds(value)
    if field in ("options", "environment") and isinstance(value, tuple):
        value = masked_pairs(value)
    if isinstance(value, tuple):
        value = ", ".join(["=".join(item) if isinstance(item, tuple) else str(item) for item in value])
    masks = {"location": without_secrets, "hostname": masked_host}
    text = masks.get(field, str)(str(value))
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}… ({len(text)} characters)"
