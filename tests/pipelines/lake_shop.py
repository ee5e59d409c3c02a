"""A project whose lake is filled by hand, so that a test of reading it needs no pipeline."""

from __future__ import annotations

import itertools
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from dataflow.actions.register import add_dataset, add_job
from dataflow.model.records import ClaimRequest, Dataset, Ending, Job, JobInput, Plan, Publication, Run
from dataflow.model.status import RunOutcome
from dataflow.model.url_text import percent_encode
from dataflow.pipelines.lake.manifest import Manifest, write_manifest
from dataflow.pipelines.lake.parquet_target import LakeWriter
from dataflow.store.opener import open_store
from tests.store.world import make_claimant

COLUMNS = (("id", "bigint"), ("amount", "numeric(12,2)"), ("at", "timestamp with time zone"))
LAKE = "lake/{dataset}/dataid={encoded_dataid}/{run_id}/_manifest.json"

_tokens = itertools.count(1)


class LakeShop:
    """One project folder, its store, a dataset `raw` from outside and jobs `load_<dataset>` that read it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "dataflow.toml").touch()
        self.url = f"sqlite:///{path / '.dataflow' / 'dataflow.db'}"
        (path / ".dataflow").mkdir(mode=0o700)
        self.store = open_store(self.url, "op@desk", "dataflow")
        add_dataset(self.store, Dataset("raw", location="/raw/{dataid}"))

    def dataset(self, name: str, mode: str = "partition", reads: str = "raw") -> None:
        """Registers a dataset of the lake and the job that makes it."""
        add_dataset(self.store, Dataset(name, location=LAKE, mode=mode))
        add_job(self.store, Job(f"load_{name}", (JobInput(reads),), (name,)))

    def ready(self, *dataids: str) -> None:
        """Has the jobs called for."""
        found = self.store.find_dataset("raw")
        assert found is not None
        self.store.make_ready(found[0], "raw", [(dataid, dataid) for dataid in dataids], again=False)

    def claim(self, name: str, dataid: str) -> Run:
        """A live run of the job that makes a dataset."""
        request = ClaimRequest(make_claimant(), (f"shop-{next(_tokens)}",), 300.0, 10.0, dataid=dataid)
        (run,) = self.store.claim(self._plan(name), request).runs
        return run

    def publish(
        self,
        name: str,
        dataid: str,
        tables: list[pa.Table],
        columns: tuple[tuple[str, str], ...] = COLUMNS,
    ) -> Path:
        """Makes the next version of a chunk, a file for each table; gives the manifest's path."""
        self.ready(dataid)
        work = self.store.read.find_work(self._plan(name).job_id, dataid)
        if work is not None and work.state == "DONE":
            self.store.resubmit(self._plan(name), [(dataid, dataid)], "a newer version")
        run = self.claim(name, dataid)
        location = f"lake/{name}/dataid={percent_encode(dataid)}/{run.run_id}/_manifest.json"
        folder = (self.path / location).parent
        folder.mkdir(parents=True)
        writer = LakeWriter(str(folder))
        staged = [writer.write(iter(table.to_batches()), f"{n}") for n, table in enumerate(tables)]
        files = tuple(file for each in staged for file in each.files)
        manifest = Manifest(name, dataid, run.run_id, columns, files)
        write_manifest(str(self.path / location), manifest)
        self.finish(name, run, Publication(name, location, manifest.rows, manifest.size))
        return self.path / location

    def finish(self, name: str, run: Run, publication: Publication | None = None) -> None:
        """Ends a run well."""
        given = (publication,) if publication else ()
        self.store.finish(self._plan(name), Ending(run, RunOutcome.DONE, publications=given))

    def _plan(self, name: str) -> Plan:
        plan = self.store.find_plan(f"load_{name}")
        assert plan is not None
        return plan


def make_table(first: int, count: int) -> pa.Table:
    """Rows with numbers from `first`."""
    ids = list(range(first, first + count))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "amount": pa.array([Decimal(number) / 100 for number in ids], pa.decimal128(12, 2)),
            "at": pa.array([1_500_000_000_000_000 + number for number in ids], pa.timestamp("us", "UTC")),
        }
    )
