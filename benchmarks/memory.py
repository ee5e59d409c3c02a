"""How much memory a process and those it started have, looked at again and again."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass
from time import monotonic

EVERY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Sample:
    """The resident memory of a process, and the most that one of its children of each kind has, in MB."""

    at: float
    own: float
    java: float
    tasks: float


class MemoryWatch:
    """Looks at a process while `with` lasts."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def between(self, began: float, ended: float) -> list[Sample]:
        """What was seen in that time."""
        return [sample for sample in self.samples if began <= sample.at <= ended]

    def _look(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            below = _list_descendants(self._pid)
            java = [pid for pid in below if _name(pid) == "java"]
            tasks = [pid for pid in below if _name(pid) != "java"]
            self.samples.append(Sample(monotonic(), _resident_mb(self._pid), _most(java), _most(tasks)))


def _most(pids: list[int]) -> float:
    return max(map(_resident_mb, pids), default=0.0)


def _list_descendants(pid: int) -> list[int]:
    found = []
    for child in _read(f"/proc/{pid}/task/{pid}/children").split() + _of_threads(pid):
        found += [int(child), *_list_descendants(int(child))]
    return found


def _of_threads(pid: int) -> list[str]:
    """Children that other threads than the first have started: they are listed with their thread."""
    try:
        threads = [thread for thread in os.listdir(f"/proc/{pid}/task") if thread != str(pid)]
    except OSError:
        return []
    return [child for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()]


def _name(pid: int) -> str:
    return _read(f"/proc/{pid}/comm").strip()


def _resident_mb(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", _read(f"/proc/{pid}/status"))
    return int(found[1]) / 1024 if found else 0.0


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""  # the process is gone
