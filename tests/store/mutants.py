"""Every guard in the SQL, and who notices when it is gone: the queries with one guard removed, each with its catcher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dataflow.model.status import RunOutcome
from tests.store import second_lines as lines
from tests.store import test_claiming as claiming
from tests.store import test_finishing as finishing
from tests.store import test_in_place as in_place
from tests.store import test_leases as leases
from tests.store import test_operating as operating
from tests.store import test_order as order
from tests.store import test_publishing as publishing
from tests.store import test_registration as registration
from tests.store import test_tokens as tokens
from tests.store.world import World

Scenario = Callable[[World], object]


@dataclass(frozen=True)
class Mutant:
    """A query in which one guard is replaced, usually by nothing, and a scenario that must fail because of it.

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

CLAIM = [
    Mutant(
        "claim.look",
        "OR r.clock_id <> $clock_id",
        leased(leases.test_a_machine_that_was_started_anew_has_lost_its_runs),
    ),
    Mutant(
        "claim.look",
        "r.lease_until <= $lease_now OR",
        leased(leases.test_a_lapsed_lease_is_freed_by_the_next_claim),
    ),
    Mutant("claim.count_live", "AND ended_at IS NULL", claiming.test_no_more_runs_than_the_limit_are_live),
    Mutant("claim.count_live", LEASE, claiming.test_a_lapsed_run_does_not_count_against_the_limit),
    Mutant("claim.count_live", BOOT, leases.test_a_run_of_the_boot_before_neither_counts_nor_reads),
    Mutant("claim.list_lapsed", "AND r.ended_at IS NULL", lines.listing_ended_runs_as_lapsed),
    Mutant("claim.list_lapsed", "r.lease_until <= $lease_now", lines.listing_live_runs_as_lapsed, "TRUE"),
    Mutant(
        "claim.list_lapsed",
        "OR r.clock_id <> $clock_id",
        leased(leases.test_a_machine_that_was_started_anew_has_lost_its_runs),
    ),
    Mutant(
        "claim.list_lapsed",
        "OR r.claimant IN (SELECT ids.id FROM $names)",
        leased(leases.test_a_dead_process_is_noticed_at_once),
    ),
    Mutant(
        "claim.list_lapsed",
        ":any_kind OR NOT r.has_kill_command OR",
        leases.test_a_run_with_a_kill_command_is_freed_only_when_that_was_run,
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
        "claim.promote", "AND not_before <= $due_now", finishing.test_a_wait_that_is_over_ends_no_other_wait
    ),
    Mutant(
        "claim.promote",
        "WHEN missing = 0 THEN",
        finishing.test_a_wait_that_is_over_does_not_replace_a_missing_input,
        "WHEN TRUE THEN",
    ),
    Mutant(
        "claim.next_work",
        "AND state = 'CLAIMABLE'",
        finishing.test_invalid_work_is_never_retried_and_publishes_nothing,
    ),
    Mutant("claim.next_work", "AND hold = FALSE", operated(operating.test_work_on_hold_is_passed_over)),
    Mutant("claim.next_work", "priority DESC, ", claiming.test_priority_goes_before_order),
    Mutant(
        "claim.next_work",
        "priority DESC, sort_key",
        claiming.test_work_is_given_in_natural_order,
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
        order.test_free_text_in_order_has_no_gaps,
        "ORDER BY sort_key DESC",
    ),
    Mutant(
        "claim.earlier_work", "AND sort_key < :sort_key", order.test_a_failed_dataid_blocks_those_behind_it
    ),
    Mutant("claim.take", "AND state = :state", lines.taking_work_that_is_not_as_it_was_found),
    Mutant("claim.take", "AND run_id < :run_id", lines.taking_work_for_a_run_older_than_its_last),
    Mutant(
        "claim.pin_chunk", "AND NOT c.withdrawn", claiming.test_a_forced_run_is_not_given_what_was_withdrawn
    ),
    Mutant("claim.readers", "AND r.ended_at IS NULL", claiming.test_a_finished_reader_reads_no_more),
    Mutant("claim.readers", R_LEASE, rerun(in_place.test_a_reader_that_died_holds_nobody_up)),
    Mutant("claim.readers", R_BOOT, leases.test_a_run_of_the_boot_before_neither_counts_nor_reads),
    Mutant(
        "claim.readers",
        "AND r.run_id <> :run_id",
        in_place.test_a_run_is_not_told_that_it_reads_what_it_overwrites,
    ),
    Mutant(
        "claim.find_by_token",
        "ended_at IS NOT NULL",
        tokens.test_a_repeated_claim_does_not_give_a_run_that_was_cancelled_meanwhile,
        "FALSE",
    ),
    Mutant(
        "claim.renew", "AND claimant = :claimant", leased(leases.test_a_run_is_renewed_only_by_its_claimant)
    ),
    Mutant("claim.renew", "AND ended_at IS NULL", leased(leases.test_an_ended_run_cannot_be_renewed)),
    Mutant(
        "claim.renew",
        LEASE,
        leased(leases.test_a_lapsed_lease_cannot_be_renewed_even_if_nobody_took_the_work),
    ),
    Mutant("claim.renew", BOOT, leased(leases.test_a_machine_that_was_started_anew_has_lost_its_runs)),
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
    Mutant("claim.set_script_path", "AND script_path = ''", lines.remembering_another_script),
]

