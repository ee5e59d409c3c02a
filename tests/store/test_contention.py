"""Contention: deadlocks are retried, and concurrent processes share the work."""

from __future__ import annotations

import multiprocessing
import threading
from typing import TYPE_CHECKING

from dataflow.store import chunks
from dataflow.store.opener import open_store
from tests.store.claimants import Claimed, claim_all
from tests.store.faults import Beside
from tests.store.races import check
from tests.store.world import PATIENCE_SECONDS, World

if TYPE_CHECKING:
    from dataflow.store.database import Database, Transaction

PROCESSES = 8
CHUNKS = 300


def test_two_publishers_of_the_same_chunks_in_opposite_order_both_succeed(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    dataset_id = world.dataset_record("raw")[0]
    pairs = world.pairs("raw", [str(number) for number in range(400)])
    meet = threading.Barrier(2)
    tries: list[int] = []

    def publish(database: Database, halves: list[list[tuple[str, str]]]) -> int:
        waits = [lambda: meet.wait(PATIENCE_SECONDS)]

        def verb(tx: Transaction) -> int:
            tries.append(len(halves))
            count = chunks.make_ready(tx, dataset_id, halves[0], False)
            if waits:  # only the first time: each holds its first half when it asks for the other's
                waits.pop()()
            return count + chunks.make_ready(tx, dataset_id, halves[1], False)

        return database.write(verb)

    halves = [pairs[:200], pairs[200:]]
    one, two = (world.store.database.separate(PATIENCE_SECONDS) for _ in range(2))
    first = Beside(one, lambda: publish(one, halves))
    second = Beside(two, lambda: publish(two, halves[::-1]))
    assert sorted((first.result(), second.result())) == [0, 400]
    one.close()
    two.close()
    assert len(tries) == 3, "there was no deadlock to try again after"
    check(world)
    assert set(world.states("to_clean").values()) == {"CLAIMABLE"}


def test_concurrent_processes_claim_each_chunk_once(store_url: str) -> None:
    store = open_store(store_url, "op@desk")
    if store.database.dialect == "postgres":
        store.database.upgrade()
    world = World(store, None)
    world.chain("raw", "clean", "report")
    world.ready("raw", *(str(number) for number in range(CHUNKS)))

    context = multiprocessing.get_context("spawn")
    start, given = context.Barrier(PROCESSES), context.Queue()
    workers = [
        context.Process(target=claim_all, args=(store_url, "to_clean", f"process-{number}", start, given))
        for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    claimed: list[Claimed] = [item for _ in workers for item in given.get(timeout=300)]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0

    assert sorted((dataid for _, dataid, _ in claimed), key=int) == [str(number) for number in range(CHUNKS)]
    assert len({run_id for _, _, run_id in claimed}) == CHUNKS
    assert set(world.states("to_clean").values()) == {"DONE"}
    assert {chunk.version for chunk in world.chunks("clean")} == {1}
    check(world)
    world.close()
