"""The statements of a claim and a finish as the store sends them, written down as a script for pgbench."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks import scene
from dataflow.model.records import Ending, Plan
from dataflow.model.status import RunOutcome
from dataflow.store.queries import Queries
from dataflow.store.store import Store

if TYPE_CHECKING:
    from dataflow.store.database import Database, Row, Transaction

Result = TypeVar("Result")
Step = tuple[str, dict[str, Any]]

BEGIN: Step = ("begin", {})
COMMIT: Step = ("commit", {})

ANSWERS = frozenset(("claim.next_work", "claim.insert_run", "claim.pin_chunk"))
"""Queries whose answers later statements need."""

CHANGING = frozenset(("work_id", "dataid", "sort_key", "attempt", "run_id", "chunk_id", "version", "token"))
"""Parameters that differ from one work to the next; the others are constants of the script."""


class RecordingTransaction:
    """Passes everything on and writes down which statements were sent."""

    def __init__(self, inner: Transaction, steps: list[Step]) -> None:
        self._inner = inner
        self._steps = steps
        self.search_cost = inner.search_cost
        self.batch = inner.batch
        self.calls = inner.calls
        self.ids = inner.ids
        self.names = inner.names
        self.records = inner.records

    def at_end(self, act: Callable[[Transaction], None]) -> None:
        self._inner.at_end(lambda _: act(self))

    def rows(self, name: str, /, **parameters: Any) -> list[Row]:
        self._steps.append((name, parameters))
        return self._inner.rows(name, **parameters)

    def find(self, name: str, /, **parameters: Any) -> Row | None:
        self._steps.append((name, parameters))
        return self._inner.find(name, **parameters)

    def run(self, name: str, /, **parameters: Any) -> int:
        self._steps.append((name, parameters))
        return self._inner.run(name, **parameters)

    def lock(self, name: str, /, **parameters: Any) -> None:
        self._steps.append((name, parameters))
        self._inner.lock(name, **parameters)


class RecordingDatabase:
    """A database whose writing transactions are written down; it reads, too, but nobody asks it to."""

    def __init__(self, inner: Database) -> None:
        self._inner = inner
        self.steps: list[Step] = []

    def write(self, verb: Callable[[Transaction], Result]) -> Result:
        self.steps.append(BEGIN)
        answer = self._inner.write(lambda tx: verb(RecordingTransaction(tx, self.steps)))
        self.steps.append(COMMIT)
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def write_script(store: Store, plan: Plan, queries: Queries) -> str:
    """A pgbench script that claims and finishes one work exactly as the store just did."""
    recorder: Any = RecordingDatabase(store.database)
    recording = Store(recorder, store.actor)
    run = recording.claim(plan, scene.make_request(scene.make_claimant())).runs[0]
    recording.finish(plan, Ending(run, RunOutcome.DONE, 0))
    lines = [r"\set token random(1, 9223372036854775807)"]
    lines += [_statement(name, parameters, queries) for name, parameters in recorder.steps]
    return "\n".join(lines) + "\n"


def _statement(name: str, parameters: dict[str, Any], queries: Queries) -> str:
    if (name, parameters) in (BEGIN, COMMIT):
        return name + ";"
    code = re.sub(r"(?m)^\s*--.*$", "", queries.text(name)).strip()
    text = re.sub(r"(?<![:\w]):([a-z_]+)", lambda found: _value(found[1], parameters), code)
    # The answer's columns become variables of the same names.
    return text + (r" \gset" if name in ANSWERS else ";")


def _value(name: str, parameters: dict[str, Any]) -> str:
    value = parameters[name]
    if name in CHANGING:
        return f":{name}"
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float):
        return str(value)
    text = "{" + ",".join(map(str, value)) + "}" if isinstance(value, list) else str(value)
    return "'" + text.replace("'", "''") + "'"
