"""A guard removed from the SQL, and the scenario that must then fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.store import test_in_place as in_place
from tests.store import test_leases as leases
from tests.store import test_operating as operating
from tests.store.world import World

Scenario = Callable[[World], object]


@dataclass(frozen=True)
class Mutant:
    """A query in which one guard is replaced, usually by nothing, and a scenario that must then fail.

    `constraint` names the constraint of the database that catches it, where the scenario fails through one.
    """

    query: str
    guard: str
    caught_by: Scenario
    instead: str = ""
    constraint: str = ""

    def __str__(self) -> str:
        return f"{self.query} without {' '.join(self.guard.split())}"


def leased(test: Callable[..., object], *more: object) -> Scenario:
    return lambda world: test(world, leases.make_run(world), *more)


def operated(test: Callable[..., object], *more: object) -> Scenario:
    return lambda world: test(world, operating.make_run(world), *more)


def rerun(test: Callable[..., object], *more: object) -> Scenario:
    return lambda world: test(in_place.make_rerun(world), *more)


LEASE = "AND lease_until > $lease_now"
BOOT = "AND clock_id = $clock_id"
R_LEASE = "AND r.lease_until > $lease_now"
R_BOOT = "AND r.clock_id = $clock_id"
EVERYTHING = ""
"""For a lock: the statement is skipped."""
