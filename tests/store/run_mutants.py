"""The guards in the statements that give work to runs and take it back."""

from __future__ import annotations

from dataflow.model.status import RunOutcome
from tests.store import second_lines as lines
from tests.store import test_claiming as claiming
from tests.store import test_ending_runs as ending_runs
from tests.store import test_finishing as finishing
from tests.store import test_in_place as in_place
from tests.store import test_leases as leases
from tests.store import test_operating as operating
from tests.store import test_order as order
from tests.store import test_publishing as publishing
from tests.store import test_tokens as tokens
from tests.store.mutants import BOOT, LEASE, R_BOOT, R_LEASE, Mutant, leased, operated, rerun

CLAIM = [
    Mutant(
        "claim.look",
        "OR r.clock_id <> $clock_id",
        leased(leases.test_a_reboot_loses_the_runs_of_the_machine),
    ),
    Mutant(
        "claim.look",
        "r.lease_until <= $lease_now OR",
        leased(leases.test_a_lapsed_lease_is_freed_by_the_next_claim),
    ),
    Mutant("claim.at_work", "AND ended_at IS NULL", claiming.test_no_more_runs_than_the_limit_are_live),
    Mutant(
        "claim.at_work",
        "lease_until > $lease_now",
        claiming.test_a_lapsed_run_does_not_count_against_the_limit,
        "TRUE",
    ),
    Mutant("claim.at_work", BOOT, leases.test_a_run_of_the_previous_boot_neither_counts_nor_reads),
    Mutant("claim.list_lapsed", "AND r.ended_at IS NULL", lines.listing_ended_runs_as_lapsed),
    Mutant("claim.list_lapsed", "r.lease_until <= $lease_now", lines.listing_live_runs_as_lapsed, "TRUE"),
    Mutant(
        "claim.list_lapsed",
        "OR r.clock_id <> $clock_id",
        leased(leases.test_a_reboot_loses_the_runs_of_the_machine),
    ),
    Mutant(
        "claim.list_lapsed",
        "OR r.claimant IN (SELECT ids.id FROM $names)",
        leased(leases.test_a_dead_process_is_noticed_at_once),
    ),
    Mutant(
        "claim.list_lapsed",
        ":any_kind OR NOT r.has_kill_command OR",
        leases.test_a_run_with_a_kill_command_is_freed_only_after_the_command_has_run,
        ":any_kind OR TRUE OR",
    ),
    Mutant(
        "claim.list_claimants", "AND ended_at IS NULL", leased(leases.test_a_dead_process_is_noticed_at_once)
    ),
    Mutant("claim.list_claimants", "AND host = :host", leased(leases.test_a_dead_process_is_noticed_at_once)),
    Mutant(
        "claim.list_claimants",
        "AND boot_id = :boot_id",
        leased(leases.test_a_dead_process_is_noticed_at_once),
    ),
    Mutant(
        "claim.list_claimants",
        "AND claimant <> :claimant",
        leased(leases.test_a_dead_process_is_noticed_at_once),
    ),
    Mutant("claim.free_run", "AND ended_at IS NULL", lines.freeing_an_ended_run),
    Mutant("claim.free_run", "lease_until <= $lease_now", lines.freeing_a_live_run, "TRUE"),
    Mutant("claim.free_run", "OR clock_id <> $clock_id", lines.freeing_a_run_of_the_boot_before),
    Mutant(
        "claim.free_run", "OR claimant IN (SELECT ids.id FROM $names)", lines.freeing_a_run_of_a_dead_claimant
    ),
    Mutant(
        "claim.promote",
        "AND not_before <= $lease_then",
        finishing.test_a_wait_that_is_over_ends_no_other_wait,
    ),
    Mutant(
        "claim.end_old_waits",
        "AND (not_before_clock < $clock_id OR not_before_clock > $clock_id)",
        finishing.test_a_reboot_ends_only_the_waits_of_the_previous_boot,
    ),
    Mutant(
        "claim.promote",
        "WHEN missing = 0 THEN",
        finishing.test_a_wait_that_is_over_does_not_replace_a_missing_input,
        "WHEN TRUE THEN",
    ),
    Mutant(
        "claim.promote",
        "AND NOT EXISTS (SELECT 1 FROM run r WHERE r.run_id = work.run_id AND $ending)",
        ending_runs.test_a_wait_for_a_revoked_run_ends_no_sooner_than_the_run,
    ),
    Mutant(
        "claim.shorten_leases",
        "outcome = 'CANCELLED'",
        leases.test_a_store_clock_that_jumps_back_does_not_prolong_the_end_of_a_revoked_run,
        "FALSE",
    ),
    Mutant(
        "claim.shorten_leases",
        "ended_at IS NULL",
        leases.test_a_store_clock_that_jumps_back_does_not_prolong_a_lease,
        "FALSE",
    ),
    Mutant(
        "claim.shorten_leases",
        "AND lease_until > $lease_now + lease_seconds",
        leased(leases.test_a_lapsed_lease_is_freed_by_the_next_claim),
    ),
    Mutant(
        "claim.shorten_waits",
        "not_before > $lease_then + (",
        leases.test_a_lapsed_lease_does_not_prolong_the_wait_of_other_work,
        "not_before > 0 * (",
    ),
    Mutant(
        "claim.end_revoked",
        "AND outcome = 'CANCELLED'",
        ending_runs.test_only_a_revoked_run_is_ended_by_reporting_it_killed,
    ),
    Mutant(
        "claim.next_work",
        "AND state = 'CLAIMABLE'",
        finishing.test_invalid_work_is_never_retried_and_publishes_nothing,
    ),
    Mutant("claim.next_work", "AND hold = FALSE", operated(operating.test_work_on_hold_is_skipped)),
    Mutant("claim.next_work", "priority DESC, ", claiming.test_priority_goes_before_order),
    Mutant(
        "claim.next_work",
        "priority DESC, sort_key",
        claiming.test_work_is_claimed_in_natural_order,
        "priority DESC, dataid",
    ),
    Mutant(
        "claim.next_ordered",
        "AND state <> 'DONE'",
        order.test_an_ordered_job_takes_one_dataid_after_the_other,
    ),
    Mutant(
        "claim.next_ordered",
        "ORDER BY sort_key",
        order.test_ordered_free_text_has_no_gaps,
        "ORDER BY sort_key DESC",
    ),
    Mutant(
        "claim.earlier_work", "AND sort_key < :sort_key", order.test_a_failed_dataid_blocks_the_later_ones
    ),
    Mutant("claim.take", "AND state = :state", lines.taking_work_that_is_not_as_it_was_found),
    Mutant(
        "claim.take",
        "OR state IN ('DONE', 'FAILED', 'INVALID')",
        claiming.test_a_failed_forced_run_is_repeated_by_the_ordinary_command,
    ),
    Mutant(
        "claim.take",
        "THEN run_id",
        claiming.test_a_run_knows_earlier_unfinished_runs_and_whether_the_work_was_requested_again,
        "THEN called_run_id",
    ),
    Mutant("claim.take", "AND run_id < :run_id", lines.taking_work_for_a_run_older_than_its_last),
    Mutant(
        "claim.pin_chunk", "AND NOT c.withdrawn", claiming.test_a_forced_run_does_not_read_withdrawn_chunks
    ),
    Mutant("claim.readers", "r.ended_at IS NULL AND", claiming.test_a_finished_reader_is_no_longer_listed),
    Mutant("claim.readers", R_LEASE, rerun(in_place.test_a_dead_reader_blocks_nothing)),
    Mutant("claim.readers", R_BOOT, leases.test_a_run_of_the_previous_boot_neither_counts_nor_reads),
    Mutant(
        "claim.readers",
        "AND i.run_id <> :run_id",
        in_place.test_a_run_is_not_listed_as_a_reader_of_what_it_overwrites,
    ),
    Mutant(
        "claim.find_by_token",
        "ended_at IS NOT NULL",
        tokens.test_a_repeated_claim_does_not_return_a_run_cancelled_meanwhile,
        "FALSE",
    ),
    Mutant(
        "claim.renew", "AND claimant = :claimant", leased(leases.test_a_run_is_renewed_only_by_its_claimant)
    ),
    Mutant("claim.renew", "AND ended_at IS NULL", leased(leases.test_an_ended_run_cannot_be_renewed)),
    Mutant(
        "claim.renew",
        LEASE,
        leased(leases.test_a_lapsed_lease_cannot_be_renewed_even_if_the_work_is_unclaimed),
    ),
    Mutant("claim.renew", BOOT, leased(leases.test_a_reboot_loses_the_runs_of_the_machine)),
    Mutant(
        "claim.still_held",
        "AND claimant = :claimant",
        leased(leases.test_a_run_is_renewed_only_by_its_claimant),
    ),
    Mutant(
        "claim.still_held",
        "AND ended_at IS NULL",
        leased(leases.test_a_renewal_names_the_runs_that_are_still_held),
    ),
    Mutant(
        "claim.last_run",
        "outcome = 'CANCELLED' AND",
        claiming.test_work_that_has_just_ended_is_forced_at_once,
    ),
    Mutant(
        "claim.last_run",
        "lease_until > $lease_now",
        claiming.test_work_is_not_forced_while_a_revoked_run_may_be_alive,
        "TRUE",
    ),
    Mutant(
        "claim.last_run",
        "clock_id = $clock_id AND",
        claiming.test_a_revoked_run_of_the_previous_boot_does_not_block_force,
    ),
    Mutant("claim.set_script_path", "AND script_path = ''", lines.remembering_another_script),
]

