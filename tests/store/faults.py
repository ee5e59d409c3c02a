"""Databases that fail as real ones do: an answer is lost, a transaction stays open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.store.postgres import PostgresDatabase
from tests.store.world import PATIENCE_SECONDS

if TYPE_CHECKING:
    from dataflow.store.database import Call, Database, Result, Row, Transaction, Watch


class Delegate:
    """A database that passes everything on to another one."""

    def __init__(self, inner: Database) -> None:
        self.inner = inner
        self.dialect = inner.dialect
        self.url = inner.url

    def write(self, verb: Callable[[Transaction], Result]) -> Result:
        return self.inner.write(verb)

    def read(self, verb: Callable[[Transaction], Result]) -> Result:
        return self.inner.read(verb)

    def stream(self, name: str, /, **parameters: Any) -> Iterator[Row]:
        return self.inner.stream(name, **parameters)

    def select(self, sql: str) -> tuple[list[str], Iterable[Row]]:
        return self.inner.select(sql)

    def upgrade(self) -> list[str]:
        return self.inner.upgrade()

    def schema_version(self) -> int:
        return self.inner.schema_version()

    def separate(self, patience_seconds: float | None) -> Database:
        return self.inner.separate(patience_seconds)

    def watch(self) -> Watch:
        return self.inner.watch()

    def interrupt(self, patience_seconds: float) -> float | None:
        return self.inner.interrupt(patience_seconds)

    def count_pages(self) -> int:
        return self.inner.count_pages()

    def close(self) -> None:
        self.inner.close()


class LostAnswer(Delegate):
    """Commits, loses the answer, and does what a driver's retry does: runs the verb again."""

    def __init__(self, inner: Database, meanwhile: Callable[[], object] = lambda: None) -> None:
        super().__init__(inner)
        self._meanwhile = meanwhile

    def write(self, verb: Callable[[Transaction], Result]) -> Result:
        self.inner.write(verb)
        self._meanwhile()
        return self.inner.write(verb)


class Pause:
    """A point at which a transaction stops until the test lets it continue."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._go = threading.Event()

    def stop(self) -> None:
        self._reached.set()
        assert self._go.wait(PATIENCE_SECONDS), "nobody said go"

    def wait(self) -> None:
        assert self._reached.wait(PATIENCE_SECONDS), "the transaction never came here"

    def go(self) -> None:
        self._go.set()


class PausingTransaction:
    """A transaction that stops once, after the named query."""

    def __init__(self, inner: Transaction, pause: Pause, after: str) -> None:
        self._inner = inner
        self._pause = pause
        self._after = after
        self.search_cost = inner.search_cost

    def rows(self, name: str, /, **parameters: Any) -> list[Row]:
        result = self._inner.rows(name, **parameters)
        self._passed(name)
        return result

    def find(self, name: str, /, **parameters: Any) -> Row | None:
        result = self._inner.find(name, **parameters)
        self._passed(name)
        return result

    def run(self, name: str, /, **parameters: Any) -> int:
        result = self._inner.run(name, **parameters)
        self._passed(name)
        return result

    def lock(self, name: str, /, **parameters: Any) -> None:
        self._inner.lock(name, **parameters)
        self._passed(name)

    def at_end(self, act: Callable[[Transaction], None]) -> None:
        self._inner.at_end(lambda _: act(self))

    def batch(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        return self._inner.batch(pairs)

    def ids(self, ids: Sequence[int]) -> dict[str, Any]:
        return self._inner.ids(ids)

    def names(self, names: Sequence[str]) -> dict[str, Any]:
        return self._inner.names(names)

    def calls(self, calls: Sequence[Call]) -> dict[str, Any]:
        return self._inner.calls(calls)

    def records(self, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return self._inner.records(records)

    def _passed(self, name: str) -> None:
        if name == self._after:
            self._after = ""
            self._pause.stop()


class Pausing(Delegate):
    """Stops its first writing transaction after a named query, or, without a name, just before the commit."""

    def __init__(self, inner: Database, after: str = "") -> None:
        super().__init__(inner)
        self.pause = Pause()
        self._after = after
        self._used = False

    def write(self, verb: Callable[[Transaction], Result]) -> Result:
        def paused(tx: Transaction) -> Result:
            if self._used:
                return verb(tx)
            self._used = True
            result = verb(PausingTransaction(tx, self.pause, self._after))
            if not self._after:
                tx.at_end(lambda _: self.pause.stop())
            return result

        return self.inner.write(paused)


class Beside:
    """An action in its own thread and connection; the test can see whether it waits for a lock."""

    def __init__(self, database: Database, call: Callable[[], Any]) -> None:
        inner = database.inner if isinstance(database, Delegate) else database
        assert isinstance(inner, PostgresDatabase)
        self._pid = inner._connected().info.backend_pid
        self._watcher = inner.separate(PATIENCE_SECONDS)
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def wait_until_blocked(self) -> bool:
        """Return True once it waits for another's lock, False if it has ended without waiting."""
        ask = f"SELECT cardinality(pg_blocking_pids({self._pid}))".encode()
        while self._thread.is_alive():
            row = self._watcher._connected().execute(ask).fetchone()
            if row and row[0]:
                return True
            self._thread.join(0.002)
        return False

    def result(self) -> Any:
        """Return its result, or raise its exception here."""
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "it still waits"
        self._watcher.close()
        if self._error is not None:
            raise self._error
        return self._result

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            self._result = call()
        except BaseException as error:
            self._error = error


class LateCommit(Delegate):
    """Loses the connection during a commit, and repeats the verb before the server has committed it."""

    def write(self, verb: Callable[[Transaction], Result]) -> Result:
        committing = Pausing(self.inner.separate(PATIENCE_SECONDS))
        first = Beside(committing, lambda: committing.write(verb))
        committing.pause.wait()
        repeat = Beside(self.inner, lambda: self.inner.write(verb))
        repeat.wait_until_blocked()
        committing.pause.go()
        first.result()
        committing.close()
        result: Result = repeat.result()
        return result
