"""The graph of jobs: no dataset has two producers, and no job waits for itself."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from dataflow.errors import Conflict
from dataflow.model.mapping import PREVIOUS, is_lagging
from dataflow.store.registry import second_producer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dataflow.model.records import Job


def check_producers(jobs: Iterable[Job], changed: Iterable[str]) -> None:
    """Raise Conflict if a dataset is an output of two jobs; the message names the changed job."""
    producers: dict[str, str] = {}
    for job in jobs:
        for name in job.outputs:
            other = producers.setdefault(name, job.name)
            if other == job.name:
                continue
            kept, wanted = (job.name, other) if other in changed else (other, job.name)
            raise second_producer(name, kept, wanted)


def check_cycles(jobs: Mapping[str, Job], changed: Iterable[str]) -> None:
    """Raise Conflict if a changed job would wait for its own output; an earlier chunk waits for nothing."""
    producers = {name: job.name for job in jobs.values() for name in job.outputs}
    waits_for = {
        job.name: [
            producers[source.dataset]
            for source in job.inputs
            if not is_lagging(source.mapping) and source.dataset in producers
        ]
        for job in jobs.values()
    }
    try:
        TopologicalSorter(waits_for).prepare()
    except CycleError as error:
        # There was none before, so a changed job is on it: name that one first.
        _, *cycle = error.args[1]
        first = cycle.index(next((name for name in changed if name in cycle), cycle[0]))
        names = [*cycle[first:], *cycle[: first + 1]]
        raise Conflict(
            f"These jobs would wait for each other forever: {' → '.join(names)}. "
            f"Remove an input, or read the previous dataid: --in DATASET:{PREVIOUS}"
        ) from None


def find_open_chain(job: Job) -> str | None:
    """Return the output whose earlier dataids a job reads, if no --start names the first."""
    own = (item.dataset for item in job.inputs if is_lagging(item.mapping) and item.dataset in job.outputs)
    return None if job.start else next(own, None)
