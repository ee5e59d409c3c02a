"""The guards in the statements about inputs mapped `latest`."""

from __future__ import annotations

from collections.abc import Callable

from tests.store import test_latest as latest
from tests.store import test_latest_races as races
from tests.store.mutants import EVERYTHING, Mutant, Scenario
from tests.store.world import World


def viewed(test: Scenario) -> Scenario:
    return lambda world: test(latest.make_view(world))


def chunk_that_covers_what_was_covered(world: World) -> None:
    """The count of what is present must be one, however many chunks cover it."""
    latest.make_view(world)
    world.ready("months", "2017-10", "2017-11")
    world.ready("snap", "2017-10-31")
    world.ready("snap", "2017-11-30")
    assert world.present("to_view", "2017-10") == [(1, 1), (1, 1)]


COVER = [
    Mutant(
        "cover.newest_ready",
        "AND NOT withdrawn",
        viewed(latest.test_a_withdrawn_chunk_is_skipped),
    ),
    Mutant("cover.newest_ready", "AND NOT stale", latest.test_a_closed_or_stale_chunk_is_skipped),
    Mutant(
        "cover.newest_ready",
        "AND dirty_run_id IS NULL",
        latest.test_a_chunk_that_is_being_overwritten_is_not_read,
    ),
    Mutant(
        "cover.newest_ready",
        "DESC",
        viewed(latest.test_work_whose_chunk_is_withdrawn_reads_an_older_one_that_covers_it_or_waits),
    ),
    Mutant(
        "cover.work_between", "AND sort_key > :after", chunk_that_covers_what_was_covered, "AND :after <> '-'"
    ),
    Mutant(
        "cover.work_between",
        "AND sort_key <= :until",
        latest.test_hours_are_covered_by_their_day,
        "AND :until <> '-'",
    ),
    Mutant(
        "cover.pin",
        "AND :sort_key <= i.reach",
        viewed(latest.test_forced_work_reads_the_latest_if_it_covers_it),
        "AND :sort_key <> ''",
    ),
    Mutant(
        "registration.insert_work_inputs",
        "AND w.sort_key <= i.reach",
        latest.test_a_job_that_gets_a_latest_input_waits_for_it_until_it_is_removed,
    ),
    Mutant(
        "registration.insert_work_inputs",
        "WHEN i.mapping IN ('latest', 'all') AND",
        viewed(latest.test_work_that_has_run_and_that_no_input_calls_for_counts_what_covers_it),
        "WHEN FALSE AND",
    ),
    Mutant(
        "registration.count_missing",
        "AND x.present < x.needed",
        viewed(latest.test_work_that_has_run_and_that_no_input_calls_for_counts_what_covers_it),
    ),
    Mutant(
        "registration.delete_uncalled_inputs",
        "AND i.mapping NOT IN ('latest', 'all')",
        viewed(latest.test_a_covering_chunk_does_not_keep_work_that_no_input_calls_for),
    ),
]

PIN_READY = [
    Mutant(
        "claim.pin_ready",
        "AND r.claimant = :claimant",
        viewed(latest.test_a_run_of_another_claimant_pins_nothing),
        "AND :claimant <> '-'",
    ),
    Mutant(
        "claim.pin_ready",
        "AND r.ended_at IS NULL",
        viewed(latest.test_a_run_that_has_ended_pins_nothing_more),
    ),
    Mutant(
        "claim.pin_ready",
        "AND NOT c.withdrawn",
        viewed(latest.test_a_run_that_pins_all_ready_chunks_depends_on_each),
    ),
    Mutant("claim.pin_ready", "AND NOT c.stale", lambda world: latest.pin_beside(world, "stale")),
    Mutant(
        "claim.pin_ready",
        "AND c.dirty_run_id IS NULL\nON CONFLICT",
        lambda world: latest.pin_beside(world, "being overwritten"),
        "ON CONFLICT",
    ),
]


def beside(test: Callable[[World, int], object]) -> Scenario:
    return lambda world: test(world, 0)


COVER_LOCKS = [
    Mutant("cover.lock", EVERYTHING, beside(test))
    for test in (
        races.test_new_work_and_the_chunk_that_covers_it_find_each_other,
        races.test_new_work_waits_when_its_chunk_is_withdrawn_at_the_same_time,
        races.test_forced_work_and_the_chunk_that_covers_it_find_each_other,
        races.test_neither_of_two_chunks_withdrawn_at_once_is_the_newest,
        races.test_a_withdrawn_chunk_is_replaced_by_an_older_one_published_at_the_same_time,
    )
]
