"""The guards in the statements that publish chunks, and in those of operators and registrations."""

from __future__ import annotations

from tests.store import second_lines as lines
from tests.store import test_claiming as claiming
from tests.store import test_finishing as finishing
from tests.store import test_in_place as in_place
from tests.store import test_leases as leases
from tests.store import test_operating as operating
from tests.store import test_order as order
from tests.store import test_publishing as publishing
from tests.store import test_registration as registration
from tests.store import test_snapshots as snapshots
from tests.store import test_tokens as tokens
from tests.store.mutants import Mutant, leased, operated, rerun

PUBLISH = [
    Mutant("publish.make_ready", ":again OR", publishing.test_ready_twice_counts_once, "TRUE OR"),
    Mutant(
        "publish.make_ready",
        "OR chunk.withdrawn",
        publishing.test_withdrawing_takes_readiness_away_and_ready_gives_it_back,
    ),
    Mutant(
        "publish.make_ready", "OR chunk.stale", publishing.test_a_stale_chunk_can_be_marked_ready_manually
    ),
    Mutant(
        "publish.make_ready",
        "OR chunk.dirty_run_id IS NOT NULL",
        rerun(in_place.test_marking_the_chunk_ready_manually_opens_it),
    ),
    Mutant(
        "publish.withdraw",
        "AND NOT withdrawn",
        publishing.test_withdrawing_takes_readiness_away_and_ready_gives_it_back,
    ),
    Mutant(
        "publish.withdraw",
        "NOT stale AND",
        publishing.test_a_stale_chunk_that_is_withdrawn_is_counted_as_lost_once,
    ),
    Mutant(
        "publish.withdraw",
        "AND dirty_run_id IS NULL",
        rerun(in_place.test_withdrawing_a_chunk_that_is_being_overwritten_counts_once),
    ),
    Mutant(
        "publish.find_chunk",
        "AND NOT stale",
        publishing.test_publishing_again_makes_finished_work_claimable_and_its_outputs_stale,
    ),
    Mutant(
        "publish.find_chunk",
        "AND NOT withdrawn",
        publishing.test_a_withdrawn_output_counts_once_it_is_made_again,
    ),
    Mutant(
        "publish.find_chunk",
        "AND dirty_run_id IS NULL",
        rerun(in_place.test_a_rerun_in_place_closes_the_chunk_until_it_is_published_again),
    ),
    Mutant(
        "change.make_stale",
        "AND NOT stale",
        publishing.test_publishing_again_and_again_takes_readiness_away_once,
    ),
    Mutant(
        "change.make_stale",
        "AND dirty_run_id IS NULL",
        rerun(in_place.test_a_chunk_that_becomes_stale_while_it_is_overwritten_is_counted_as_lost_once),
    ),
    Mutant(
        "change.make_stale",
        "NOT withdrawn AND",
        publishing.test_a_withdrawn_chunk_that_becomes_stale_is_counted_as_lost_once,
    ),
    Mutant(
        "publish.make_dirty",
        "AND dirty_run_id IS NULL",
        rerun(in_place.test_a_rerun_that_never_started_does_not_open_what_an_earlier_one_began_to_write),
    ),
    Mutant(
        "publish.make_dirty",
        "AND NOT withdrawn",
        rerun(in_place.test_a_withdrawn_chunk_is_counted_as_lost_once),
    ),
    Mutant("publish.make_dirty", "AND NOT stale", rerun(in_place.test_a_stale_chunk_is_counted_as_lost_once)),
    Mutant(
        "publish.make_clean",
        "dirty_run_id = :run_id",
        rerun(in_place.test_a_rerun_that_never_started_does_not_open_what_an_earlier_one_began_to_write),
        "dirty_run_id IS NOT NULL",
    ),
    Mutant(
        "publish.make_clean",
        "AND NOT withdrawn",
        rerun(in_place.test_withdrawing_a_chunk_that_is_being_overwritten_counts_once),
    ),
    Mutant("publish.make_clean", "AND NOT stale", rerun(in_place.test_a_stale_chunk_is_counted_as_lost_once)),
    Mutant(
        "publish.count_present",
        "(work_id, position) IN (SELECT w.work_id, calls.position",
        publishing.test_a_work_with_two_inputs_needs_both,
        "work_id IN (SELECT w.work_id",
    ),
    Mutant(
        "publish.count_missing", "AND x.present < x.needed", publishing.test_a_work_with_two_inputs_needs_both
    ),
    Mutant(
        "publish.arrive",
        "AND state = 'WAITING'",
        rerun(in_place.test_a_chunk_that_opens_again_does_not_disturb_the_run_that_reads_it),
    ),
    Mutant(
        "publish.arrive",
        "AND missing = 0",
        publishing.test_a_work_with_three_inputs_is_not_claimable_with_two,
    ),
    Mutant(
        "publish.arrive",
        "AND not_before IS NULL",
        finishing.test_an_input_published_again_does_not_shorten_a_wait,
        constraint="CHECK",
    ),
    Mutant(
        "publish.depart",
        "AND state = 'CLAIMABLE'",
        publishing.test_an_output_is_born_stale_when_its_input_was_withdrawn_meanwhile,
    ),
    Mutant(
        "publish.depart",
        "AND missing > 0",
        order.test_withdrawing_a_chunk_that_is_not_needed_changes_nothing,
    ),
    Mutant("publish.do_again", "AND state <> 'RUNNING'", lines.resubmitting_running_work),
    Mutant(
        "publish.do_again",
        "AND (:resubmitted OR state IN ('DONE', 'FAILED', 'INVALID'))",
        lines.renewing_open_work,
    ),
    Mutant(
        "publish.do_again",
        "outcome = 'CANCELLED' AND",
        publishing.test_publishing_again_makes_finished_work_claimable_and_its_outputs_stale,
    ),
    Mutant(
        "publish.do_again",
        "lease_until > $lease_now",
        operated(operating.test_a_revoked_run_that_ended_before_the_resubmit_is_not_waited_for),
        "TRUE",
    ),
    Mutant(
        "publish.do_again",
        "clock_id = $clock_id AND",
        leased(leases.test_a_revoked_run_of_the_previous_boot_is_not_waited_for),
    ),
    Mutant(
        "publish.do_again",
        "called_run_id = run_id,",
        lambda world: claiming.test_a_wall_clock_that_is_set_does_not_change_what_was_requested_again(
            world, "2020-01-01T00:00:00.000Z"
        ),
    ),
    Mutant(
        "publish.do_again",
        "missing > 0 OR",
        publishing.test_a_finished_work_whose_other_input_is_missing_waits_for_it,
    ),
    Mutant(
        "publish.do_again",
        "OR revoked.until IS NOT NULL",
        operated(operating.test_a_newer_input_does_not_start_a_run_while_a_revoked_one_may_be_alive),
        constraint="CHECK",
    ),
]