FINISH = [
    Mutant(
        "finish.count_newer_inputs",
        "AND c.version <> i.version",
        finishing.test_a_failed_attempt_is_retried_after_the_delay_while_attempts_are_left,
    ),
    Mutant(
        "finish.work_outdated",
        "WHEN missing = 0 THEN",
        lambda world: finishing.test_a_new_version_published_while_a_run_failed_is_tried(
            world, RunOutcome.FAILED, False
        ),
        "WHEN FALSE THEN",
    ),
    Mutant(
        "finish.work_outdated",
        "called_run_id = run_id,",
        claiming.test_an_input_that_changes_during_a_run_requests_the_work_again,
    ),
    Mutant(
        "finish.end_run",
        "AND claimant = :claimant",
        leased(leases.test_a_run_is_finished_only_by_its_claimant),
    ),
    Mutant("finish.end_run", "AND ended_at IS NULL", leased(leases.test_a_run_finishes_once)),
    Mutant("finish.end_run", LEASE, leased(leases.test_a_lapsed_run_may_not_finish)),
    Mutant("finish.end_run", BOOT, leased(leases.test_a_reboot_loses_the_runs_of_the_machine)),
    Mutant(
        "finish.count_moved_pins",
        "c.version <> i.version OR",
        publishing.test_an_output_is_born_stale_when_its_input_changed_while_it_was_made,
    ),
    Mutant(
        "finish.count_moved_pins",
        "OR c.withdrawn",
        publishing.test_an_output_is_born_stale_when_its_input_was_withdrawn_meanwhile,
    ),
    Mutant(
        "finish.count_moved_pins",
        "OR c.stale",
        publishing.test_an_output_is_born_stale_when_its_input_became_stale_meanwhile,
    ),
    Mutant(
        "finish.count_moved_pins",
        "OR c.dirty_run_id IS NOT NULL",
        rerun(in_place.test_an_output_made_from_a_chunk_that_was_being_overwritten_is_stale),
    ),
    Mutant(
        "finish.work_outdated",
        "WHEN missing = 0 THEN",
        publishing.test_an_output_is_born_stale_when_its_input_was_withdrawn_meanwhile,
        "WHEN TRUE THEN",
    ),
    Mutant(
        "finish.work_returned",
        "OR missing > 0",
        lambda world: finishing.test_work_handed_back_waits_for_a_withdrawn_input(
            world, RunOutcome.INTERRUPTED
        ),
    ),
    Mutant(
        "claim.free_work",
        "OR missing > 0",
        leased(leases.test_a_lost_run_whose_input_was_withdrawn_leaves_the_work_waiting_for_it),
    ),
    *(
        Mutant(query, "AND run_id = :run_id", lines.ending_of_work_that_another_run_holds(query))
        for query in lines.ENDINGS
    ),
    *(
        Mutant(query, "AND state = 'RUNNING'", lines.ending_of_work_that_is_not_running(query))
        for query in lines.ENDINGS
    ),
]
