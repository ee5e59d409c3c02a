"""The heartbeat renews the lease of each run, and work whose lease cannot be renewed backs off."""

from __future__ import annotations

import threading
import time

import psycopg

from dataflow.model.records import Run
from dataflow.runjob.heartbeat import Heartbeat
from tests.acceptance.flow import ONE_JOB, Flow, finish, wait_until

SHORT = 'lease = "3.2s"\ngrace = "0.1s"\n'


def test_a_lease_made_shorter_during_a_drain_is_kept(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob.sh", "test $dataid = 3 && exec sleep 4; until test -e go; do sleep 0.01; done")
    draining = flow.start("--drain", "loadbob.sh")
    # From now on it has a heartbeat, which checks whether the run was cancelled.
    wait_until(lambda: flow.runs() and (flow.runs()[0].lease_left_seconds or 300) < 298)
    flow.declare(ONE_JOB + SHORT)
    (flow.path / "go").touch()
    assert finish(draining)[0] == 0
    # The last of them, which ran under the new lease, lived longer than that.
    assert flow.outcomes() == ["DONE", "DONE", "DONE"]
    assert flow.select("SELECT lease_seconds FROM run WHERE run_id = 3") == [(3.2,)]


def test_work_whose_lease_cannot_be_renewed_backs_off(postgres_flow: Flow) -> None:
    flow = postgres_flow
    flow.declare(ONE_JOB + SHORT)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "sleep 60")
    with psycopg.connect(flow.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS lonely")
        connection.execute("CREATE ROLE lonely LOGIN CONNECTION LIMIT 1")
        connection.execute("GRANT USAGE ON SCHEMA dataflow TO lonely")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA dataflow TO lonely")
        connection.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA dataflow TO lonely")
        connection.execute("ALTER ROLE lonely PASSWORD 'alone'")
        host = f"{connection.info.host}:{connection.info.port}/{connection.info.dbname}"
        try:
            url = f"postgresql://lonely:alone@{host}"
            flow.runjob("--drain", "loadbob.sh", env={"DATAFLOW_STORE": url}, code=125)
        finally:
            connection.execute("DROP OWNED BY lonely")
            connection.execute("DROP ROLE lonely")
    assert flow.outcomes() == ["LOST", "LOST"]
    assert flow.select("SELECT state, losses, not_before IS NULL FROM work") == [("WAITING", 2, False)]


class HeldRun:
    """A run that a program holds, as the heartbeat sees it."""

    def __init__(self, run: Run) -> None:
        self.run, self.renewed_at = run, 0.0

    def renewed(self, at: float) -> None:
        self.renewed_at = at


def test_a_heartbeat_that_is_about_to_look_stops_at_once(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    run = Run(1, 1, 1, "loadbob", "1", 1, "nobody", lease_seconds=0.03, grace_seconds=0.0)
    with sqlite_flow.store() as store:
        heartbeat = Heartbeat(store, "nobody", [HeldRun(run)])
        stopping = threading.Thread(target=heartbeat.stop, daemon=True)
        with heartbeat._lock:  # where it looks up what to keep
            time.sleep(0.2)
            stopping.start()
            time.sleep(0.2)
        stopping.join(10)
        assert not stopping.is_alive()


def test_each_thread_learns_of_its_own_lost_run(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    runs = [Run(number, 1, 1, "loadbob", "1", 1, "nobody", 0.03, 0.0) for number in (1, 2)]
    with sqlite_flow.store() as store:
        heartbeat = Heartbeat(store, "nobody", map(HeldRun, runs))  # the store knows neither
        try:
            for number in (1, 2, 1):
                wait_until(lambda number=number: heartbeat.is_lost(number))  # type: ignore[misc]
            assert not heartbeat.is_lost(3)
        finally:
            heartbeat.stop()