OPERATE = [
    Mutant(
        "operate.find_token",
        "WHERE token = :token",
        tokens.test_repeating_an_operator_verb_whose_answer_was_lost_returns_the_first_answer,
        "WHERE FALSE",
    ),
    Mutant(
        "operate.begin_token",
        "ON CONFLICT DO NOTHING",
        tokens.test_repeating_an_operator_verb_whose_answer_was_lost_returns_the_first_answer,
        constraint="UNIQUE",
    ),
    Mutant("operate.hold_work", "AND hold <> :hold", operating.test_holding_what_is_held_changes_nothing),
    Mutant("operate.hold_job", "AND hold <> :hold", operated(operating.test_a_job_on_hold_cannot_be_claimed)),
    Mutant(
        "operate.revoke_run",
        "AND ended_at IS NULL",
        operated(operating.test_an_ended_or_unknown_run_cannot_be_cancelled),
    ),
    Mutant(
        "operate.acknowledge",
        "AND claimant = :claimant",
        operated(operating.test_a_revoked_run_that_reports_its_end_ends_the_wait),
    ),
    Mutant(
        "operate.acknowledge",
        "outcome = 'CANCELLED' AND",
        operated(operating.test_acknowledging_does_not_affect_a_later_or_live_run),
    ),
    Mutant("operate.acknowledge_work", "AND run_id = :run_id", lines.acknowledging_for_a_later_run),
    Mutant("operate.mark", "AND state = :from_state", lines.marking_work_that_is_not_as_it_was_found),
    Mutant(
        "operate.purge_runs",
        "AND ended_at < :before",
        operated(operating.test_purging_deletes_old_history_and_keeps_what_current_state_refers_to),
    ),
    Mutant(
        "operate.purge_runs",
        "AND (SELECT count(*) FROM work w WHERE w.work_id = run.work_id AND w.run_id = run.run_id) = 0",
        operated(operating.test_purging_keeps_the_last_run_of_work_that_published_nothing),
    ),
    Mutant(
        "operate.purge_runs",
        "OR c.dirty_run_id = run.run_id",
        operated(operating.test_purging_keeps_the_run_that_left_a_chunk_dirty),
    ),
    Mutant(
        "operate.acknowledge_work",
        "WHEN missing = 0 THEN",
        operated(operating.test_the_end_of_a_revoked_run_does_not_replace_a_missing_input),
        "WHEN TRUE THEN",
    ),
    Mutant(
        "operate.purge_pins",
        "AND (SELECT count(*) FROM run r WHERE r.run_id = run_input.run_id) = 0",
        operated(operating.test_purging_keeps_the_pins_of_the_runs_it_keeps),
    ),
    Mutant(
        "operate.purge_runs",
        "c.run_id = run.run_id OR",
        operated(operating.test_purging_keeps_the_run_that_made_what_is_published),
    ),
]

