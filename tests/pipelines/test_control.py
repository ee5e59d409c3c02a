"""Pools, order and retries of pipelines and Python jobs, and the limit that `scale` has set."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataflow.actions.control import scale, set_pool
from dataflow.actions.names import get_plan
from dataflow.errors import UnknownName
from dataflow.pipelines.declare.catalog import Catalog
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.register.pipeline_jobs import register_pipelines
from dataflow.store.opener import open_store
from dataflow.store.store import Store

JOBS = """
    import dataflow

    @dataflow.job(outputs=["slow"], schedule="@daily", pool="warehouse", order="newest", retries=3,
                  retry_backoff=1.5, retry_max_delay_seconds=600, max_crashes=2)
    def make_slow(run): ...
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path}/dataflow.db", "eve@desk")
    yield opened
    opened.close()


def register(folder: Path, store: Store, text: str) -> list[str]:
    """Registers the jobs of one file; returns its problems."""
    (folder / "pipelines").mkdir(exist_ok=True)
    (folder / "pipelines" / "jobs.py").write_text(textwrap.dedent(text))
    catalog = Catalog(str(folder), {})
    if not catalog.problems:
        register_pipelines(store, catalog.definitions.values(), PipelineSettings(str(folder), {}, lambda: ""))
    return [str(problem) for problem in catalog.problems]


def test_a_python_job_has_a_pool_an_order_and_spaced_retries(tmp_path: Path, store: Store) -> None:
    set_pool(store, "warehouse", 2)
    assert register(tmp_path, store, JOBS) == []
    job = get_plan(store, "make_slow").job
    assert (job.pool, job.order, job.max_crashes) == ("warehouse", "newest", 2)
    assert (job.retry_backoff, job.retry_max_delay_seconds) == (1.5, 600)


def test_an_unknown_pool_of_a_pipeline_is_refused(tmp_path: Path, store: Store) -> None:
    with pytest.raises(UnknownName, match='Job make_slow: no pool "warehouse"'):
        register(tmp_path, store, JOBS)


def test_an_order_that_does_not_exist_is_a_problem_of_its_file(tmp_path: Path, store: Store) -> None:
    problems = register(tmp_path, store, JOBS.replace('"newest"', '"latest"'))
    assert "must be one of oldest, newest" in problems[0]


def test_a_pipeline_keeps_the_limit_that_scale_has_set(tmp_path: Path, store: Store) -> None:
    set_pool(store, "warehouse", 2)
    register(tmp_path, store, JOBS)
    scale(store, get_plan(store, "make_slow"), 3)
    register(tmp_path, store, JOBS.replace("retries=3", "retries=4"))
    job = get_plan(store, "make_slow").job
    assert (job.retries, job.max_running) == (4, 3)
