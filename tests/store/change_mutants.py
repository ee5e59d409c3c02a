"""Guards of what becomes stale and current again, each with the scenario that fails without it."""

from __future__ import annotations

from tests.store import second_lines as lines
from tests.store import test_change as change
from tests.store import test_latest as latest
from tests.store.latest_mutants import viewed
from tests.store.mutants import Mutant, Scenario


def when(on_change: str) -> Scenario:
    return lambda world: change.test_a_run_that_reads_wrong_data_publishes_nothing_current(
        world, on_change, is_back=True
    )


CHANGE = [
    Mutant(
        "change.made_from",
        "AND made.run_id = r.run_id",
        change.test_a_result_is_stale_by_what_it_was_made_from_even_if_its_job_reads_something_else,
    ),
    Mutant(
        "change.made_from",
        "(:wrong OR i.version < c.version)",
        change.test_wrong_data_from_outside_is_withdrawn_and_all_made_from_it_waits_for_it,
        "i.version < c.version",
    ),
    Mutant(
        "change.made_from",
        "AND c.dataid IN (SELECT batch.dataid FROM $batch)",
        change.test_wrong_data_of_one_dataid_says_nothing_about_the_others,
    ),
    Mutant(
        "change.tried_with",
        "AND w.run_id = r.run_id",
        change.test_a_failed_attempt_is_not_repeated_for_a_chunk_that_an_earlier_one_read,
    ),
    Mutant(
        "change.tried_with",
        "AND EXISTS (SELECT 1 FROM job_input x WHERE x.job_id = w.job_id AND x.dataset_id = :dataset_id)",
        change.test_work_that_failed_with_an_input_it_no_longer_reads_is_not_tried_again,
    ),
    Mutant(
        "change.tried_with",
        "OR w.state = 'DONE'",
        viewed(latest.test_work_marked_done_manually_depends_on_the_chunk_its_last_run_read),
        "OR w.state = ''",
    ),
    Mutant(
        "change.done_without_output",
        "AND w.run_id = i.run_id",
        change.test_work_without_outputs_that_has_read_other_data_since_is_left_alone,
    ),
    Mutant(
        "change.done_without_output",
        "AND made.run_id = i.run_id",
        change.test_work_without_outputs_that_read_a_result_remade_since_is_left_alone,
    ),
    Mutant(
        "change.done_without_output",
        "SELECT DISTINCT w.job_id",
        change.test_work_without_outputs_that_read_wrong_data_is_done_again,
        "SELECT DISTINCT -w.job_id",
    ),
    Mutant(
        "change.made_down_the_line",
        "AND (:wrong OR j.on_change <> 'ignore')",
        change.test_staleness_down_the_line_stops_at_a_job_that_ignores_changes,
    ),
    Mutant(
        "change.made_down_the_line",
        "(:wrong OR j.on_change <> 'ignore')",
        change.test_wrong_data_reaches_a_result_whose_job_ignored_that_its_input_was_stale,
        "j.on_change <> 'ignore'",
    ),
    Mutant(
        "change.made_down_the_line",
        "WHERE :wrong OR NOT made.stale)",
        change.test_what_is_current_by_an_operators_word_stays_so_when_a_stale_input_has_another_reason,
        ")",
    ),
    Mutant(
        "change.made_down_the_line",
        "AND made.run_id = i.run_id",
        change.test_a_result_that_was_remade_from_something_else_is_not_stale_down_the_line,
    ),
    Mutant(
        "change.make_outdated",
        "outdated = TRUE",
        change.test_a_result_whose_own_inputs_changed_stays_stale_when_another_is_accepted,
        "outdated = outdated",
    ),
    Mutant(
        "change.policies",
        "late_after_seconds > 0",
        lambda world: change.test_a_change_that_comes_late_asks(world, 8, "DONE"),
        "FALSE",
    ),
    Mutant(
        "change.late_among",
        "AND r.ended_at < :before",
        lambda world: change.test_a_change_that_comes_late_asks(world, 6, "CLAIMABLE"),
        "AND :before <> ''",
    ),
    Mutant(
        "change.make_current",
        "NOT withdrawn AND",
        lines.accepting_a_withdrawn_chunk,
    ),
    Mutant("change.make_current", "AND dirty_run_id IS NULL", lines.accepting_a_chunk_that_is_overwritten),
    Mutant("change.make_current", "AND stale", lines.accepting_a_current_chunk),
    Mutant(
        "change.make_current",
        "ELSE version - 1",
        change.test_a_run_that_ignores_a_change_of_what_was_accepted_publishes_a_current_result,
        "ELSE wrong_version",
    ),
    Mutant("change.settle", "AND state <> 'RUNNING'", lines.settling_running_work),
    Mutant(
        "change.settle_followers",
        "AND NOT resubmitted",
        change.test_work_that_an_operator_resubmitted_stays_so_when_its_input_is_accepted,
    ),
    Mutant(
        "change.settle_followers",
        "AND state IN ('WAITING', 'CLAIMABLE')",
        change.test_failed_work_stays_failed_when_its_input_is_accepted,
    ),
    Mutant(
        "change.current_again",
        "AND NOT made.outdated",
        change.test_a_result_whose_own_inputs_changed_stays_stale_when_another_is_accepted,
    ),
    Mutant(
        "change.current_again",
        "AND p.stale",
        change.test_a_result_with_another_stale_input_stays_stale_when_one_is_accepted,
        "AND FALSE",
    ),
    Mutant("finish.count_moved_pins", "i.version <= c.wrong_version", when("ignore"), "FALSE"),
    Mutant("finish.count_moved_pins", "i.version <= c.wrong_version", when("ask"), "FALSE"),
]
