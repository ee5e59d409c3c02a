"""Names of datasets in a child's environment, and names that are reserved there."""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataflow.model.records import Job, JobInput

FIELDS = (
    *("datasetid", "hostname", "database", "schemaname", "tablename", "username", "password"),
    *("location", "format", "grain", "timezone", "mode", "dataid", "version"),
)
"""The fields that a child receives for each dataset, as `<dataset>_<field>`."""

RESERVED = ("dataid", "jobid", "PASSKEY")
RESERVED_PREFIX = "DATAFLOW_"


@cache
def shell_name(text: str) -> str:
    """Return the name with other characters replaced by underscores, and one before a leading digit."""
    name = "".join([letter if letter.isascii() and letter.isalnum() else "_" for letter in text])
    return "_" + name if name[:1].isdigit() else name


def input_prefix(source: JobInput) -> str:
    """Return the prefix of an input's variables; the mapping distinguishes another dataid's chunk."""
    name = source.dataset if source.mapping == "same" else f"{source.dataset}_{source.mapping}"
    return shell_name(name)


def find_collision(job: Job, inputs: Iterable[JobInput]) -> tuple[str, str, str] | None:
    """Return two datasets of a job whose variables would have the same prefix, and that prefix."""
    owners: dict[str, str] = {}
    named = [(input_prefix(source), str(source)) for source in inputs]
    for prefix, owner in [*named, *((shell_name(name), name) for name in job.outputs)]:
        if owners.setdefault(prefix, owner) != owner:
            return owners[prefix], owner, prefix
    return None


def find_taken(name: str, job: Job, inputs: Iterable[JobInput]) -> str | None:
    """Return the owner of the variable that an environment item would hide; None if there is none."""
    if name in RESERVED or name.startswith(RESERVED_PREFIX):
        return "DataFlow"
    owners = {input_prefix(source): source.dataset for source in inputs}
    owners |= {shell_name(dataset): dataset for dataset in job.outputs}
    for prefix, dataset in owners.items():
        field = name.removeprefix(f"{prefix}_")
        if field != name and (field in FIELDS or field.startswith("option_")):
            return f"dataset {dataset}"
    return None
