"""Base classes for a project's pipelines; plain classes with the same attributes work too.

`@dataflow.job` marks a function as a job. Every attribute a pipeline may have is listed here with its
default; definitions.py checks them. Nothing here imports Spark, so a project can be read without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


class Timed:
    """When a pipeline or job runs, and how long and how often it may try."""

    start_date: datetime | str | None = None
    """When the first interval begins; of a job without a schedule, the first dataid."""
    end_date: datetime | None = None
    catchup: bool = False
    timezone: str = ""
    """Default: the time zone of start_date, else UTC."""
    retries: int = 0
    retry_delay_seconds: float = 60.0
    timeout_seconds: float = 0.0
    """Longest time a run may take; 0 for no limit."""
    retry_backoff: float = 2.0
    """Factor by which the delay grows with each retry; 1 for the same delay each time."""
    retry_max_delay_seconds: float = 3600.0
    max_crashes: int = 5
    """After this many runs of an interval that died, it is quarantined."""
    pool: str = ""
    """The pool that limits it together with other jobs."""
    order: str = "oldest"
    """`oldest` or `newest`: which interval comes first."""
    on_change: str = "rerun"
    """When an input of a finished result changes: `rerun`, `ask` or `ignore`."""
    late_after_seconds: float = 0.0
    """A change that comes later than this after a result was published asks; 0: none does."""


class DatasetPipeline(Timed):
    """Rows from a source, shaped and checked, published as one dataset."""

    table_name: str
    """The dataset's name, and the table's in a database."""
    field_mapping: Sequence[Any]
    """(source field, column, SQL type and constraints), or (column, SQL type and constraints)."""

    source_url: str = ""
    """The first page of an HTTP API."""
    source: Any = None
    """Instead of source_url: `http(…)`, `files(…)` or `table(…)` of dataflow.pipelines.declare.sources."""
    target_db: str = "lake"
    """The connection the rows go to."""
    target_schema: str = "public"
    """The schema of the table in a database."""

    schedule_interval: str | timedelta | None = "@daily"
    """None: it runs only on demand, with --dataid."""

    mode: str = "snapshot"
    """`snapshot`: each interval has all rows; `partition`: each has its own."""
    write: str = "replace"
    """`replace`, `swap`, `append` or `merge`: how rows get into a database table."""
    partition_column: str = "dataid"
    """The column of a database table in mode `partition` that holds the interval of each row."""
    indexes: Sequence[str | Sequence[str]] = ()
    comment: str = ""

    checks: Sequence[Any] = ()
    rejects: str | Mapping[str, Any] = "fail"
    """`fail`, or {"quarantine": 100} to allow up to 100 rejected rows."""


class ViewPipeline(Timed):
    """One result per interval, computed by SQL from datasets."""

    view_name: str
    """The dataset's name; in a database each interval is a table `view_name_YYYY_MM_DD`."""
    dataset_pipeline: Any = None
    """The pipeline or Python job it reads, as class, function or dataset name; or a list, main one first."""

    reads: Mapping[str, str] = {}
    """Mappings by dataset, such as {"orders": "within"}: only the chunks of the interval, not all of them."""

    fields: Any = True
    """(expression, alias) pairs, True for all columns, or "__all__" for all of the first dataset."""
    join_clause: str = ""
    where_clause: str = ""
    query: str = ""
    """A whole SELECT instead of fields, join_clause and where_clause."""
    params: Mapping[str, Any] = {}
    dialect: str = "postgres"
    materialized: bool = True

    target_db: str | None = None
    """Default: the connection of the first dataset."""
    target_schema: str | None = None

    schedule_interval: str | timedelta | None = "@daily"
    """None: it runs only on demand, with --dataid."""

    checks: Sequence[Any] = ()


class Job(Timed):
    """The options of `@dataflow.job(…)`: the datasets that a function reads and writes, and when it runs."""

    inputs: Sequence[Any] = ()
    """Dataset names, also with a mapping such as `orders:within`, or the classes of their pipelines."""
    outputs: Sequence[str] = ()
    """The datasets it writes, with run.write."""
    name: str = ""
    """The job's name. Default: the function's name."""

    schedule: str | timedelta | None = ""
    """Default: runs for each dataid of its inputs. None, without inputs: only on demand, with --dataid."""

    mode: str = "partition"
    """`partition`: each dataid has its own rows; `snapshot`: each has all of them."""
    target_db: str = "lake"
    """The connection the outputs go to: a lake."""


def list_attributes(base: type) -> list[str]:
    """The names of all attributes that a class derived from this base may have."""
    return [name for one in base.__mro__[:-1] for name in one.__annotations__]


def job(
    *,
    inputs: Sequence[Any] = (),
    outputs: Sequence[str] = (),
    schedule: str | timedelta | None = "",
    name: str = "",
    **options: Any,
) -> Callable[[Function], Function]:
    """Marks a function as a job that reads and writes these datasets; the function can still be called.

    The other options are the attributes of `Job`.
    """
    declared = {"inputs": inputs, "outputs": outputs, "schedule": schedule, "name": name, **options}

    def mark(function: Function) -> Function:
        function.dataflow_job = SimpleNamespace(**declared)  # type: ignore[attr-defined]
        return function

    return mark
