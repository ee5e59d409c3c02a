"""Names of datasets in a child's environment, and names that are reserved there."""

from __future__ import annotations

from functools import cache

from dataflow.model.mapping import SAME, SEVERAL_WORDS, word_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dataflow.model.records import Job, JobInput

FIELDS = (
    *("datasetid", "hostname", "database", "schemaname", "tablename", "username", "password"),
    *("location", "format", "grain", "timezone", "mode", "dataid", "version", "dataids", "missing"),
)
"""The fields that a child receives for each dataset, as `<dataset>_<field>`."""

RESERVED = ("dataid", "jobid", "PASSKEY")
RESERVED_PREFIX = "DATAFLOW_"


@cache
def shell_name(text: str) -> str:
    """Return the name with other characters replaced by underscores, and one before a leading digit."""
    name = "".join([letter if letter.isascii() and letter.isalnum() else "_" for letter in text])
    return "_" + name if name[:1].isdigit() else name


def input_prefixes(inputs: Sequence[JobInput], outputs: Iterable[str]) -> list[str]:
    """Return the prefix of each input's variables; the mapping distinguishes another dataid's chunk.

    An input with several chunks has the dataset's own prefix, unless the job uses the dataset in another way
    too.
    """
    taken = {*outputs, *(source.dataset for source in inputs if source.mapping == SAME)}
    found = []
    for source in inputs:
        word = word_of(source.mapping)
        is_plain = word == SAME or (word in SEVERAL_WORDS and source.dataset not in taken)
        if word != SAME and is_plain:
            taken.add(source.dataset)
        found.append(shell_name(source.dataset if is_plain else f"{source.dataset}_{word}"))
    return found


def find_collision(job: Job, inputs: Sequence[JobInput]) -> tuple[str, str, str] | None:
    """Return two datasets of a job whose variables would have the same prefix, and that prefix."""
    owners: dict[str, str] = {}
    names = [str(source) for source in inputs]
    named = list(zip(input_prefixes(inputs, job.outputs), names, strict=True))
    for prefix, owner in [*named, *((shell_name(name), name) for name in job.outputs)]:
        if owners.setdefault(prefix, owner) != owner:
            return owners[prefix], owner, prefix
    return None


def find_taken(name: str, job: Job, inputs: Sequence[JobInput]) -> str | None:
    """Return the owner of the variable that an environment item would hide; None if there is none."""
    if name in RESERVED or name.startswith(RESERVED_PREFIX):
        return "DataFlow"
    names = [source.dataset for source in inputs]
    owners = dict(zip(input_prefixes(inputs, job.outputs), names, strict=True))
    owners |= {shell_name(dataset): dataset for dataset in job.outputs}
    for prefix, dataset in owners.items():
        field = name.removeprefix(f"{prefix}_")
        if field != name and (field in FIELDS or field.startswith("option_")):
            return f"dataset {dataset}"
    return None
