"""A storm over real workers: two chained jobs, blows chosen by a seed, and calm at the end.

As a service manager would, it starts a worker again when one has ended. It types no other command.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from dataflow.runjob.processes import GUARD_NAMES
from tests.acceptance.flow import (
    Flow,
    children_of,
    family,
    kill_together,
    name_of,
    signal_all,
    wait_until,
)
from tests.acceptance.proxy import Proxy
from tests.acceptance.test_faults import fill
from tests.chaos.history import (
    BEATING,
    assert_each_chunk_was_done_once,
    assert_no_two_runs_of_a_chunk_overlap,
)
from tests.postgres import PostgresServer

LIMITS = 'lease = "4s"\ngrace = "0.5s"\nretries = 100\nretry_delay = "0.2s"\n'
PROJECT = f"""
[dataset.raw]
[dataset.clean]
[dataset.sums]
[job.extract]
in = ["raw"]
out = ["clean"]
command = ["./extract.py"]
pool = "house"
{LIMITS}
[job.load]
in = ["clean"]
out = ["sums"]
command = ["./load.py"]
pool = "house"
{LIMITS}
"""
POOL_SIZE = 4
"""Fewer than the streams of two workers."""
FAILS_SOMETIMES = """
import random, sys
if random.random() < 0.02:
    sys.exit(3)
"""
LEAST_OPEN = 20
"""More chunks become ready when fewer than this are not done."""
CALM_SECONDS = 240.0
"""How long the workers have, after the storm, to do what is left by themselves."""


class Storm:
    """Workers of one project and what happens to them; `blows` counts it."""

    def __init__(self, flow: Flow, seed: int, chunks: int) -> None:
        """`chunks` are ready at first, and more become ready while the storm lasts."""
        self.flow = flow
        self.blows: Counter[str] = Counter()
        self.dataids: list[str] = []
        self._chance = random.Random(seed)
        self._workers: list[subprocess.Popen[str]] = []
        self._environment: dict[str, str] = {}
        self._strikes: list[Any] = [
            *(self._kill, self._kill_with_guards, self._kill_guard, self._kill_child),
            *(self._terminate, self._pause, self._pause_past_the_lease),
        ]
        flow.dataflow("pool", "set", "house", str(POOL_SIZE))
        flow.declare(PROJECT, keep=True)
        for name in ("extract.py", "load.py"):
            beating = BEATING.replace("{longest}", "0.3").replace('"history"', f'"history.{name[:-3]}"')
            flow.script(name, FAILS_SOMETIMES + beating, interpreter=sys.executable)
        self._publish(chunks)

    def add_full_disk(self, disk: Path) -> None:
        """Let the disk of the project's state be full at times."""
        self._strikes.append(partial(self._fill_disk, disk))

    def add_server(self, server: PostgresServer, proxy: Proxy) -> None:
        """Let workers reach the store through the proxy; stall it, and restart the server, at times."""
        self._environment = {"DATAFLOW_STORE": proxy.url}
        self._strikes += [partial(self._stall, proxy), partial(self._restart, server)]

    def rage(self, seconds: float, workers: int = 2) -> None:
        """Strike at random until the time is over; there is always something to do."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._keep(workers)
            if self._count_open() < LEAST_OPEN:
                self._publish(LEAST_OPEN)
            time.sleep(self._chance.uniform(0.2, 1.5))
            strike = self._chance.choice(self._strikes)
            self.blows[getattr(strike, "func", strike).__name__] += 1
            strike()

    def calm(self, workers: int = 2) -> None:
        """Let the workers do what is left, and end them."""

        def is_over() -> bool:
            self._keep(workers)
            time.sleep(0.5)
            return self.is_over()

        wait_until(is_over, CALM_SECONDS)
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            worker.wait(60)

    def check(self) -> None:
        """Compare what the children recorded with what the store says."""
        print(f"{len(self.dataids)} chunks, {dict(self.blows)}")
        with self.flow.store() as store:
            assert store.read.list_pool_uses("house") == [], "a pool has leaked"
        for job in ("extract", "load"):
            assert_no_two_runs_of_a_chunk_overlap(self.flow, f"history.{job}")
            assert_each_chunk_was_done_once(self.flow, self.dataids, job, f"history.{job}")

    def is_over(self) -> bool:
        """Return whether all work of the last job is done."""
        return self._count_open() == 0

    def _count_open(self) -> int:
        """Count the chunks that the last job has not done, and check that the pool has room for all runs."""
        with self.flow.store() as store:
            assert len(store.read.list_pool_uses("house")) <= POOL_SIZE, "a pool is exceeded"
        return len(self.dataids) - list(self.flow.states("load").values()).count("DONE")

    def _publish(self, count: int) -> None:
        """Make more chunks ready."""
        more = [str(len(self.dataids) + number) for number in range(count)]
        self.flow.ready("raw", *more)
        self.dataids += more

    def _keep(self, count: int) -> None:
        self._workers = [worker for worker in self._workers if worker.poll() is None]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        while len(self._workers) < count:
            worker = self.flow.project.start(
                *("dataflow", "worker", "-j", "3", "--quiet"),
                env=self.flow.env | self._environment,
                start_new_session=True,
                **quiet,
            )
            self.flow.started.append(worker)
            self._workers.append(worker)

    # blows

    def _pick(self) -> int:
        return self._chance.choice(self._workers).pid

    def _kill(self) -> None:
        kill_together(self._pick())

    def _kill_with_guards(self) -> None:
        pid = self._pick()
        kill_together(pid, *_list_guards(pid))

    def _kill_guard(self) -> None:
        signal_all(_list_guards(self._pick())[:1], signal.SIGKILL)

    def _kill_child(self) -> None:
        pid = self._pick()
        if children := [child for child in children_of(pid) if child not in _list_guards(pid)]:
            signal_all([self._chance.choice(children)], signal.SIGKILL)

    def _terminate(self) -> None:
        signal_all([self._pick()], signal.SIGTERM)

    def _pause(self, longest: float = 1.0) -> None:
        pid = self._pick()
        victims = [pid, *family(pid)]
        signal_all(victims, signal.SIGSTOP)
        time.sleep(self._chance.uniform(longest / 2, longest))
        signal_all(victims, signal.SIGCONT)

    def _pause_past_the_lease(self) -> None:
        self._pause(longest=6.0)

    def _fill_disk(self, disk: Path) -> None:
        ballast = fill(disk)
        time.sleep(self._chance.uniform(0.5, 3))
        ballast.unlink()

    def _stall(self, proxy: Proxy) -> None:
        proxy.stall()
        time.sleep(self._chance.uniform(0.5, 6))
        proxy.go_on()

    def _restart(self, server: PostgresServer) -> None:
        server.stop(immediate=self._chance.random() < 0.5)
        time.sleep(self._chance.uniform(0, 2))
        server.start()


def read_length(default: float) -> float:
    """Return how long the storm lasts: CHAOS_SECONDS, or else the default."""
    return float(os.environ.get("CHAOS_SECONDS") or default)


def read_seed() -> int:
    """Return CHAOS_SEED, or else a new one; printed when the test fails."""
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(1_000_000))
    print(f"CHAOS_SEED={seed}")
    return seed


def _list_guards(pid: int) -> list[int]:
    return [child for child in children_of(pid) if name_of(child) in GUARD_NAMES]
