"""The guards of pauses, limits, pools, order and quarantine."""

from __future__ import annotations

from tests.store import test_control as control
from tests.store import test_pools as pools
from tests.store import test_quarantine as quarantine
from tests.store.lock_mutants import ROW_LOCK, SKIPPING
from tests.store.mutants import EVERYTHING, R_BOOT, R_LEASE, Mutant

CONTROL = [
    Mutant(
        "claim.look",
        "OR EXISTS (SELECT 1 FROM pause)",
        control.test_while_everything_is_paused_no_claim_of_any_job_succeeds,
    ),
    Mutant(
        "claim.insert_run",
        "(:force OR NOT EXISTS (SELECT 1 FROM pause))",
        control.test_work_can_be_forced_while_everything_is_paused,
        "NOT EXISTS (SELECT 1 FROM pause)",
    ),
    Mutant(
        "control.pause",
        "ON CONFLICT (pause_id) DO NOTHING",
        control.test_while_everything_is_paused_no_claim_of_any_job_succeeds,
        "ON CONFLICT (pause_id) DO UPDATE SET why = excluded.why",
    ),
    Mutant(
        "claim.next_newest",
        "ORDER BY sort_key DESC",
        control.test_the_newest_dataid_is_claimed_first,
        "ORDER BY sort_key",
    ),
    Mutant("claim.next_newest", "AND hold = FALSE", control.test_the_newest_dataid_is_claimed_first),
    Mutant(
        "claim.next_newest",
        "ORDER BY priority DESC LIMIT 1",
        control.test_priority_comes_before_the_order,
        "ORDER BY priority LIMIT 1",
    ),
    Mutant(
        "control.pool_uses",
        "AND r.ended_at IS NULL",
        lambda w: pools.test_a_run_that_has_ended_gives_its_place_back(w, "finish"),
    ),
    Mutant(
        "control.pool_uses",
        R_LEASE,
        lambda w: pools.test_a_run_that_has_ended_gives_its_place_back(w, "lapse"),
    ),
    Mutant("control.pool_uses", R_BOOT, pools.test_runs_of_an_earlier_boot_have_no_place),
    Mutant(
        "control.pool_uses",
        "r.outcome = 'CANCELLED'",
        lambda w: pools.test_a_run_that_has_ended_gives_its_place_back(w, "revoke"),
        "FALSE",
    ),
    Mutant("control.pool_uses", "j.pool = :pool", pools.test_the_reads_say_who_uses_a_pool, ":pool <> ''"),
    Mutant(
        "claim.free_work",
        "quarantined = losses + 1 >= :max_crashes",
        quarantine.test_work_is_quarantined_after_as_many_crashes_as_its_job_allows,
        "quarantined = FALSE",
    ),
    Mutant(
        "claim.take",
        "quarantined = FALSE, ",
        quarantine.test_forced_work_that_fails_is_not_quarantined_any_more,
    ),
    Mutant(
        "publish.do_again",
        "quarantined = FALSE, ",
        lambda w: quarantine.test_quarantined_work_is_released(w, "resubmit"),
    ),
    Mutant(
        "operate.mark",
        "quarantined = FALSE, ",
        lambda w: quarantine.test_quarantined_work_is_released(w, "mark"),
    ),
    Mutant(
        "control.quarantined",
        "AND quarantined",
        quarantine.test_work_is_quarantined_after_as_many_crashes_as_its_job_allows,
    ),
    Mutant(
        "claim.list_crashes",
        "AND outcome = 'LOST'",
        quarantine.test_crashes_are_named_and_no_other_runs,
    ),
]

CONTROL_LOCKS = [
    Mutant(
        "claim.insert_run",
        "AND (:force OR NOT EXISTS (SELECT 1 FROM pause))",
        control.test_a_claim_that_looked_before_a_pause_gives_nothing_after_it,
    ),
    Mutant(
        "claim.look",
        "$claiming",
        lambda w: control.test_a_pause_returns_when_the_claims_under_way_have_committed(w, {}, "oldest"),
        "NULL",
    ),
    Mutant(
        "operate.await_claims",
        EVERYTHING,
        lambda w: control.test_a_pause_returns_when_the_claims_under_way_have_committed(
            w, {"dataid": "400"}, "newest"
        ),
    ),
    Mutant(
        "operate.await_claims",
        EVERYTHING,
        control.test_scaling_returns_when_the_claims_under_way_have_committed,
    ),
    Mutant(
        "operate.wait_briefly",
        EVERYTHING,
        control.test_a_pause_that_waits_for_one_claim_does_not_stop_the_others_for_long,
    ),
    Mutant(
        "control.scale",
        "revision = revision + 1, ",
        lambda w: control.test_a_claim_that_looked_before_a_job_was_scaled_keeps_the_new_limit(w, 9),
    ),
    Mutant(
        "claim.next_newest",
        SKIPPING,
        control.test_two_concurrent_claims_of_the_newest_do_not_wait_for_each_other,
    ),
    Mutant(
        "claim.next_newest",
        "SKIP LOCKED",
        control.test_two_concurrent_claims_of_the_newest_do_not_wait_for_each_other,
    ),
    Mutant(
        "control.find_pool", ROW_LOCK, pools.test_two_concurrent_claims_of_two_jobs_of_a_pool_of_one_get_one
    ),
    Mutant("control.find_pool", ROW_LOCK, pools.test_a_claim_that_waited_for_a_new_size_keeps_it),
    Mutant(
        "claim.next_work",
        "AND losses < :suspect_losses",
        lambda w: quarantine.test_work_that_crashed_twice_does_not_run_beside_other_such_work(
            w, "oldest", "1"
        ),
    ),
    Mutant(
        "claim.next_newest",
        "AND losses < :suspect_losses",
        lambda w: quarantine.test_work_that_crashed_twice_does_not_run_beside_other_such_work(
            w, "newest", "3"
        ),
    ),
    Mutant(
        "claim.suspect_of",
        "r.claimant = :claimant AND",
        lambda w: quarantine.test_work_that_crashed_twice_does_not_run_beside_other_such_work(
            w, "oldest", "1"
        ),
        "(:claimant <> '') AND",
    ),
    Mutant(
        "claim.suspect_of",
        "r.ended_at IS NULL AND",
        quarantine.test_ordered_work_that_crashed_twice_waits_for_other_such_work,
    ),
    Mutant(
        "claim.suspect_of",
        "w.losses > 0 AND",
        quarantine.test_work_that_never_crashed_is_no_reason_to_wait_even_if_one_crash_would_quarantine_it,
    ),
    Mutant(
        "claim.suspect_of",
        "j.max_crashes - 1",
        quarantine.test_work_whose_next_crash_would_quarantine_it_does_not_run_beside_other_such_work,
        "9",
    ),
]
