"""The outbox: each notification goes to each channel that wants it once, whoever delivers."""

from __future__ import annotations

from typing import Any

from dataflow.model.incident import Notification
from dataflow.model.status import RunOutcome
from dataflow.store.outbox import Failure
from tests.store.faults import LostAnswer
from tests.store.races import race
from tests.store.world import World

LEASE = 60.0


def wants_all(*_: str) -> bool:
    return True


def fail(world: World, job: str = "to_totals", dataid: str = "a") -> None:
    world.do(job, dataid, RunOutcome.FAILED, reason="exit code 1", final=True)


def make_failure(world: World) -> None:
    world.chain("orders", "totals")
    world.ready("orders", "a", "b")
    fail(world)


def recover(world: World) -> None:
    world.resubmit("to_totals", "a")
    world.do("to_totals", "a")


def take(world: World, token: str = "one", channel: str = "ops") -> Notification | None:
    return world.store.watching.take_delivery(channel, token, LEASE)


def sent(world: World, token: str = "one", channel: str = "ops") -> list[str]:
    """Take and record all that is due; return the events."""
    found: list[str] = []
    world.store.watching.fan_out(channel, wants_all)
    while taken := take(world, f"{token}{len(found)}", channel):
        assert world.store.watching.record_sent(taken.notification_id, channel, f"{token}{len(found)}")
        found.append(taken.event)
    return found


def states(world: World) -> list[str]:
    return [row[0] for row in world.select("SELECT state FROM delivery ORDER BY notification_id, channel")]


def test_each_channel_gets_each_notification_once(world: World) -> None:
    make_failure(world)
    assert sent(world) == ["opened"]
    assert sent(world, channel="mail") == ["opened"]
    assert sent(world) == []
    recover(world)
    assert sent(world) == ["recovered"]
    assert sent(world, channel="mail") == ["recovered"]


def test_a_delivery_carries_the_facts_of_its_incident(world: World) -> None:
    make_failure(world)
    fail(world, dataid="b")
    world.store.watching.fan_out("ops", wants_all)
    taken = take(world)
    assert taken is not None
    assert (taken.event, taken.kind, taken.job, taken.dataid) == ("opened", "failed", "to_totals", "a")
    assert (taken.reason, taken.items, taken.attempts) == ("exit code 1", 2, 1)


def test_a_delivery_that_somebody_is_sending_is_not_taken(world: World) -> None:
    make_failure(world)
    world.store.watching.fan_out("ops", wants_all)
    assert take(world, "one") is not None
    assert take(world, "other") is None


def test_a_delivery_whose_sender_died_is_taken_again_after_the_lease(world: World) -> None:
    make_failure(world)
    world.store.watching.fan_out("ops", wants_all)
    first = take(world, "one")
    world.advance(LEASE - 1)
    assert take(world, "other") is None
    world.advance(2)
    second = take(world, "other")
    assert first is not None
    assert second is not None
    assert (second.notification_id, second.attempts) == (first.notification_id, 2)


def test_a_delivery_taken_before_the_machine_was_started_again_is_taken_at_once(sqlite_world: World) -> None:
    world = sqlite_world
    make_failure(world)
    world.store.watching.fan_out("ops", wants_all)
    assert take(world, "one") is not None
    world.poke("UPDATE delivery SET clock_id = 'earlier boot'")
    assert take(world, "other") is not None


def test_a_delivery_does_not_wait_for_a_clock_that_was_set_back(world: World) -> None:
    make_failure(world)
    world.store.watching.fan_out("ops", wants_all)
    assert take(world, "one") is not None
    world.poke("UPDATE delivery SET until = until + 100000")
    assert world.store.watching.list_channels()["ops"].has_due
    assert take(world, "other") is not None


def test_a_sender_that_was_too_slow_records_nothing(world: World) -> None:
    make_failure(world)
    world.store.watching.fan_out("ops", wants_all)
    first = take(world, "one")
    world.advance(LEASE + 1)
    second = take(world, "other")
    assert first is not None
    assert second is not None
    number = first.notification_id
    assert not world.store.watching.record_sent(number, "ops", "one")
    assert world.store.watching.record_failed(number, "ops", "one", Failure("late", 10, 1)) is None
    assert states(world) == ["due"]
    assert world.store.watching.record_sent(number, "ops", "other")
    assert not world.store.watching.record_sent(number, "ops", "other")
    assert world.store.watching.record_failed(number, "ops", "other", Failure("late", 10, 1)) is None
    assert states(world) == ["sent"]


def test_a_lost_answer_takes_no_second_delivery(world: World) -> None:
    make_failure(world)
    world.dataset("report")
    world.job("to_report", ["orders"], ["report"])
    fail(world, "to_report")
    world.store.watching.fan_out("ops", wants_all)
    forgetful: Any = LostAnswer(world.store.database)
    first = take(world.beside(forgetful), "one")
    second = take(world, "other")
    assert first is not None
    assert second is not None
    assert first.attempts == 1
    assert {first.job, second.job} == {"to_totals", "to_report"}


