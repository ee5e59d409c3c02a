"""The guards in the statements about days that a schedule leaves out."""

from __future__ import annotations

from tests.store import test_some_days as days
from tests.store.latest_mutants import beside
from tests.store.mutants import EVERYTHING, Mutant, Scenario


def flawed(flaw: str) -> Scenario:
    return lambda world: days.test_forced_work_does_not_count_a_chunk_that_is_not_ready(world, flaw)


def kept(touched: str) -> Scenario:
    return lambda world: days.test_a_schedule_that_leaves_a_day_out_keeps_what_was_marked_held_or_tried(
        world, touched
    )


def aged(touched: str) -> Scenario:
    return lambda world: days.test_an_interval_that_is_added_keeps_the_age_of_work_that_was_tried_or_marked(
        world, touched
    )


SOME_DAYS = [
    Mutant("publish.call_by_clock", "AND state IN ('WAITING', 'CLAIMABLE')", aged("marked")),
    Mutant("publish.call_by_clock", "AND run_id = 0", aged("tried")),
    Mutant("publish.arrive", "WHEN run_id = 0", aged("tried"), instead="WHEN TRUE"),
    Mutant("publish.ready_among", "AND NOT withdrawn", flawed("withdrawn")),
    Mutant("publish.ready_among", "AND NOT stale", flawed("stale")),
    Mutant("publish.ready_among", "AND dirty_run_id IS NULL", flawed("being overwritten")),
    Mutant(
        "publish.ready_among",
        "AND dataid IN (SELECT batch.dataid FROM $batch)",
        days.test_forced_work_does_not_count_the_chunk_of_another_day,
    ),
    Mutant("registration.delete_left_out", "AND state = 'WAITING'", kept("marked")),
    Mutant("registration.delete_left_out", "AND run_id = 0", kept("tried")),
    Mutant("registration.delete_left_out", "AND NOT hold", kept("held")),
]

SOME_DAYS_LOCKS = [
    Mutant("cover.lock", EVERYTHING, beside(test))
    for test in (
        days.test_work_forced_on_a_day_that_is_left_out_and_its_chunk_find_each_other,
        days.test_work_forced_on_a_day_that_is_left_out_beside_a_withdrawal_counts_nothing,
    )
]
