"""Each guard in the SQL is needed: without it, the scenario named for it in mutants.py goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from dataflow import errors
from dataflow.store.queries import Queries
from tests.store.mutants import MUTANTS, Mutant
from tests.store.world import World, open_sqlite


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """Lets every store that is opened meanwhile read the query without its guard."""
    real = Queries.text

    def text(queries: Queries, name: str) -> str:
        sql = real(queries, name)
        if name != mutant.query:
            return sql
        guard = queries.spell(mutant.guard)
        assert guard in sql, f"{name} no longer says {guard}"
        return sql.replace(guard, queries.spell(mutant.instead), 1)

    with patch.object(Queries, "text", text):
        yield


def go_wrong(mutant: Mutant, world: World) -> None:
    """The scenario must fail, and not because the statement makes no sense any more."""
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


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_the_guard_is_needed(mutant: Mutant) -> None:
    world = open_sqlite(":memory:")
    mutant.caught_by(world)
    world.close()
    world = open_sqlite(":memory:")
    go_wrong(mutant, world)
    world.close()
