"""Two concurrent transactions on PostgreSQL in an order the test chooses, and what must hold afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.store.faults import Beside, Pausing
from tests.store.world import PATIENCE_SECONDS, World

Doing = Callable[[World], Any]


class Raced(NamedTuple):
    """What each returned or raised, and whether the second had to wait for the first."""

    first: Any
    second: Any
    waited: bool


def race(world: World, first: Doing, second: Doing, after: str = "") -> Raced:
    """Hold the first open before its commit, or after a query, until the second has ended or waits."""
    database = Pausing(world.store.database.separate(PATIENCE_SECONDS), after)
    held, other = world.beside(database), world.beside()
    one = Beside(database, lambda: _outcome(first, held))
    database.pause.wait()
    two = Beside(other.store.database, lambda: _outcome(second, other))
    waited = two.wait_until_blocked()
    database.pause.go()
    raced = Raced(one.result(), two.result(), waited)
    held.close()
    other.close()
    return raced


def _outcome(doing: Doing, world: World) -> Any:
    try:
        return doing(world)
    except Exception as error:
        return error


READY = "version > 0 AND NOT withdrawn AND NOT stale AND dirty_run_id IS NULL"


def check(world: World) -> None:
    """The stored readiness and staleness must follow from what is published."""
    assert _wrong_counts(world) == []
    assert _wrong_states(world) == []
    assert _skipped(world) == []
    assert _silently_old(world) == []


def _wrong_counts(world: World) -> list[tuple[Any, ...]]:
    """Inputs whose stored presence differs from the chunk's (mapping same)."""
    return world.select(
        f"""SELECT j.name, w.dataid, i.position, i.present FROM work_input i
        JOIN work w ON w.work_id = i.work_id JOIN job j ON j.job_id = w.job_id
        JOIN job_input x ON x.job_id = w.job_id AND x.position = i.position
        WHERE x.mapping = 'same' AND i.present <> (SELECT count(*) FROM chunk c
                            WHERE c.dataset_id = x.dataset_id AND c.dataid = w.dataid AND {READY})
           OR w.missing <> (SELECT count(*) FROM work_input y
                            WHERE y.work_id = w.work_id AND y.present < y.needed)"""
    )


def _wrong_states(world: World) -> list[tuple[Any, ...]]:
    return world.select(
        """SELECT work_id, dataid, state, missing FROM work
        WHERE (state = 'CLAIMABLE' AND missing > 0)
           OR (state = 'WAITING' AND missing = 0 AND not_before IS NULL)
           OR (state = 'RUNNING') <> EXISTS (SELECT 1 FROM run r
                                             WHERE r.run_id = work.run_id AND r.ended_at IS NULL)"""
    )


def _skipped(world: World) -> list[tuple[Any, ...]]:
    """Ready chunks that created no work for a consumer."""
    return world.select(
        f"""SELECT x.job_id, c.dataid FROM chunk c JOIN job_input x ON x.dataset_id = c.dataset_id
        WHERE {READY} AND x.mapping = 'same'
          AND NOT EXISTS (SELECT 1 FROM work w WHERE w.job_id = x.job_id AND w.dataid = c.dataid)"""
    )


def _silently_old(world: World) -> list[tuple[Any, ...]]:
    """Chunks made from an input that has a newer version, and not stale."""
    return world.select(
        """SELECT c.dataset_id, c.dataid FROM chunk c JOIN run_input i ON i.run_id = c.run_id
        JOIN chunk x ON x.chunk_id = i.chunk_id WHERE x.version <> i.version AND NOT c.stale"""
    )
