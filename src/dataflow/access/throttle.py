"""How often somebody may try to log in. Kept in memory, bounded, counted before a password is verified."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from threading import Lock

from dataflow.errors import Throttled
from dataflow.model.record import record
from dataflow.model.wording import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOST_KEYS = 10_000
FORGET_SECONDS = 3600.0


@record
class Limit:
    """After `free` attempts each further one waits twice as long as the last, up to `longest_seconds`."""

    free: int
    longest_seconds: float

    def wait_after(self, attempts: int) -> float:
        """Return the seconds to wait after so many failed attempts."""
        if attempts < self.free:
            return 0.0
        return min(self.longest_seconds, 2.0 ** min(attempts - self.free, 30))


OF_USER = Limit(free=5, longest_seconds=60.0)
"""Short at most: whoever guesses the password of somebody must not lock them out."""
OF_ADDRESS = Limit(free=20, longest_seconds=900.0)


class Throttle:
    """Counts the attempts of each user name and each address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._attempts: OrderedDict[str, tuple[int, float]] = OrderedDict()  # key: attempts, time of the last

    def begin(self, user: str, address: str) -> None:
        """Count an attempt to log in; Throttled, without counting it, if it comes too soon.

        Counted before its password is verified: many at once get no more attempts than one after the other.
        """
        keys = self._keys(user, address)
        with self._lock:
            now = self._clock()
            wait = max(self._wait(key, limit, now) for key, limit in keys)
            if wait > 0:
                seconds = math.ceil(wait)
                raise Throttled(
                    f"Too many failed logins. Try again in {counted(seconds, 'second')}.", seconds
                )
            for key, _ in keys:
                attempts, _ = self._find(key, now)
                self._attempts[key] = (attempts + 1, now)
                self._attempts.move_to_end(key)
            while len(self._attempts) > MOST_KEYS:
                self._attempts.popitem(last=False)

    def forgive(self, user: str, address: str) -> None:
        """Forget the attempts of a user who has logged in; the address keeps its earlier ones."""
        (user_key, _), (address_key, _) = self._keys(user, address)
        with self._lock:
            self._attempts.pop(user_key, None)
            attempts, at = self._attempts.get(address_key, (0, 0.0))
            if attempts > 0:
                self._attempts[address_key] = (attempts - 1, at)

    def _wait(self, key: str, limit: Limit, now: float) -> float:
        attempts, at = self._find(key, now)
        return at + limit.wait_after(attempts) - now

    def _find(self, key: str, now: float) -> tuple[int, float]:
        attempts, at = self._attempts.get(key, (0, now))
        return (0, now) if now - at > FORGET_SECONDS else (attempts, at)

    def _keys(self, user: str, address: str) -> tuple[tuple[str, Limit], tuple[str, Limit]]:
        return (f"user {user[:200]}", OF_USER), (f"address {_network(address)}", OF_ADDRESS)


def _network(address: str) -> str:
    """Return what one person has: an IPv4 address, or the /64 of an IPv6 one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    mapped = found.ipv4_mapped if found.version == 6 else None
    if mapped is not None or found.version == 4:
        return str(mapped or found)
    return str(ipaddress.ip_network((found, 64), strict=False))