REGISTRATION = [
    Mutant(
        "registration.reset_work",
        "WHEN state = 'CLAIMABLE' THEN",
        registration.test_a_job_that_gets_another_input_waits_for_it,
        "WHEN TRUE THEN",
    ),
    Mutant(
        "registration.delete_uncalled_inputs",
        "AND w.run_id = 0",
        registration.test_work_that_has_run_is_kept_even_if_no_input_calls_for_it,
    ),
    Mutant(
        "registration.delete_uncalled_inputs",
        "AND w.state = 'WAITING'",
        registration.test_work_marked_manually_is_kept_even_if_no_input_calls_for_it,
    ),
    Mutant(
        "registration.delete_uncalled_inputs",
        "AND x.present > 0",
        registration.test_a_job_whose_input_is_replaced_drops_work_that_no_input_calls_for,
    ),
    Mutant(
        "registration.move_calendar", "AND due_at = :was_due_at", lines.moving_a_calendar_that_somebody_moved
    ),
    Mutant(
        "registration.ready_chunks",
        "AND NOT withdrawn",
        registration.test_a_job_registered_after_its_input_was_ready_finds_its_work,
    ),
    Mutant(
        "registration.delete_uncalled",
        "AND run_id = 0",
        registration.test_work_that_has_run_is_kept_even_if_no_input_calls_for_it,
    ),
    Mutant(
        "registration.delete_uncalled",
        "AND state = 'WAITING'",
        registration.test_work_marked_manually_is_kept_even_if_no_input_calls_for_it,
    ),
    Mutant(
        "publish.clean_place",
        "AND NOT withdrawn",
        snapshots.test_a_withdrawn_snapshot_stays_withdrawn_when_its_location_is_complete_again,
    ),
    Mutant(
        "publish.clean_place",
        "AND NOT stale",
        snapshots.test_a_stale_snapshot_stays_stale_when_its_location_is_complete_again,
    ),
    Mutant(
        "registration.delete_uncalled_inputs",
        "AND NOT w.hold",
        registration.test_a_hold_outlasts_a_withdrawal_and_a_new_publish,
    ),
    Mutant(
        "registration.delete_uncalled",
        "AND NOT hold",
        registration.test_a_hold_outlasts_a_withdrawal_and_a_new_publish,
    ),
    Mutant(
        "registration.at_work",
        "AND ended_at IS NULL",
        registration.test_removing_a_job_removes_its_work_and_keeps_its_history,
    ),
]
