"""The file of an embedded store that is moved or deleted while a process uses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dataflow import errors
from dataflow.model.records import Dataset
from dataflow.store import entries
from dataflow.store.sqlite import SqliteDatabase
from dataflow.store.store import Store


def test_a_store_that_was_moved_is_refused_until_it_is_back_and_never_created_again(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    database = SqliteDatabase(str(folder / "dataflow.db"))
    watch = database.watch()
    store = Store(database, "op@desk")
    folder.rename(tmp_path / "gone")
    verbs: list[Callable[[], object]] = [
        lambda: store.find_dataset("raw"),
        lambda: store.register(lambda tx: entries.write_dataset(tx, Dataset("raw"))),
        lambda: database.separate(None),
        watch.take,
    ]
    for verb in verbs:
        with pytest.raises(errors.StoreUnreachable, match=r"dataflow\.db is gone: it was moved or deleted"):
            verb()
    assert not folder.exists()
    (tmp_path / "gone").rename(folder)
    store.register(lambda tx: entries.write_dataset(tx, Dataset("raw")))
    assert watch.take()
    watch.close()
    store.close()


def test_another_store_in_the_same_place_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state" / "dataflow.db"
    store = Store(SqliteDatabase(str(path)), "op@desk")
    path.parent.rename(tmp_path / "gone")
    SqliteDatabase(str(path)).close()
    with pytest.raises(errors.StoreDenied, match="Another store was put in the place"):
        store.find_dataset("raw")
    store.close()