def test_a_failed_delivery_is_tried_again_after_its_delay_and_given_up_after_the_last_attempt(
    world: World,
) -> None:
    make_failure(world)
    world.store.watching.fan_out("ops", wants_all)
    failure = Failure("HTTP 500", 10.0, 2)
    first = take(world, "one")
    assert first is not None
    assert world.store.watching.record_failed(first.notification_id, "ops", "one", failure) == "due"
    assert take(world, "two") is None
    world.advance(11)
    assert take(world, "two") is not None
    assert world.store.watching.record_failed(first.notification_id, "ops", "two", failure) == "failed"
    world.advance(1000)
    assert take(world, "three") is None
    (delivery,) = world.store.watching.list_deliveries([first.incident_id])
    assert (delivery.state, delivery.attempts, delivery.error) == ("failed", 2, "HTTP 500")


def test_a_recovery_waits_for_the_notification_that_it_follows(world: World) -> None:
    make_failure(world)
    world.store.watching.fan_out("ops", wants_all)
    taken = take(world, "one")
    assert taken is not None
    recover(world)
    world.store.watching.fan_out("ops", wants_all)
    assert take(world, "two") is None
    world.store.watching.record_failed(taken.notification_id, "ops", "one", Failure("HTTP 500", 10, 9))
    assert take(world, "two") is None
    world.advance(11)
    assert sent(world, "three") == ["opened", "recovered"]


def test_a_channel_that_was_not_told_of_an_incident_does_not_hear_of_its_recovery(world: World) -> None:
    make_failure(world)
    world.store.watching.fan_out("ops", lambda event, *_: event == "recovered")
    recover(world)
    assert sent(world) == []


def test_a_new_channel_hears_of_open_incidents_only(world: World) -> None:
    make_failure(world)
    recover(world)
    fail(world, dataid="b")
    assert sent(world, channel="new") == ["opened"]


def test_an_acknowledged_incident_is_not_told_any_more_but_its_recovery_is(world: World) -> None:
    make_failure(world)
    assert sent(world) == ["opened"]
    world.store.watching.fan_out("mail", wants_all)
    (found,) = world.store.watching.list_incidents(False, 10)
    world.store.watching.acknowledge(found.incident_id, "")
    assert sent(world, channel="mail") == []
    assert sent(world, channel="new") == []
    recover(world)
    assert sent(world) == ["recovered"]
    assert sent(world, channel="mail") == []
    assert sent(world, channel="new") == []


def test_an_incident_acknowledged_before_anybody_was_told_is_told_to_nobody(world: World) -> None:
    make_failure(world)
    world.store.watching.fan_out("ops", wants_all)
    sent(world)
    recover(world)
    fail(world, dataid="b")
    (found,) = world.store.watching.list_incidents(False, 10)
    world.store.watching.acknowledge(found.incident_id, "")
    assert sent(world) == ["recovered"]


def test_a_channel_says_whether_it_has_news_and_due_deliveries(world: World) -> None:
    make_failure(world)
    assert world.store.watching.list_channels() == {}
    world.store.watching.fan_out("ops", wants_all)
    found = world.store.watching.list_channels()["ops"]
    assert (found.has_news, found.has_due) == (False, True)
    take(world)
    recover(world)
    found = world.store.watching.list_channels()["ops"]
    assert (found.has_news, found.has_due) == (True, False)


def test_notifications_are_committed_in_the_order_of_their_numbers(postgres_world: World) -> None:
    """Otherwise a channel that has seen the later one would never see the earlier."""
    world = postgres_world
    world.chain("orders", "totals")
    world.dataset("report")
    world.job("to_report", ["orders"], ["report"])
    world.ready("orders", "a")
    world.store.watching.fan_out("ops", wants_all)
    one, other = world.take("to_totals", "a"), world.take("to_report", "a")

    def second(beside: World) -> None:
        beside.finish(other, RunOutcome.FAILED, final=True)
        beside.store.watching.fan_out("ops", wants_all)

    raced = race(world, lambda w: w.finish(one, RunOutcome.FAILED, final=True), second)
    assert raced.waited
    assert sent(world) == ["opened", "opened"]


def test_two_processes_that_fan_out_at_once_add_each_delivery_once(postgres_world: World) -> None:
    world = postgres_world
    make_failure(world)

    def fan_out(beside: World) -> int:
        return beside.store.watching.fan_out("ops", wants_all)

    raced = race(world, fan_out, fan_out)
    assert (raced.first, raced.second) == (1, 0)
    recover(world)
    raced = race(world, fan_out, fan_out)
    assert (raced.first, raced.second) == (1, 0)


def test_two_processes_take_different_deliveries_without_waiting(postgres_world: World) -> None:
    world = postgres_world
    make_failure(world)
    world.dataset("report")
    world.job("to_report", ["orders"], ["report"])
    fail(world, "to_report")
    world.store.watching.fan_out("ops", wants_all)
    raced = race(world, lambda w: take(w, "one"), lambda w: take(w, "other"))
    assert not raced.waited
    assert {raced.first.job, raced.second.job} == {"to_totals", "to_report"}


def test_what_was_sent_long_ago_is_not_in_the_way_of_what_is_due(world: World) -> None:
    make_failure(world)
    assert sent(world) == ["opened"]
    world.advance(LEASE + 1)
    recover(world)
    assert sent(world, "later") == ["recovered"]
