"""The graph of jobs: no dataset has two producers, and no job waits for itself."""

from __future__ import annotations

from dataflow.errors import Conflict
from dataflow.model.mapping import PREVIOUS
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
    """Raise Conflict if a changed job would wait for its own output; a `previous` input waits for nothing."""
    consumers: dict[str, list[str]] = {}
    for job in jobs.values():
        for source in job.inputs:
            if source.mapping != PREVIOUS:
                consumers.setdefault(source.dataset, []).append(job.name)
    stuck = _list_stuck(jobs, consumers)
    for name in changed:
        cycle = _find_cycle(name, jobs, consumers) if name in stuck else []
        if cycle:
            raise Conflict(
                f"These jobs would wait for each other forever: {' → '.join(cycle)}. "
                f"Remove an input, or read the previous dataid: --in DATASET:{PREVIOUS}"
            )


def find_open_chain(job: Job) -> str | None:
    """Return the output whose previous dataid a job reads, if no --start names the first."""
    own = (item.dataset for item in job.inputs if item.mapping == PREVIOUS and item.dataset in job.outputs)
    return None if job.start else next(own, None)


def _list_stuck(jobs: Mapping[str, Job], consumers: Mapping[str, list[str]]) -> set[str]:
    """Return jobs on a cycle or downstream of one: those without a topological order."""
    after = {
        job.name: [name for made in job.outputs for name in consumers.get(made, ())] for job in jobs.values()
    }
    waits = dict.fromkeys(jobs, 0)
    for names in after.values():
        for name in names:
            waits[name] += 1
    free = [name for name, count in waits.items() if not count]
    for name in free:
        for following in after[name]:
            waits[following] -= 1
            if not waits[following]:
                free.append(following)
    return jobs.keys() - free


def _find_cycle(name: str, jobs: Mapping[str, Job], consumers: Mapping[str, list[str]]) -> list[str]:
    """Return the shortest path from a job back to itself; empty if there is none."""
    came_from: dict[str, str] = {}
    ahead = [name]
    for current in ahead:
        for output in jobs[current].outputs:
            for following in consumers.get(output, ()):
                if following == name:
                    way = [current]
                    while way[-1] != name:
                        way.append(came_from[way[-1]])
                    return [*reversed(way), name]
                if following not in came_from:
                    came_from[following] = current
                    ahead.append(following)
    return []
