"""A rehearsal: the verbs take effect inside it and are undone afterwards."""

from __future__ import annotations

import pytest

from dataflow.errors import BadInput
from dataflow.model.records import Dataset
from dataflow.store.store import Store
from tests.store.world import World


def add(store: Store, name: str) -> None:
    from dataflow.actions.register import add_dataset

    add_dataset(store, Dataset(name))


def test_a_rehearsal_sees_its_changes_and_leaves_none(world: World) -> None:
    add(world.store, "kept")

    def act(rehearsed: Store) -> list[str]:
        add(rehearsed, "rehearsed")
        found = rehearsed.find_dataset("rehearsed")
        assert found is not None
        rehearsed.make_ready(found[0], "rehearsed", [("1", "1")], again=False)
        assert [chunk.status for chunk in rehearsed.read.list_chunks(found[0])] == ["READY"]
        return rehearsed.read.list_names("dataset")

    assert sorted(world.store.rehearse(act)) == ["kept", "rehearsed"]
    assert world.store.read.list_names("dataset") == ["kept"]


def test_a_failed_rehearsal_leaves_no_changes_either(world: World) -> None:
    def act(rehearsed: Store) -> None:
        add(rehearsed, "rehearsed")
        raise BadInput("no")

    with pytest.raises(BadInput):
        world.store.rehearse(act)
    assert world.store.read.list_names("dataset") == []
