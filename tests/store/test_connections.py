"""Connections to PostgreSQL: how long they wait, what a slow reader costs, and what their errors say."""

from __future__ import annotations

import time

import pytest

from dataflow import errors
from tests.store.faults import Beside, Pausing
from tests.store.world import World


def test_a_connection_with_a_short_timeout_gives_up_on_a_locked_row_in_time(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    holding = Pausing(world.beside().store.database)
    held = world.beside(holding)
    one = Beside(holding, lambda: held.finish(run))
    holding.pause.wait()
    hasty = world.store.separate(1.0)
    began = time.monotonic()
    with pytest.raises(errors.StoreUnreachable):
        hasty.renew("first", [run.run_id])
    waited = time.monotonic() - began
    holding.pause.go()
    one.result()
    assert waited < 1.5
    for world_or_store in (held, hasty):
        world_or_store.close()


def test_a_connection_with_a_short_timeout_gives_up_on_a_slow_statement(postgres_world: World) -> None:
    database = postgres_world.beside().store.database.separate(0.5)
    began = time.monotonic()
    with pytest.raises(errors.StoreError, match="statement timeout"):
        list(database.select("SELECT count(*) FROM generate_series(1, 1000000000)")[1])
    assert time.monotonic() - began < 1.0
    database.close()


def make_chunks(world: World) -> None:
    world.dataset("raw")
    world.ready("raw", *[str(number) for number in range(12_000)])


def test_a_reader_that_pauses_keeps_no_transaction_open(postgres_world: World) -> None:
    make_chunks(postgres_world)
    world = postgres_world.beside()
    (pid,) = world.select("SELECT pg_backend_pid()")[0]
    chunks = world.store.read.list_chunks(world.dataset_record("raw")[0])
    assert next(chunks).dataid == "0"
    assert postgres_world.select(f"SELECT state FROM pg_stat_activity WHERE pid = {pid}") == [("idle",)]
    assert sum(1 for _ in chunks) == 11_999
    world.close()


def test_two_readers_share_a_connection_with_a_writer(postgres_world: World) -> None:
    make_chunks(postgres_world)
    world = postgres_world
    dataset_id = world.dataset_record("raw")[0]
    one, two = world.store.read.list_chunks(dataset_id), world.store.read.list_chunks(dataset_id)
    assert next(one).dataid == next(two).dataid
    assert world.ready("raw", "more") == 1
    assert sum(1 for _ in one) == sum(1 for _ in two) == 11_999


def test_a_select_of_the_user_has_no_idle_timeout(postgres_world: World) -> None:
    world = postgres_world.beside()
    _, rows = world.store.database.select("SELECT current_setting('idle_in_transaction_session_timeout')")
    assert list(rows) == [("0",)]
    world.close()


def test_a_reader_whose_server_disappears_gets_an_error_of_ours(postgres_world: World) -> None:
    make_chunks(postgres_world)
    world = postgres_world.beside()
    (pid,) = world.select("SELECT pg_backend_pid()")[0]
    chunks = world.store.read.list_chunks(world.dataset_record("raw")[0])
    next(chunks)
    postgres_world.select(f"SELECT pg_terminate_backend({pid})")
    with pytest.raises(errors.StoreUnreachable):
        list(chunks)
    world.close()
