"""A store with short verbs for tests. Time moves only when a test moves it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dataflow.config.fields import parse_input
from dataflow.model.dataid import sort_key
from dataflow.model.days import days_of
from dataflow.model.grain import Grain
from dataflow.model.record import names_of
from dataflow.model.records import (
    ChunkRow,
    Claimant,
    ClaimRequest,
    ClaimResult,
    Dataset,
    Ending,
    Job,
    Plan,
    Publication,
    Run,
    WorkRow,
)
from dataflow.model.status import RunOutcome, WorkState
from dataflow.store import entries, registry
from dataflow.store.postgres import PostgresDatabase
from dataflow.store.sqlite import SqliteDatabase
from dataflow.store.store import Store

if TYPE_CHECKING:
    from dataflow.store.database import Database

LEASE_SECONDS = 300.0
PATIENCE_SECONDS = 30.0
SCHEMA = "dataflow"
TABLES = (
    *("verb_token", "journal", "run_input", "run", "work_deadline", "work_input", "work", "chunk_version"),
    *("chunk", "job_pair", "late_output", "run_tally", "run_untallied"),
    *("job_environment", "job_output", "job_input", "job", "calendar", "dataset", "pool", "pause"),
    "worker",
    *("delivery", "notification", "incident", "channel", "dataset_watch"),
    *("web_session", "api_token", "user_account"),
)
REPEATS = 20
STAGED = "/data/{dataset}/{dataid}/{run_id}"

_numbers = itertools.count(1)


class Clock:
    """The clock of an SQLite store; `ahead` is the error of the wall clock."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0
        self.ahead = 0.0

    def now(self) -> float:
        return self.seconds + self.ahead

    def since_boot(self) -> float:
        return self.seconds - 1_799_990_000.0


def open_sqlite(path: str) -> World:
    """A world on SQLite whose clock stands still."""
    clock = Clock()
    return World(Store(SqliteDatabase(path, clock.now, clock.since_boot), "op@desk"), clock)


def open_postgres(url: str) -> World:
    """A world on PostgreSQL, emptied of the previous test's rows: faster than a schema for each test."""
    world = World(Store(PostgresDatabase(url, SCHEMA), "op@desk"), None)
    for table in TABLES:
        world.poke(f"DELETE FROM {table}")
    return world


def make_claimant(token: str = "first", host: str = "etl1") -> Claimant:
    """A process that asks for work."""
    return Claimant(token, host, "boot-1", 4711, "etl", "dev")


def make_request(count: int = 1, claimant: str = "first", **fields: Any) -> ClaimRequest:
    """A request for some runs, with new tokens."""
    tokens = tuple(f"token-{next(_numbers)}" for _ in range(count))
    lease_seconds = fields.pop("lease_seconds", LEASE_SECONDS)
    return ClaimRequest(make_claimant(claimant), tokens, lease_seconds, 10.0, **fields)


