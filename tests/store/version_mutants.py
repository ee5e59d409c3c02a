"""The guards in the statements about versions of chunks."""

from __future__ import annotations

from tests.store import test_versions as versions
from tests.store.mutants import EVERYTHING, R_LEASE, Mutant, Scenario


def loaded(test: Scenario) -> Scenario:
    return lambda world: test(versions.make_bob(world))


VERSIONS = [
    Mutant(
        "versions.move",
        "AND location = :from_location",
        loaded(versions.test_a_version_that_changed_meanwhile_is_not_moved),
        "AND :from_location <> ''",
    ),
    Mutant(
        "versions.pinned",
        "AND r.ended_at IS NULL",
        loaded(versions.test_a_version_that_a_live_run_reads_is_kept_until_it_has_ended),
        "AND FALSE",
    ),
    Mutant(
        "versions.pinned",
        "AND r.outcome = 'CANCELLED'",
        loaded(versions.test_a_revoked_run_that_may_still_be_reading_keeps_its_version),
        "AND FALSE",
    ),
    Mutant(
        "versions.pinned",
        R_LEASE,
        loaded(versions.test_a_revoked_run_that_may_still_be_reading_keeps_its_version),
    ),
    Mutant(
        "versions.list_of_chunks",
        "v.location = c.location",
        loaded(versions.test_the_current_location_is_kept_even_if_both_have_the_same_time),
        "FALSE",
    ),
    Mutant(
        "versions.list_of_chunks",
        "v.published_at < :before",
        loaded(versions.test_a_version_replaced_long_ago_is_deleted),
        ":before <> ''",
    ),
    Mutant(
        "versions.find",
        "AND v.location = :location",
        loaded(versions.test_no_rollback_to_a_purged_location),
        "AND :location <> ''",
    ),
]
VERSION_LOCKS = [
    Mutant(
        "versions.lock_chunks",
        EVERYTHING,
        lambda world: versions.test_a_rollback_during_a_purge_succeeds_or_is_refused(world, 0),
    ),
    Mutant(
        "versions.lock_chunks",
        EVERYTHING,
        lambda world: versions.test_a_rollback_during_a_purge_succeeds_or_is_refused(world, 1),
    ),
]
