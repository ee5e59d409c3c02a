"""Server-sent events: one thread watches the journal and tells all open pages what changed."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from dataflow.api.store_pool import StorePool
from dataflow.errors import StoreError
from dataflow.model.record import pick

POLL_SECONDS = 0.5
"""One short read this often, and none while nobody listens; pages do not ask the store themselves."""
SPREAD_SECONDS = 0.2
"""For each open page: after a change they fetch themselves again, and must not all do so at once."""
HEARTBEAT_SECONDS = 15.0
MOST_STREAMS = 500
LONGEST_QUEUE = 50
LINES = 200
TOLD = ("job", "dataset", "dataid", "run_id", "action", "from_state", "to_state", "items")

Queue = asyncio.Queue[str | None]


class Events:
    """The open streams, and the thread that feeds them."""

    def __init__(self, pool: StorePool) -> None:
        self._pool = pool
        self._queues: set[Queue] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begun = asyncio.Event()
        self._ending = asyncio.Event()
        self._stopping = threading.Event()
        self._seen: set[int] | None = None
        self._trouble = ""
        self._thread = threading.Thread(target=self._watch, name="events", daemon=True)

    @property
    def is_full(self) -> bool:
        """Whether no more streams are taken."""
        return len(self._queues) >= MOST_STREAMS

    async def stream(self) -> AsyncIterator[str]:
        """Yield events until the client leaves or the server ends."""
        queue = self._join()
        try:
            # From here on nothing is missed: whoever reads the store now receives every later change.
            await self._begun.wait()
            yield _event("hello", {})
            while True:
                try:
                    text = await asyncio.wait_for(queue.get(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    text = ": still here\n\n"
                else:
                    await self._spread()
                if text is None or self._ending.is_set():
                    return
                yield text + _take_all(queue)
        finally:
            self._queues.discard(queue)

    async def _spread(self) -> None:
        """Wait for a random time, on average longer the more pages are open; not while the server ends."""
        seconds = random.uniform(0, SPREAD_SECONDS * len(self._queues))
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ending.wait(), seconds)

    def _join(self) -> Queue:
        queue: Queue = asyncio.Queue(LONGEST_QUEUE)
        if self._stopping.is_set():
            queue.put_nowait(None)
        self._queues.add(queue)
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._thread.start()
        return queue

    def close(self) -> None:
        """End all streams and the thread."""
        self._stopping.set()
        self._begun.set()
        self._ending.set()
        for queue in list(self._queues):
            _put(queue, None)

    def _watch(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            if not self._queues:
                self._on_loop(self._rest)
                continue
            try:
                found = self._look()
            except StoreError as error:
                if self._trouble != error.code:
                    self._trouble = error.code
                    self._tell("store", {"code": error.code, "reachable": False})
                self._on_loop(self._begun.set)
                continue
            self._on_loop(self._begun.set)
            if self._trouble:
                self._trouble = ""
                self._tell("store", {"code": "", "reachable": True})
            if found:
                self._tell("change", {"changes": found, "more": len(found) == LINES})

    def _look(self) -> list[dict[str, Any]]:
        """Return the lines of the journal that are new, oldest first."""
        with self._pool.lend("events") as store:
            lines = store.read.list_journal(LINES)
        before, self._seen = self._seen, {line.journal_id for line in lines}
        if before is None:
            return []
        # By id: a line may be committed after one with a higher id. What an earlier look cut off is older.
        oldest = min(before, default=0)
        new = [line for line in lines if line.journal_id not in before and line.journal_id > oldest]
        return [pick(line, *TOLD) for line in reversed(new)]

    def _tell(self, name: str, data: dict[str, Any]) -> None:
        text = _event(name, data)
        self._on_loop(lambda: self._tell_all(text))

    def _on_loop(self, act: Callable[[], None]) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(act)

    def _rest(self) -> None:
        """Forget where the journal ends, if nobody listens."""
        if not self._queues and not self._stopping.is_set():
            self._begun.clear()
            self._seen = None

    def _tell_all(self, text: str) -> None:
        for queue in list(self._queues):
            _put(queue, text)


def _take_all(queue: Queue) -> str:
    """Return the events that have come meanwhile."""
    texts = []
    while not queue.empty():
        texts.append(queue.get_nowait() or "")
    return "".join(texts)


def _put(queue: Queue, text: str | None) -> None:
    """Add an event; a page that has not read for long gets one `reload` instead of all it has missed."""
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(_event("reload", {}))
    queue.put_nowait(text)


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False, default=str)}\n\n"
