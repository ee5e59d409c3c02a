"""Each guard in the SQL is needed: without it, its scenario fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from dataflow import errors
from dataflow.store.queries import Queries
from tests.store.access_mutants import ACCESS
from tests.store.change_mutants import CHANGE
from tests.store.chunk_mutants import OPERATE, PUBLISH, REGISTRATION
from tests.store.control_mutants import CONTROL, CONTROL_LOCKS
from tests.store.latest_mutants import COVER, COVER_LOCKS, PIN_READY
from tests.store.lock_mutants import LOCKS
from tests.store.mutants import EVERYTHING, Mutant
from tests.store.run_mutants import CLAIM, FINISH
from tests.store.several_mutants import SEVERAL, SEVERAL_LOCKS
from tests.store.some_days_mutants import SOME_DAYS, SOME_DAYS_LOCKS
from tests.store.version_mutants import VERSION_LOCKS, VERSIONS
from tests.store.watch_mutants import OUTBOX, WATCH, WATCH_LOCKS
from tests.store.world import World, open_sqlite

GUARDS = [
    *(*CLAIM, *FINISH, *PUBLISH, *OPERATE, *REGISTRATION, *COVER, *PIN_READY, *VERSIONS, *SOME_DAYS),
    *(*SEVERAL, *CONTROL, *CHANGE, *WATCH, *OUTBOX, *ACCESS),
]

LOCK_MUTANTS = [
    *LOCKS,
    *COVER_LOCKS,
    *VERSION_LOCKS,
    *SOME_DAYS_LOCKS,
    *SEVERAL_LOCKS,
    *CONTROL_LOCKS,
    *WATCH_LOCKS,
]

# What a condition is about when it guards a move, and not merely names the rows.
GUARDED = re.compile(
    r"\b(state|lease_until|claimant|ended_at|clock_id|outcome|hold|not_before|withdrawn|stale|dirty_run_id|missing"
    r"|revision|due_at|present|known|reach|run_id (?:=|<) (?!:run_id$))"
)

# Conditions without which nothing can go wrong, and why.
HARMLESS = {
    ("claim.promote", "not_before IS NOT NULL"): "names the index",
    ("claim.promote", "not_before_clock = $clock_id"): "end_old_waits has left no other, and names the index",
    ("claim.end_old_waits", "not_before IS NOT NULL"): "names the index",
    ("claim.shorten_leases", "clock_id = $clock_id"): "names the index",
    ("claim.shorten_leases", "lease_until > $lease_then UNION ALL SELECT run_id"): "names the index",
    ("claim.shorten_waits", "not_before IS NOT NULL"): "names the index",
    ("claim.shorten_waits", "not_before_clock = $clock_id"): "end_old_waits ends the others; names the index",
    ("claim.promote", "state = 'WAITING'"): "a CHECK: only waiting work has a not_before",
    ("operate.acknowledge_work", "state = 'WAITING'"): "the same CHECK",
    ("operate.acknowledge_work", "not_before IS NOT NULL"): "without a wait the state does not change",
    ("registration.delete_uncalled", "x.present > 0"): "delete_uncalled_inputs has asked before",
    ("publish.do_again", "r.run_id = w.run_id"): "a join",
    ("publish.clean_place", "dirty_run_id IS NOT NULL"): "names the index",
    ("change.made_down_the_line", "reached.job_id > 0"): "leaves out what it started from",
    ("change.made_down_the_line", "run.run_id = i.run_id"): "a join",
    ("change.done_without_output", "run.run_id = i.run_id"): "a join",
    ("change.done_without_output", "w.state = 'DONE'"): "the states are read again before the move",
    ("several.promote", "run_id = 0"): "only decides from when its age counts",
    ("outbox.take", "state = 'due'"): "next_due has asked, and holds the row",
}


def list_conditions(sql: str) -> Iterator[str]:
    """The conditions of a writing statement: what follows WHERE, AND, OR or WHEN."""
    text = " ".join(line for line in sql.splitlines() if not line.startswith("--"))
    if not re.match(r"\s*(UPDATE|DELETE|INSERT|WITH)", text):
        return
    for found in re.finditer(
        r"\b(?:WHERE|AND|OR|WHEN)\b[ (]*(?:NOT )?(?!EXISTS)([^()]*?)(?=\s*(?:\b(?:AND|OR|THEN|"
        r"ORDER|RETURNING|GROUP|WHERE|THEN|FROM|ELSE)\b|[(),]|$))",
        text,
    ):
        yield " ".join(found[1].split())


@pytest.mark.parametrize(
    "file",
    [
        "claim",
        "finish",
        "publish",
        "operate",
        "registration",
        "cover",
        "versions",
        "control",
        "change",
        "several",
        "watch",
        "outbox",
        "access",
    ],
)
def test_every_condition_that_guards_a_move_has_a_mutant(file: str) -> None:
    queries = Queries("plain", {})
    queries._load(file)
    taken_out: dict[str, str] = {}
    for mutant in (*GUARDS, *LOCKS):
        taken_out[mutant.query] = taken_out.get(mutant.query, "") + "\n" + " ".join(mutant.guard.split())
    unguarded = [
        (name, condition)
        for name in queries._texts
        for condition in list_conditions(queries.text(name))
        if GUARDED.search(condition)
        and condition not in taken_out.get(name, "")
        and (name, condition) not in HARMLESS
    ]
    assert unguarded == []


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """Let every store opened meanwhile use the query without its guard."""
    real = Queries.text

    def text(queries: Queries, name: str) -> str:
        sql = real(queries, name)
        if name != mutant.query:
            return sql
        if mutant.guard == EVERYTHING:
            return "SELECT 1"
        guard = queries.spell(mutant.guard)
        assert guard in sql, f"{name} no longer says {guard}"
        return sql.replace(guard, queries.spell(mutant.instead), 1)

    with patch.object(Queries, "text", text):
        yield


def go_wrong(mutant: Mutant, world: World) -> None:
    """The scenario must fail, and not because the statement is no longer valid."""
    with (
        mutated(mutant),
        pytest.raises((AssertionError, pytest.fail.Exception, errors.DataFlowError)) as caught,
    ):
        mutant.caught_by(world)
    if isinstance(caught.value, errors.StoreError):
        assert mutant.constraint, f"only a constraint noticed: {caught.value}"
        assert mutant.constraint in str(caught.value)
    else:
        assert "no longer says" not in str(caught.value)


@pytest.mark.parametrize("mutant", GUARDS, ids=str)
def test_the_guard_is_needed(mutant: Mutant) -> None:
    world = open_sqlite(":memory:")
    mutant.caught_by(world)
    world.close()
    world = open_sqlite(":memory:")
    go_wrong(mutant, world)
    world.close()


@pytest.mark.full
@pytest.mark.parametrize("mutant", LOCK_MUTANTS, ids=str)
def test_the_lock_is_needed(mutant: Mutant, postgres_world: World) -> None:
    go_wrong(mutant, postgres_world)
