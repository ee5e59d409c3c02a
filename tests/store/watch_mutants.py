"""The guards in the statements about incidents, clocks and deliveries."""

from __future__ import annotations

from tests.store import test_dataset_clocks as clocks
from tests.store import test_incidents as incidents
from tests.store import test_outbox as outbox
from tests.store import test_workers as workers
from tests.store.mutants import EVERYTHING, Mutant

LAPSED = "d.clock_id <> $clock_id OR d.until <= $lease_now OR d.until > $lease_now + 3600"

WATCH = [
    Mutant(
        "watch.acknowledge", "AND closed_at IS NULL", incidents.test_only_an_open_incident_can_be_acknowledged
    ),
    Mutant(
        "watch.silence",
        "AND state = 'due'",
        outbox.test_an_acknowledged_incident_is_not_told_any_more_but_its_recovery_is,
    ),
    Mutant(
        "watch.silence_of",
        "state = 'due' AND",
        incidents.test_removing_a_job_leaves_what_was_sent_as_it_is,
    ),
    Mutant(
        "watch.silence_of",
        "AND NOT recovered",
        incidents.test_removing_a_job_does_not_silence_an_earlier_recovery,
    ),
    Mutant(
        "watch.list_left_behind",
        "AND w.state <> 'DONE'",
        incidents.test_an_incident_whose_work_another_version_finished_is_closed_by_whoever_looks,
    ),
    Mutant(
        "watch.drop_done",
        "AND state = 'DONE'",
        incidents.test_looking_does_not_close_an_incident_whose_work_is_unfinished,
    ),
    Mutant(
        "watch.list_due_watches",
        "WHERE check_at <= $now_seconds OR check_at > $now_seconds + 86400",
        clocks.test_a_dataset_that_is_not_late_is_not_looked_at_before_it_can_be,
    ),
    Mutant(
        "watch.take_watch",
        "OR x.check_at > $now_seconds + 86400",
        clocks.test_a_clock_that_was_set_back_does_not_stop_the_watch,
    ),
    Mutant(
        "watch.newest_published",
        "AND NOT withdrawn",
        clocks.test_a_dataset_is_stale_while_its_newest_interval_ended_too_long_ago,
    ),
    Mutant("watch.last_published_at", "AND NOT stale", clocks.test_becoming_stale_is_not_publishing),
    Mutant("watch.is_published", "AND NOT withdrawn", clocks.test_a_withdrawn_chunk_is_not_published),
    Mutant(
        "watch.purge_deliveries",
        "WHERE closed_at < :before",
        incidents.test_purge_keeps_the_deliveries_of_open_incidents,
    ),
    Mutant(
        "watch.purge_notifications",
        "WHERE closed_at < :before",
        incidents.test_purge_deletes_closed_incidents_and_keeps_open_ones,
    ),
    Mutant(
        "watch.purge_incidents",
        "WHERE closed_at < :before",
        incidents.test_purge_deletes_closed_incidents_and_keeps_open_ones,
    ),
    Mutant(
        "watch.find_open",
        "AND host = :host",
        workers.test_a_host_has_recovered_when_a_worker_starts_there,
    ),
    Mutant(
        "worker.dismiss",
        "AND (:gone OR alive_until <= $lease_now OR clock_id <> $clock_id)",
        workers.test_a_heartbeat_after_the_last_look_keeps_a_worker,
    ),
    Mutant(
        "worker.find_successor",
        "host = :host AND",
        workers.test_a_host_has_recovered_when_a_worker_starts_there,
    ),
    Mutant(
        "worker.find_successor",
        "enlisted > :beat",
        workers.test_another_worker_of_the_host_that_was_there_before_is_no_recovery,
        "TRUE",
    ),
    Mutant(
        "worker.find_successor",
        "clock_id <> :clock_id OR",
        workers.test_a_worker_that_started_after_the_machine_did_is_a_successor,
    ),
]

