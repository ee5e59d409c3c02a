"""State after a crash at any step, and how the next run continues from it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest

from dataflow.errors import Conflict, Superseded, TargetError, TargetUnreachable
from dataflow.pipelines.postgres.ledger import take_over
from dataflow.pipelines.run.targets import discarding
from tests.acceptance.proxy import Proxy
from tests.pipelines.postgres.orders import (
    list_staging,
    load,
    make_rows,
    make_target,
    query,
    read_orders,
    stage,
)

ROOT = Path(__file__).resolve().parents[3]
PUBLISH = """
import sys
from tests.pipelines.postgres.orders import load, make_rows, make_target
load(make_target(sys.argv[1], 2), make_rows(500, "new"))
"""
# The publisher halts in the middle of its rows, because the test holds the lock it requests.
HALT_IN_THE_MIDDLE = """
    create function halt() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(4711); return new; end $$;
    create trigger halt before insert on orders for each row when (new.id = 250) execute function halt()
"""


def test_a_publisher_killed_in_the_middle_leaves_the_old_rows(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(3, "old"))
    query(postgres_url, HALT_IN_THE_MIDDLE)
    with psycopg.connect(postgres_url, autocommit=True) as halting:
        halting.execute("select pg_advisory_lock(4711)")
        environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
        command = [sys.executable, "-c", PUBLISH, postgres_url]
        publisher = subprocess.Popen(command, env=environment, cwd=ROOT)
        waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
        while query(postgres_url, waiting) == [(0,)]:
            assert publisher.poll() is None
            time.sleep(0.02)
        publisher.send_signal(signal.SIGKILL)
        publisher.wait()
    assert read_orders(postgres_url) == [(number, "old") for number in range(3)]
    following = make_target(postgres_url, 3)
    assert following.begin({2: ""}) is None
    following.publish([stage(following, make_rows(300, "newer"))])
    following.discard()
    assert read_orders(postgres_url) == [(number, "newer") for number in range(300)]
    assert list_staging(postgres_url) == []


def test_a_run_that_died_after_its_commit_is_found_and_nothing_is_appended_twice(postgres_url: str) -> None:
    load(make_target(postgres_url, 4, strategy="append"), make_rows(3))
    for run_id in (5, 6):  # the first of them also dies before it has finished
        found = make_target(postgres_url, run_id, strategy="append").begin({3: "", 4: "", 5: ""})
        assert found is not None and found.rows == 3
        # Views compare this with the run that the store records once it has finished.
        assert query(postgres_url, "select run_id, fence from dataflow_ledger") == [(run_id, run_id)]
    assert len(read_orders(postgres_url)) == 3
    with pytest.raises(Superseded):
        make_target(postgres_url, 4, strategy="append").publish([])


def test_results_from_other_inputs_or_unknown_runs_are_not_adopted(
    postgres_url: str,
) -> None:
    assert make_target(postgres_url, 1).begin({1: ""}) is None
    load(make_target(postgres_url, 1), make_rows(3))
    assert make_target(postgres_url, 2).begin({}) is None
    assert make_target(postgres_url, 2, inputs="pages:2").begin({1: ""}) is None
    assert make_target(postgres_url, 2, "2024-01-02").begin({1: ""}) is None
    assert make_target(postgres_url, 2).begin({1: "of a restored store"}) is None
    assert make_target(postgres_url, 2).begin({1: ""}) is not None


def test_a_table_belongs_to_one_store_until_another_takes_it_over(postgres_url: str) -> None:
    load(make_target(postgres_url, 7, store_id="old"), make_rows(3, "old"))
    left = make_target(postgres_url, 8, store_id="old")
    left.begin()
    same, other = make_target(postgres_url, 8, store_id="new"), make_target(postgres_url, 9, "2024-01-02")
    for target in (same, other):  # for any run ids, and for any dataid
        with pytest.raises(Conflict, match=r"another status store.*dataflow pipeline takeover Orders"):
            target.begin({7: ""})
    staged = stage(left, make_rows(1, "late"))
    with psycopg.connect(postgres_url) as session:
        assert take_over(session, "public", "orders", "new", 99) == 1
    with pytest.raises(Conflict, match="another status store"):
        left.publish([staged])
    first = make_target(postgres_url, 1, store_id="new")
    assert first.begin({7: ""}) is None
    first.publish([stage(first, make_rows(2, "new"))])
    first.discard()
    assert read_orders(postgres_url) == [(0, "new"), (1, "new")]
    assert list_staging(postgres_url) == []


def test_a_taken_over_snapshot_is_still_not_replaced_by_an_older_one(postgres_url: str) -> None:
    load(make_target(postgres_url, 7, store_id="old"), make_rows(3))
    with psycopg.connect(postgres_url) as session:
        take_over(session, "public", "orders", "new", 99)
    with pytest.raises(Superseded, match="the older 2023-12-31 does not replace it"):
        make_target(postgres_url, 1, "2023-12-31", store_id="new").begin()


def test_a_takeover_waits_for_a_run_that_is_raising_its_fence(postgres_url: str) -> None:
    load(make_target(postgres_url, 7, store_id="old"), make_rows(3))
    beginning = make_target(postgres_url, 8, "2024-01-02", store_id="old")
    with psycopg.connect(postgres_url) as raising, psycopg.connect(postgres_url) as session:
        beginning._ledger.raise_fence(raising)
        session.execute("set lock_timeout = '100ms'")
        session.commit()
        with pytest.raises(psycopg.errors.LockNotAvailable):
            take_over(session, "public", "orders", "new", 99)
        session.rollback()
        raising.commit()
        assert take_over(session, "public", "orders", "new", 99) == 2


def test_without_its_ledger_a_snapshot_is_not_replaced_by_one_older_than_the_store_published(
    postgres_url: str,
) -> None:
    load(make_target(postgres_url, 1, "2024-01-02"), make_rows(3, "new"))
    query(postgres_url, "drop table dataflow_ledger")
    with pytest.raises(Conflict, match="the store published 2024-01-02, which the older 2024-01-01"):
        make_target(postgres_url, 2, newest="2024-01-02").begin()
    assert read_orders(postgres_url) == [(0, "new"), (1, "new"), (2, "new")]
    load(make_target(postgres_url, 3, "2024-01-02", newest="2024-01-02"), make_rows(1, "again"))
    assert read_orders(postgres_url) == [(0, "again")]


def test_staging_left_by_another_store_under_the_same_run_id_is_not_used(postgres_url: str) -> None:
    old = make_target(postgres_url, 1, store_id="old")
    old.begin()
    stage(old, make_rows(3, "old"))
    with psycopg.connect(postgres_url) as session:
        take_over(session, "public", "orders", "new", 99)
    new = make_target(postgres_url, 1, store_id="new")
    new.begin()
    assert new.publish([stage(new, make_rows(2, "new"))]).rows == 2


def test_an_outage_after_the_publish_does_not_undo_it(postgres_url: str) -> None:
    staging = make_target(postgres_url)
    staging.begin()
    staged = stage(staging, make_rows(3))
    server, _, database = postgres_url.rpartition("/")

    def admit(yes: bool) -> bool:
        with psycopg.connect(f"{server}/postgres", autocommit=True) as session:
            session.execute(f"alter database {database} allow_connections {yes}")  # type: ignore[call-overload, unused-ignore]
        return False

    with Proxy(postgres_url, cut=lambda number: admit(False)) as proxy:
        target = make_target(proxy.url)
        with discarding(target):
            assert target.publish([staged]).rows == 3
    admit(True)
    assert len(read_orders(postgres_url)) == 3


def test_a_lost_reply_to_the_commit_is_looked_up(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(1, "old"))
    staging = make_target(postgres_url, 2, strategy="append", inputs="2")
    staging.begin()
    staged = stage(staging, make_rows(3, first=1))
    with Proxy(postgres_url, cut=lambda number: number == 1) as proxy:
        target = make_target(proxy.url, 2, "2024-01-01", strategy="replace", inputs="2")
        published = target.publish([staged])
        assert proxy.cuts == 1
    assert published.rows == 3
    assert len(read_orders(postgres_url)) == 3


def test_a_lost_reply_to_the_commit_of_the_fence_is_repeated(postgres_url: str) -> None:
    with Proxy(postgres_url, cut=lambda number: number == 1) as proxy:
        assert make_target(proxy.url, 1).begin() is None
        assert proxy.cuts == 1
    first = make_target(postgres_url, 1)
    assert first.publish([stage(first, make_rows(3))]).rows == 3


def test_a_lost_reply_to_the_commit_that_adopts_a_result_does_not_discard_it(postgres_url: str) -> None:
    load(make_target(postgres_url, 1, strategy="append"), make_rows(3))
    with Proxy(postgres_url, cut=lambda number: number == 1) as proxy:
        found = make_target(proxy.url, 2, strategy="append").begin({1: ""})
        assert proxy.cuts == 1
    assert found is not None and found.rows == 3
    assert query(postgres_url, "select run_id, fence from dataflow_ledger") == [(2, 2)]


def test_a_connection_that_breaks_before_the_commit_publishes_nothing(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(3, "old"))
    query(
        postgres_url,
        """create function die() returns trigger language plpgsql as
               $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
           create constraint trigger die after insert on orders deferrable initially deferred
               for each row execute function die()""",
    )
    target = make_target(postgres_url, 2)
    with pytest.raises(TargetUnreachable, match="Connection warehouse does not answer"):
        load(target, make_rows(3, "new"))
    assert read_orders(postgres_url) == [(number, "old") for number in range(3)]


def test_the_next_run_waits_for_a_publish_in_progress(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(3, "old"))
    query(postgres_url, HALT_IN_THE_MIDDLE)
    found = []
    with psycopg.connect(postgres_url, autocommit=True) as halting:
        halting.execute("select pg_advisory_lock(4711)")
        publishing = threading.Thread(target=load, args=(make_target(postgres_url, 2), make_rows(300, "new")))
        publishing.start()
        while query(postgres_url, "select 1 from pg_locks where locktype = 'advisory' and not granted") == []:
            time.sleep(0.02)
        recovering = threading.Thread(
            target=lambda: found.append(make_target(postgres_url, 3).begin({2: ""}))
        )
        recovering.start()
        while (
            query(postgres_url, "select 1 from pg_locks where locktype = 'transactionid' and not granted")
            == []
        ):
            time.sleep(0.02)
    publishing.join()
    recovering.join()
    assert found[0] is not None and found[0].rows == 300


def test_discard_drops_only_leftovers_of_dead_runs_of_this_work(postgres_url: str) -> None:
    names = {}
    for run_id, dataid in ((3, "d1"), (20, "d1"), (5, "d2")):
        target = make_target(postgres_url, run_id, dataid)
        target.begin()
        stage(target, make_rows(1))
        names[run_id] = target.staging.name
    target = make_target(postgres_url, 7, "d1")
    assert names[3] in list_staging(postgres_url)
    target.discard()  # 7 lost to 20, which is alive
    assert list_staging(postgres_url) == sorted([names[20], names[5]])


def test_staged_rows_lost_in_a_server_crash_are_detected(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(3, "old"))
    target = make_target(postgres_url, 2)
    target.begin()
    staged = stage(target, make_rows(3, "new"))
    query(postgres_url, f"truncate {target.staging}")  # what recovery does to an unlogged table
    with pytest.raises(TargetError, match="Nothing was published"):
        target.publish([staged])
    assert read_orders(postgres_url) == [(number, "old") for number in range(3)]


def test_the_name_of_a_staging_table_fits_for_any_dataset_name(postgres_url: str) -> None:
    target = make_target(postgres_url, 2**63 - 1, dataid="ä" * 80)
    target.begin()
    assert list_staging(postgres_url) == [target.staging.name]
    assert len(target.staging.name) <= 63
