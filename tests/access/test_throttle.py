"""How often somebody may try to log in."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dataflow.access import throttle as module
from dataflow.access.throttle import OF_ADDRESS, OF_USER, Limit, Throttle
from dataflow.errors import Throttled


class Clock:
    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def fail(throttle: Throttle, times: int, user: str = "eve", address: str = "203.0.113.9") -> None:
    for _ in range(times):
        throttle.begin(user, address)


def seconds_left(throttle: Throttle, user: str = "eve", address: str = "203.0.113.9") -> int:
    with pytest.raises(Throttled) as caught:
        throttle.begin(user, address)
    return caught.value.seconds


def test_the_first_attempts_are_free_and_then_the_wait_doubles() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    fail(throttle, OF_USER.free)
    waits = []
    for _ in range(8):
        waits.append(seconds_left(throttle))
        clock.seconds += waits[-1]
        throttle.begin("eve", "203.0.113.9")
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]


def test_the_answer_says_how_long_to_wait() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    fail(throttle, OF_USER.free + 1 - 1)
    with pytest.raises(Throttled, match=r"Too many failed logins\. Try again in 1 second\."):
        throttle.begin("eve", "203.0.113.9")
    clock.seconds += 1
    throttle.begin("eve", "203.0.113.9")
    clock.seconds += 0.5
    with pytest.raises(Throttled, match="in 2 seconds"):
        throttle.begin("eve", "203.0.113.9")


def test_an_attempt_that_is_refused_does_not_count() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    fail(throttle, OF_USER.free)
    for _ in range(100):
        assert seconds_left(throttle) == 1


def test_users_are_counted_apart_and_from_every_address() -> None:
    throttle = Throttle(Clock())
    for number in range(OF_USER.free):
        throttle.begin("eve", f"203.0.113.{number}")
    assert seconds_left(throttle, "eve", "198.51.100.1") == 1
    throttle.begin("bob", "198.51.100.1")


def test_an_address_that_tries_many_names_has_to_wait() -> None:
    throttle = Throttle(Clock())
    for number in range(OF_ADDRESS.free):
        throttle.begin(f"user{number}", "203.0.113.9")
    assert seconds_left(throttle, "another") == 1
    throttle.begin("another", "203.0.113.10")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:203.0.113.9", "203.0.113.9", True),
        ("fe80::1%eth0", "fe80::2", True),
        ("203.0.113.9", "203.0.113.10", False),
    ],
)
def test_an_address_is_what_one_person_has(one: str, other: str, is_same: bool) -> None:
    throttle = Throttle(Clock())
    for number in range(OF_ADDRESS.free):
        throttle.begin(f"user{number}", one)
    if is_same:
        assert seconds_left(throttle, "another", other)
    else:
        throttle.begin("another", other)


def test_a_login_forgives_the_user_and_not_what_the_address_tried_before() -> None:
    throttle = Throttle(Clock())
    for number in range(OF_ADDRESS.free - 1):
        throttle.begin(f"user{number}", "203.0.113.9")
    throttle.begin("eve", "203.0.113.9")
    throttle.forgive("eve", "203.0.113.9")
    throttle.begin("eve", "203.0.113.9")
    assert seconds_left(throttle, "bob") == 1


def test_a_user_who_logs_in_may_do_so_again_and_again() -> None:
    throttle = Throttle(Clock())
    for _ in range(100):
        throttle.begin("eve", "203.0.113.9")
        throttle.forgive("eve", "203.0.113.9")


def test_attempts_are_forgotten_after_an_hour() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    fail(throttle, OF_USER.free)
    clock.seconds += 3601
    fail(throttle, OF_USER.free)
    assert seconds_left(throttle) == 1


class Interrupted(Throttle):
    """Lets other threads go on between looking and counting."""

    def _wait(self, key: str, limit: Limit, now: float) -> float:
        found = super()._wait(key, limit, now)
        time.sleep(0.002)
        return found


def test_many_at_once_get_no_more_attempts_than_one_after_the_other() -> None:
    throttle = Interrupted(Clock())

    def attempt(_: int) -> bool:
        try:
            throttle.begin("eve", "203.0.113.9")
        except Throttled:
            return False
        return True

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(attempt, range(100))) == OF_USER.free


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEYS", 50)
    throttle = Throttle(Clock())
    for number in range(200):
        throttle.begin(f"user{number}" * 100, f"10.0.{number}.1")
    assert len(throttle._attempts) == 50
    assert max(map(len, throttle._attempts)) < 300