OUTBOX = [
    Mutant(
        "outbox.next_due", f"AND ({LAPSED})", outbox.test_a_delivery_that_somebody_is_sending_is_not_taken
    ),
    Mutant(
        "outbox.next_due",
        "d.clock_id <> $clock_id OR",
        outbox.test_a_delivery_taken_before_the_machine_was_started_again_is_taken_at_once,
    ),
    Mutant(
        "outbox.next_due",
        "d.until <= $lease_now OR",
        outbox.test_a_delivery_whose_sender_died_is_taken_again_after_the_lease,
    ),
    Mutant(
        "outbox.next_due",
        "OR d.until > $lease_now + 3600",
        outbox.test_a_delivery_does_not_wait_for_a_clock_that_was_set_back,
    ),
    Mutant(
        "outbox.channels",
        "OR d.until > $lease_now + 3600",
        outbox.test_a_delivery_does_not_wait_for_a_clock_that_was_set_back,
    ),
    Mutant(
        "outbox.next_due",
        "d.state = 'due'\n  AND",
        outbox.test_what_was_sent_long_ago_is_not_in_the_way_of_what_is_due,
        "TRUE AND",
    ),
    Mutant(
        "outbox.next_due",
        "AND e.notification_id < d.notification_id",
        outbox.test_each_channel_gets_each_notification_once,
    ),
    Mutant(
        "outbox.next_due",
        "NOT EXISTS (SELECT 1 FROM delivery e",
        outbox.test_a_recovery_waits_for_the_notification_that_it_follows,
        "TRUE OR EXISTS (SELECT 1 FROM delivery e",
    ),
    Mutant(
        "outbox.next_due",
        "AND e.incident_id = d.incident_id",
        outbox.test_a_lost_answer_takes_no_second_delivery,
    ),
    Mutant(
        "outbox.find_taken",
        "AND token = :token",
        outbox.test_a_delivery_that_somebody_is_sending_is_not_taken,
    ),
    Mutant(
        "outbox.record_sent", "AND token = :token", outbox.test_a_sender_that_was_too_slow_records_nothing
    ),
    Mutant(
        "outbox.record_failed", "AND token = :token", outbox.test_a_sender_that_was_too_slow_records_nothing
    ),
    Mutant(
        "outbox.record_failed", "AND state = 'due'", outbox.test_a_sender_that_was_too_slow_records_nothing
    ),
    Mutant("outbox.record_sent", "AND state = 'due'", outbox.test_a_sender_that_was_too_slow_records_nothing),
    Mutant(
        "outbox.record_failed",
        "attempts < :most_attempts",
        outbox.test_a_failed_delivery_is_tried_again_after_its_delay_and_given_up_after_the_last_attempt,
        "TRUE",
    ),
    Mutant(
        "outbox.new_notifications",
        "i.acknowledged_at IS NOT NULL OR",
        outbox.test_an_incident_acknowledged_before_anybody_was_told_is_told_to_nobody,
    ),
    Mutant(
        "outbox.new_notifications",
        "OR i.closed_at IS NOT NULL AND NOT i.recovered",
        incidents.test_an_incident_of_a_removed_job_is_told_to_nobody,
    ),
    Mutant(
        "outbox.open_notifications",
        "i.closed_at IS NULL AND",
        outbox.test_a_new_channel_hears_of_open_incidents_only,
    ),
    Mutant(
        "outbox.open_notifications",
        "AND i.acknowledged_at IS NULL",
        outbox.test_an_acknowledged_incident_is_not_told_any_more_but_its_recovery_is,
    ),
    Mutant(
        "outbox.was_told",
        "AND state IN ('due', 'sent')",
        outbox.test_an_acknowledged_incident_is_not_told_any_more_but_its_recovery_is,
    ),
]

WATCH_LOCKS = [
    Mutant(
        "watch.lock_incident",
        EVERYTHING,
        incidents.test_the_last_two_chunks_done_at_once_close_the_incident_once,
    ),
    Mutant(
        "watch.lock_outbox",
        EVERYTHING,
        outbox.test_notifications_are_committed_in_the_order_of_their_numbers,
    ),
    Mutant(
        "watch.lock_outbox",
        EVERYTHING,
        workers.test_a_worker_that_starts_while_another_is_found_lost_ends_the_incident,
    ),
    Mutant(
        "watch.lock_outbox",
        EVERYTHING,
        workers.test_a_worker_found_lost_while_another_starts_has_a_successor,
    ),
    Mutant(
        "outbox.next_due",
        "FOR UPDATE SKIP LOCKED",
        outbox.test_two_processes_take_different_deliveries_without_waiting,
    ),
    Mutant(
        "watch.take_watch",
        "FOR UPDATE SKIP LOCKED",
        clocks.test_of_two_processes_that_look_at_once_one_opens_the_incident,
        "FOR UPDATE",
    ),
]
