"""How datasets are called in a child's environment, and which names there are taken."""

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
"""What a child is told about each of its datasets, as `<dataset>_<field>`."""

RESERVED = ("dataid", "jobid", "PASSKEY")
RESERVED_PREFIX = "DATAFLOW_"


@cache
def shell_name(text: str) -> str:
    """What is no letter, digit or underscore becomes an underscore; a leading digit gets one in front."""
    name = "".join([letter if letter.isascii() and letter.isalnum() else "_" for letter in text])
    return "_" + name if name[:1].isdigit() else name


def input_prefix(source: JobInput) -> str:
    """What the variables of an input begin with: another dataid's chunk is told apart by its mapping."""
    name = source.dataset if source.mapping == "same" else f"{source.dataset}_{source.mapping}"
    return shell_name(name)


def find_collision(job: Job, inputs: Iterable[JobInput]) -> tuple[str, str, str] | None:
    """Two datasets of a job whose variables would have the same names, with what these begin with."""
    owners: dict[str, str] = {}
    named = [(input_prefix(source), str(source)) for source in inputs]
    for prefix, owner in [*named, *((shell_name(name), name) for name in job.outputs)]:
        if owners.setdefault(prefix, owner) != owner:
            return owners[prefix], owner, prefix
    return None


def find_taken(name: str, job: Job, inputs: Iterable[JobInput]) -> str | None:
    """Whose variable an environment item would hide: that of DataFlow or of a dataset; None if nobody's."""
    if name in RESERVED or name.startswith(RESERVED_PREFIX):
        return "DataFlow"
    owners = {input_prefix(source): source.dataset for source in inputs}
    owners |= {shell_name(dataset): dataset for dataset in job.outputs}
    for prefix, dataset in owners.items():
        field = name.removeprefix(f"{prefix}_")
        if field != name and (field in FIELDS or field.startswith("option_")):
            return f"dataset {dataset}"
    return None
