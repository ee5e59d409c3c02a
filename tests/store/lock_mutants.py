"""The locks, which only PostgreSQL has."""

from __future__ import annotations

from tests.store import test_interleavings as races
from tests.store import test_snapshots as snapshots
from tests.store import test_unread_inputs as unread
from tests.store.mutants import EVERYTHING, Mutant

ROW_LOCK = "FOR UPDATE"
SKIPPING = "FOR UPDATE SKIP LOCKED"

LOCKS = [
    Mutant("registration.lock_registry", EVERYTHING, races.test_registrations_go_one_at_a_time),
    Mutant(
        "registration.lock_datasets",
        EVERYTHING,
        lambda w: races.test_a_job_registered_beside_a_ready_finds_its_work(w, 0),
    ),
    Mutant(
        "registration.lock_work",
        EVERYTHING,
        lambda w: races.test_a_job_removed_beside_a_claim_is_either_removed_or_kept_with_its_run(w, 0),
    ),
    Mutant(
        "publish.lock_datasets",
        EVERYTHING,
        lambda w: races.test_a_job_registered_beside_a_withdrawal_waits(w, 1),
    ),
    Mutant(
        "publish.lock_dataset_alone",
        EVERYTHING,
        races.test_a_new_chunk_made_ready_again_twice_at_once_counts_once,
    ),
    Mutant(
        "publish.lock_dataset_alone",
        EVERYTHING,
        lambda w: races.test_ready_again_beside_a_withdrawal_counts_right(w, "publish.ready_among"),
    ),
    Mutant(
        "publish.lock_dataset_alone",
        EVERYTHING,
        snapshots.test_of_two_snapshots_that_finish_at_once_the_older_does_not_come_last,
    ),
    Mutant(
        "registration.lock_work",
        EVERYTHING,
        lambda w: races.test_outputs_that_change_beside_a_claim_are_those_of_the_run(w, 0),
    ),
    Mutant(
        "publish.find_chunk",
        ROW_LOCK,
        races.test_an_output_withdrawn_in_the_middle_of_its_finish_counts_right,
    ),
    Mutant(
        "publish.publish",
        "WHERE :known",
        races.test_a_first_output_marked_ready_manually_while_its_run_comes_and_goes_counts_once,
        "WHERE :known OR TRUE",
    ),
    # Inputs that come at once also meet in insert_work, whose conflict waits; those that go meet only here.
    Mutant("publish.lock_work", EVERYTHING, races.test_two_inputs_that_go_at_once_are_both_missed),
    Mutant(
        "finish.lock_inputs",
        EVERYTHING,
        races.test_a_new_version_that_comes_while_a_run_of_the_old_one_fails_is_tried,
    ),
    Mutant(
        "claim.lock_job",
        EVERYTHING,
        lambda w: races.test_two_claims_at_once_of_a_job_that_gives_one_at_a_time_give_one(
            w, {"max_running": 1}
        ),
    ),
    Mutant(
        "claim.insert_run",
        "AND j.revision = :revision",
        lambda w: races.test_a_claim_beside_a_change_of_its_job_reads_the_inputs_the_job_has(w, "claim.look"),
        "AND :revision > 0",
    ),
    Mutant(
        "claim.insert_run",
        "AND (:force OR NOT j.hold)",
        races.test_a_claim_that_looked_before_a_hold_gives_nothing_after_it,
        "AND (:force OR TRUE)",
    ),
    Mutant(
        "finish.lock_work",
        EVERYTHING,
        unread.test_a_forced_run_that_finishes_while_an_input_arrives_does_not_miss_it,
    ),
    Mutant(
        "operate.await_claims",
        EVERYTHING,
        races.test_a_hold_returns_when_the_claims_under_way_have_committed,
    ),
    # In the first and third the unique index run_live refuses the second run: its claim ends in an error.
    Mutant("claim.next_work", SKIPPING, races.test_two_claims_at_once_on_one_work_give_it_once),
    Mutant(
        "claim.next_ordered",
        ROW_LOCK,
        races.test_work_of_an_ordered_job_that_is_being_held_is_not_claimed,
    ),
    Mutant("claim.named_work", ROW_LOCK, races.test_two_claims_at_once_of_the_same_named_work_give_it_once),
    Mutant(
        "claim.next_work",
        "SKIP LOCKED",
        races.test_two_claims_at_once_on_two_works_do_not_wait_for_each_other,
    ),
    Mutant(
        "claim.list_lapsed",
        "SKIP LOCKED",
        races.test_a_lease_that_lapsed_for_others_while_its_renewal_was_under_way_is_not_freed,
    ),
    Mutant(
        "claim.promote",
        "SKIP LOCKED",
        races.test_a_claim_does_not_wait_for_a_transaction_that_changes_work_that_is_due,
    ),
    Mutant(
        "operate.list_named",
        ROW_LOCK,
        lambda w: races.test_of_a_resubmit_and_a_claim_at_once_the_work_runs_once(w, 1),
    ),
]