class World:
    """Datasets and jobs in a store, addressed by name."""

    def __init__(self, store: Store, clock: Clock | None) -> None:
        self.store = store
        self.clock = clock

    def beside(self, database: Database | None = None) -> World:
        """The same store over another connection, or over one that the test made."""
        return World(
            Store(database or self.store.database.separate(PATIENCE_SECONDS), self.store.actor), self.clock
        )

    def close(self) -> None:
        self.store.close()

    # registration

    def dataset(self, name: str, **fields: Any) -> int:
        """Registers a dataset; its runs are staged unless a location is given."""
        record = Dataset(name, **{"location": STAGED} | fields)
        return int(self.store.register(lambda tx: entries.write_dataset(tx, record)))

    def job(self, name: str, inputs: Sequence[str], outputs: Sequence[str] = (), **fields: Any) -> Plan:
        """Registers a job over datasets that exist; `cumulated:previous` reads the chunk before.

        Its grain is that of its first input that calls for work, unless it is given.
        """
        parts = tuple(parse_input(item) for item in inputs)
        callers = [part for part in parts if part.mapping not in ("latest", "all")]
        grain = fields.pop("grain", "") or (
            self.dataset_record(callers[0].dataset)[1].grain if callers else "text"
        )
        record = Job(name, parts, tuple(outputs), **fields)
        days = days_of(record.schedule) if grain == "daily" else ""
        entry = entries.JobEntry(record, parts, grain, "UTC", days=days)
        self.store.register(lambda tx: entries.write_entries(tx, [], [entry]))
        return self.plan(name)

    def chain(self, *names: str, grain: str = "text", **fields: Any) -> None:
        """Registers datasets and between each two neighbours a job named `to_<the second>`."""
        for name in names:
            self.dataset(name, grain=grain)
        for before, after in itertools.pairwise(names):
            self.job(f"to_{after}", [before], [after], **fields)

    def remove_job(self, name: str) -> None:
        plan = self.plan(name)
        self.store.register(lambda tx: registry.remove_job(tx, plan))

    def remove_dataset(self, name: str) -> int:
        return int(self.store.register(lambda tx: registry.remove_dataset(tx, name)))

    def plan(self, job: str) -> Plan:
        found = self.store.find_plan(job)
        assert found is not None, job
        return found

    def dataset_record(self, name: str) -> tuple[int, Dataset]:
        found = self.store.find_dataset(name)
        assert found is not None, name
        return found

    def pairs(self, dataset: str, dataids: Sequence[str]) -> list[tuple[str, str]]:
        grain = Grain(self.dataset_record(dataset)[1].grain)
        return [(dataid, sort_key(dataid, grain)) for dataid in dataids]

    # publishing

    def ready(self, dataset: str, *dataids: str, again: bool = False) -> int:
        pairs = self.pairs(dataset, dataids)
        return self.store.make_ready(self.dataset_record(dataset)[0], dataset, pairs, again)

    def withdraw(self, dataset: str, *dataids: str) -> int:
        pairs = self.pairs(dataset, dataids)
        return self.store.withdraw(self.dataset_record(dataset)[0], dataset, pairs, "bad data")

    # the handoff

    def ask(self, job: str, count: int = 1, claimant: str = "first", **fields: Any) -> ClaimResult:
        """Claim and return the whole answer."""
        return self.store.claim(self.plan(job), make_request(count, claimant, **fields))

    def claim(self, job: str, count: int = 1, claimant: str = "first", **fields: Any) -> tuple[Run, ...]:
        """Claim up to `count` runs."""
        result = self.ask(job, count, claimant, **fields)
        assert not result.again, result.again
        return result.runs

    def take(self, job: str, dataid: str | None = None, **fields: Any) -> Run:
        """Claim one run, which must exist and have the given dataid."""
        runs = self.claim(job, **fields)
        assert len(runs) == 1, f"{job} gave nothing"
        assert dataid in (None, runs[0].dataid), runs[0].dataid
        return runs[0]

    def force(self, job: str, dataid: str) -> Run:
        """Claims one run whatever its state."""
        (run,) = self.claim(job, dataid=dataid, force=True)
        return run

    def finish(self, run: Run, outcome: RunOutcome = RunOutcome.DONE, **fields: Any) -> WorkState | None:
        plan = self.plan(run.job)
        publications = fields.pop("publications", None) or tuple(
            Publication(output.dataset.name, location=f"/data/{output.dataset.name}/{run.run_id}")
            for output in plan.outputs
        )
        return self.store.finish(plan, Ending(run, outcome, publications=publications, **fields))

    def do(
        self, job: str, dataid: str | None = None, outcome: RunOutcome = RunOutcome.DONE, **fields: Any
    ) -> Run:
        """Claims one run and ends it."""
        run = self.take(job, dataid)
        self.finish(run, outcome, **fields)
        return run

    def drain(self, job: str) -> list[str]:
        """Claim and finish until nothing is left; return the dataids in the order of their claims."""
        done: list[str] = []
        while runs := self.claim(job):
            self.finish(runs[0])
            done.append(runs[0].dataid)
            # Without a guard, work may be claimed forever.
            assert done[-REPEATS:] != [runs[0].dataid] * REPEATS, f"{job} never ends with {runs[0].dataid}"
        return done

    def renew(self, *runs: Run, claimant: str = "first") -> set[int]:
        return self.store.renew(claimant, [run.run_id for run in runs])

    # operators

    def job_pairs(self, job: str, dataids: Sequence[str]) -> list[tuple[str, str]]:
        grain = Grain(self.plan(job).grain)
        return [(dataid, sort_key(dataid, grain)) for dataid in dataids]

    def resubmit(self, job: str, *dataids: str) -> int:
        return self.store.resubmit(self.plan(job), self.job_pairs(job, dataids), "please")

    def hold(self, job: str, *dataids: str) -> int:
        return self.store.hold(self.plan(job), self.job_pairs(job, dataids) or None, True, "wait")

    def release(self, job: str, *dataids: str) -> int:
        return self.store.hold(self.plan(job), self.job_pairs(job, dataids) or None, False, "go")

    def mark(self, job: str, dataid: str, state: WorkState) -> str:
        return self.store.mark(self.plan(job), self.job_pairs(job, [dataid])[0], state, "I know")

    def pause(self) -> int:
        return self.store.control.pause("wait")

    def resume(self) -> int:
        return self.store.control.resume("go")

    def scale(self, job: str, number: int) -> int:
        return self.store.control.scale(self.plan(job), number, "busy")

    def pool(self, name: str, size: int) -> int:
        return self.store.control.set_pool(name, size)

    def accept(self, job: str, *dataids: str) -> int:
        return self.store.accept(self.plan(job), self.job_pairs(job, dataids), "good")

    def invalidate(self, dataset: str, *dataids: str) -> int:
        dataset_id, _ = self.dataset_record(dataset)
        producer = self.store.read.find_producer(dataset_id)
        plan = self.plan(producer) if producer else None
        return self.store.invalidate((dataset_id, dataset), plan, self.pairs(dataset, dataids), "bad rows")

    def cancel(self, run: Run) -> dict[str, Any]:
        return self.store.cancel(run.run_id, "stop")

    # reading

    def work(self, job: str, dataid: str) -> WorkRow:
        found = self.store.read.find_work(self.plan(job).job_id, dataid)
        assert found is not None, f"no work {job}/{dataid}"
        return found

    def state(self, job: str, dataid: str) -> str:
        """The state of a work; empty when it does not exist."""
        found = self.store.read.find_work(self.plan(job).job_id, dataid)
        return "" if found is None else found.state.value

    def states(self, job: str) -> dict[str, str]:
        found = self.store.read.list_readiness(self.plan(job).job_id)
        return {work.dataid: work.state.value for work in found}

    def chunks(self, dataset: str) -> list[ChunkRow]:
        return list(self.store.read.list_chunks(self.dataset_record(dataset)[0]))

    def status(self, dataset: str, dataid: str) -> str:
        """The status that users see; empty if the chunk is unknown."""
        return next((chunk.status for chunk in self.chunks(dataset) if chunk.dataid == dataid), "")

    def version(self, dataset: str, dataid: str) -> int:
        return next((chunk.version for chunk in self.chunks(dataset) if chunk.dataid == dataid), 0)

    def outcome(self, run: Run) -> str:
        found = self.store.read.find_run(run.run_id)
        assert found is not None
        return found.outcome.value

    def select(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of any statement."""
        database = self.store.database
        if isinstance(database, SqliteDatabase):
            return [tuple(row) for row in database._connection.execute(sql)]
        assert isinstance(database, PostgresDatabase)
        cursor = database._connected().execute(sql.encode())
        return [tuple(row) for row in cursor] if cursor.description else []

    def present(self, job: str, dataid: str) -> list[tuple[int, int]]:
        """(needed, present) of each input of a work."""
        rows = self.select(
            "SELECT i.needed, i.present FROM work_input i JOIN work w ON w.work_id = i.work_id JOIN job j ON "
            f"j.job_id = w.job_id WHERE j.name = '{job}' AND w.dataid = '{dataid}' ORDER BY i.position"
        )
        return [(int(needed), int(present)) for needed, present in rows]

    def journal(self, action: str = "") -> list[dict[str, Any]]:
        """The journal, oldest first."""
        lines = self.store.read.list_journal(10_000)
        rows = [{name: getattr(line, name) for name in names_of(line)} for line in reversed(lines)]
        return [row for row in rows if action in ("", row["action"])]

    # what no verb does

    def advance(self, seconds: float) -> None:
        """Let time pass.

        differs from SQLite: PostgreSQL's clock is its own, so what is waited for is moved towards it instead.
        """
        if self.clock is not None:
            self.clock.seconds += seconds
            return
        self.poke(f"UPDATE run SET lease_until = lease_until - {seconds}")
        self.poke(f"UPDATE work SET not_before = not_before - {seconds} WHERE not_before IS NOT NULL")
        self.poke(f"UPDATE delivery SET until = until - {seconds}")

    def poke(self, sql: str) -> None:
        """Run any statement, for states that no verb produces."""
        self.select(sql)