FINISH = [
    Mutant(
        "finish.end_run",
        "AND claimant = :claimant",
        leased(leases.test_a_run_is_finished_only_by_its_claimant),
    ),
    Mutant("finish.end_run", "AND ended_at IS NULL", leased(leases.test_a_run_finishes_once)),
    Mutant("finish.end_run", LEASE, leased(leases.test_a_lapsed_run_may_not_finish)),
    Mutant("finish.end_run", BOOT, leased(leases.test_a_machine_that_was_started_anew_has_lost_its_runs)),
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
        rerun(in_place.test_what_was_read_while_it_was_overwritten_makes_a_stale_output),
    ),
    Mutant(
        "finish.work_done",
        "WHEN missing = 0 THEN",
        publishing.test_an_output_is_born_stale_when_its_input_was_withdrawn_meanwhile,
        "WHEN TRUE THEN",
    ),
    Mutant(
        "finish.work_returned",
        "OR missing > 0",
        lambda world: finishing.test_work_handed_back_waits_for_an_input_that_went_away(
            world, RunOutcome.INTERRUPTED
        ),
    ),
    Mutant(
        "claim.free_work",
        "OR missing > 0",
        leased(leases.test_a_lost_run_whose_input_went_away_leaves_the_work_waiting_for_it),
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

PUBLISH = [
    Mutant("publish.make_ready", ":again OR", publishing.test_ready_twice_counts_once, "TRUE OR"),
    Mutant(
        "publish.make_ready",
        "OR chunk.withdrawn",
        publishing.test_withdrawing_takes_readiness_away_and_ready_gives_it_back,
    ),
    Mutant(
        "publish.make_ready", "OR chunk.stale", publishing.test_a_stale_chunk_can_be_declared_ready_by_hand
    ),
    Mutant(
        "publish.make_ready",
        "OR chunk.dirty_run_id IS NOT NULL",
        rerun(in_place.test_saying_ready_by_hand_opens_it),
    ),
    Mutant(
        "publish.withdraw",
        "AND NOT withdrawn",
        publishing.test_withdrawing_takes_readiness_away_and_ready_gives_it_back,
    ),
    Mutant(
        "publish.withdraw", "NOT stale AND", publishing.test_a_stale_chunk_that_is_withdrawn_is_not_lost_twice
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
        publishing.test_a_withdrawn_output_that_is_made_again_counts,
    ),
    Mutant(
        "publish.find_chunk",
        "AND dirty_run_id IS NULL",
        rerun(in_place.test_a_rerun_in_place_closes_the_chunk_until_it_is_published_again),
    ),
    Mutant(
        "publish.make_stale",
        "AND NOT stale",
        publishing.test_publishing_again_and_again_takes_readiness_away_once,
    ),
    Mutant(
        "publish.make_stale",
        "AND dirty_run_id IS NULL",
        rerun(in_place.test_a_chunk_that_became_stale_while_overwritten_is_not_lost_twice),
    ),
    Mutant(
        "publish.make_stale",
        "NOT withdrawn AND",
        publishing.test_a_withdrawn_chunk_that_becomes_stale_is_not_lost_twice,
    ),
    Mutant(
        "publish.make_dirty",
        "AND dirty_run_id IS NULL",
        rerun(in_place.test_a_rerun_that_never_started_cannot_vouch_for_what_an_earlier_one_began_to_write),
    ),
    Mutant(
        "publish.make_dirty", "AND NOT withdrawn", rerun(in_place.test_a_withdrawn_chunk_is_not_lost_twice)
    ),
    Mutant("publish.make_dirty", "AND NOT stale", rerun(in_place.test_a_stale_chunk_is_not_lost_twice)),
    Mutant(
        "publish.make_clean",
        "dirty_run_id = :run_id",
        rerun(in_place.test_a_rerun_that_never_started_cannot_vouch_for_what_an_earlier_one_began_to_write),
        "dirty_run_id IS NOT NULL",
    ),
    Mutant(
        "publish.make_clean",
        "AND NOT withdrawn",
        rerun(in_place.test_withdrawing_a_chunk_that_is_being_overwritten_counts_once),
    ),
    Mutant("publish.make_clean", "AND NOT stale", rerun(in_place.test_a_stale_chunk_is_not_lost_twice)),
    Mutant(
        "publish.count_present",
        "position = :position\n  AND",
        publishing.test_a_work_with_two_inputs_needs_both,
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
        finishing.test_an_input_that_comes_back_does_not_shorten_a_wait,
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
        order.test_a_chunk_that_is_not_needed_changes_nothing_when_it_goes,
    ),
    Mutant(
        "publish.renew_work",
        "AND state IN ('DONE', 'FAILED', 'INVALID')",
        publishing.test_an_output_is_born_stale_when_its_input_changed_while_it_was_made,
    ),
    Mutant(
        "publish.renew_work",
        "AND r.outcome = 'CANCELLED'",
        publishing.test_publishing_again_makes_finished_work_claimable_and_its_outputs_stale,
    ),
    Mutant(
        "publish.renew_work",
        R_LEASE,
        operated(operating.test_a_revoked_run_that_was_over_before_the_resubmit_is_not_waited_for),
    ),
    Mutant(
        "publish.renew_work", R_BOOT, leased(leases.test_a_revoked_run_of_the_boot_before_is_not_waited_for)
    ),
    Mutant(
        "publish.renew_work",
        "missing > 0 OR",
        publishing.test_a_finished_work_whose_other_input_is_missing_waits_for_it,
    ),
    Mutant(
        "publish.renew_work",
        "OR revoked.until IS NOT NULL",
        operated(operating.test_a_newer_input_does_not_start_a_run_beside_a_revoked_one_that_may_still_live),
        constraint="CHECK",
    ),
]

OPERATE = [
    Mutant(
        "operate.find_token",
        "WHERE token = :token",
        tokens.test_an_operators_verb_whose_answer_was_lost_gives_the_first_answer,
        "WHERE FALSE",
        "UNIQUE",
    ),
    Mutant("operate.resubmit", "AND state <> 'RUNNING'", lines.resubmitting_running_work),
    Mutant(
        "operate.resubmit",
        "missing > 0 OR",
        operated(operating.test_resubmitted_work_whose_input_went_away_waits_for_it),
    ),
    Mutant(
        "operate.resubmit",
        "AND r.outcome = 'CANCELLED'",
        operated(operating.test_resubmitted_work_is_done_again_by_the_ordinary_command, RunOutcome.DONE),
    ),
    Mutant(
        "operate.resubmit",
        R_LEASE,
        operated(operating.test_a_revoked_run_that_was_over_before_the_resubmit_is_not_waited_for),
    ),
    Mutant(
        "operate.resubmit", R_BOOT, leased(leases.test_a_revoked_run_of_the_boot_before_is_not_waited_for)
    ),
    Mutant(
        "operate.resubmit",
        "OR revoked.until IS NOT NULL",
        operated(operating.test_what_was_cancelled_and_resubmitted_waits_until_the_old_run_is_certainly_over),
        constraint="CHECK",
    ),
    Mutant("operate.hold_work", "AND hold <> :hold", operating.test_holding_what_is_held_changes_nothing),
    Mutant("operate.hold_job", "AND hold <> :hold", operated(operating.test_a_job_on_hold_gives_no_work)),
    Mutant(
        "operate.revoke_run",
        "AND ended_at IS NULL",
        operated(operating.test_an_ended_or_unknown_run_cannot_be_cancelled),
    ),
    Mutant(
        "operate.acknowledge",
        "AND claimant = :claimant",
        operated(operating.test_a_revoked_run_that_says_it_is_over_ends_the_wait),
    ),
    Mutant(
        "operate.acknowledge",
        "AND outcome = 'CANCELLED'",
        operated(operating.test_acknowledging_does_not_touch_a_later_run_or_a_live_one),
    ),
    Mutant(
        "operate.acknowledge_work",
        "AND run_id = :run_id",
        operated(operating.test_acknowledging_does_not_end_the_wait_of_a_later_run),
    ),
    Mutant("operate.mark", "AND state = :from_state", lines.marking_work_that_is_not_as_it_was_found),
    Mutant(
        "operate.purge_runs",
        "r.ended_at < :before\n      AND",
        operated(operating.test_purging_deletes_old_history_and_keeps_what_the_present_rests_on),
    ),
    Mutant(
        "operate.purge_runs",
        "AND NOT EXISTS (SELECT 1 FROM work w WHERE w.work_id = r.work_id AND w.run_id = r.run_id)",
        operated(operating.test_purging_keeps_the_last_run_of_work_that_published_nothing),
    ),
    Mutant(
        "operate.purge_runs",
        "OR c.dirty_run_id = r.run_id",
        operated(operating.test_purging_keeps_the_run_that_left_a_chunk_dirty),
    ),
]

REGISTRATION = [
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
        registration.test_work_that_was_once_run_is_kept_even_if_nobody_calls_for_it,
        constraint="FOREIGN KEY",
    ),
    Mutant(
        "registration.delete_uncalled",
        "AND state = 'WAITING'",
        registration.test_work_marked_by_hand_is_kept_even_if_nobody_calls_for_it,
        constraint="FOREIGN KEY",
    ),
    Mutant(
        "registration.count_running",
        "AND ended_at IS NULL",
        registration.test_a_removed_job_takes_its_work_along_and_leaves_its_history,
    ),
]

MUTANTS = [*CLAIM, *FINISH, *PUBLISH, *OPERATE, *REGISTRATION]
