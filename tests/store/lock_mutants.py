"""The locks, which only PostgreSQL has."""

from __future__ import annotations

from tests.store import test_interleavings as races
from tests.store import test_snapshots as snapshots
from tests.store import test_unread_inputs as unread
from tests.store.mutants import EVERYTHING, Mutant

ROW_LOCK = "FOR UPDATE"
SKIPPING = "FOR UPDATE SKIP LOCKED"

LOCKS = [
    Mutant("registration.lock_registry", EVERYTHING, races.test_registrations_run_one_at_a_time),
    Mutant(
        "registration.lock_datasets",
        EVERYTHING,
        lambda w: races.test_a_job_registered_during_a_ready_finds_its_work(w, 0),
    ),
    Mutant(
        "registration.lock_work",
        EVERYTHING,
        lambda w: races.test_a_job_removed_during_a_claim_is_either_removed_or_kept_with_its_run(w, 0),
    ),
    Mutant(
        "publish.lock_datasets",
        EVERYTHING,
        lambda w: races.test_a_job_registered_during_a_withdrawal_waits(w, 1),
    ),
    Mutant(
        "publish.lock_dataset_alone",
        EVERYTHING,
        races.test_a_new_chunk_made_ready_again_twice_at_once_counts_once,
    ),
    Mutant(
        "publish.lock_dataset_alone",
        EVERYTHING,
        lambda w: races.test_ready_again_during_a_withdrawal_counts_correctly(w, "publish.ready_among"),
    ),
    Mutant(
        "publish.lock_dataset_alone",
        EVERYTHING,
        snapshots.test_the_older_of_two_snapshots_that_finish_at_once_is_not_published_last,
    ),
    Mutant(
        "registration.lock_work",
        EVERYTHING,
        lambda w: races.test_a_claim_and_a_concurrent_change_of_outputs_exclude_each_other(w, 0),
    ),
    Mutant(
        "publish.find_chunk",
        ROW_LOCK,
        races.test_an_output_withdrawn_during_its_finish_counts_correctly,
    ),
    Mutant(
        "publish.publish",
        "WHERE :known",
        races.test_a_first_output_marked_ready_manually_during_its_run_counts_once,
        "WHERE :known OR TRUE",
    ),
    # Inputs that come at once also meet in insert_work, whose conflict waits; those that go meet only here.
    Mutant("publish.lock_work", EVERYTHING, races.test_two_inputs_withdrawn_at_once_are_both_missing),
    Mutant(
        "finish.lock_inputs",
        EVERYTHING,
        races.test_a_new_version_published_while_a_run_of_the_old_one_fails_is_tried,
    ),
    Mutant(
        "claim.lock_job",
        EVERYTHING,
        lambda w: races.test_two_concurrent_claims_of_a_job_limited_to_one_run_get_one(w, {"max_running": 1}),
    ),
    Mutant(
        "claim.insert_run",
        "AND j.revision = :revision",
        lambda w: races.test_a_claim_during_a_change_of_its_job_reads_the_current_inputs(w, "claim.look"),
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
    Mutant("claim.next_work", SKIPPING, races.test_one_of_two_concurrent_claims_gets_the_work),
    Mutant(
        "claim.next_ordered",
        ROW_LOCK,
        races.test_work_of_an_ordered_job_that_is_being_held_is_not_claimed,
    ),
    Mutant("claim.named_work", ROW_LOCK, races.test_one_of_two_concurrent_claims_of_named_work_gets_it),
    Mutant(
        "claim.next_work",
        "SKIP LOCKED",
        races.test_two_concurrent_claims_of_two_works_do_not_wait_for_each_other,
    ),
    Mutant(
        "claim.list_lapsed",
        "SKIP LOCKED",
        races.test_a_lease_that_lapses_during_its_renewal_is_not_freed,
    ),
    Mutant(
        "claim.promote",
        "SKIP LOCKED",
        races.test_a_claim_does_not_wait_for_a_transaction_that_changes_work_that_is_due,
    ),
    Mutant(
        "operate.list_named",
        ROW_LOCK,
        lambda w: races.test_a_concurrent_resubmit_and_claim_run_the_work_once(w, 1),
    ),
]
