"""Definitions of pipelines: the checked attributes of a project's classes, with defaults filled in.

Nothing here reads files, the store or the network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dataflow.actions.dataset_rules import check_name
from dataflow.actions.input_rules import OF_JOB_GRAIN
from dataflow.config.fields import parse_input
from dataflow.model.mapping import word_of
from dataflow.model.record import record, replace
from dataflow.model.records import DATASET, PYTHON, VIEW, JobInput
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.declare import bases
from dataflow.pipelines.declare.attributes import Attributes
from dataflow.pipelines.declare.loader import Found
from dataflow.pipelines.declare.sources import Files, Http, TableSource
from dataflow.pipelines.declare.timing import Timing, read_job_timing, read_timing
from dataflow.pipelines.declare.view_inputs import read_view_inputs
from dataflow.pipelines.handover.published_table import interval_table
from dataflow.pipelines.handover.records import View
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.shape.fields import Field, parse_fields
from dataflow.pipelines.shape.findings import complete_checks
from dataflow.pipelines.shape.shaped import RejectPolicy, parse_policy

WRITES = ("replace", "swap", "append", "merge")
MODES = ("snapshot", "partition")
EVERY_FIELD = "__all__"
LAKE = "lake"
"""The connection that a pipeline publishes to by default."""


class Declared:
    """The properties of every definition, with defaults that most kinds share."""

    __slots__ = ()
    job: str
    place: str
    timing: Timing
    kind = ""
    inputs: tuple[JobInput, ...] = ()
    mode = "partition"
    schema = ""
    checks: tuple[Check, ...] = ()
    mapped: tuple[Field, ...] = ()
    write = "replace"
    comment = ""
    indexes: tuple[tuple[str, ...], ...] = ()
    partition_column = bases.DatasetPipeline.partition_column

    @property
    def dataset(self) -> str:
        """The datasets it makes, as one string for display."""
        return ", ".join(self.outputs)

    @property
    def file(self) -> str:
        """The file that defines it, from the project's folder."""
        return self.place.rpartition(":")[0]

    @property
    def origin(self) -> str:
        """Its place and name, for messages."""
        return f"{self.place}: {self.job}"

    @property
    def outputs(self) -> tuple[str, ...]:
        """The datasets it makes."""
        return (self.dataset,)

    @property
    def reads(self) -> tuple[str, ...]:
        """The datasets it reads, the main one first."""
        return tuple(dict.fromkeys(item.dataset for item in self.inputs))

    @property
    def declared_columns(self) -> Mapping[str, str] | None:
        """The columns of what it makes, with their types; None if only its rows show them."""
        return None

    @property
    def all_checks(self) -> tuple[Check, ...]:
        """All checks known before there are rows: those that follow from the mapping, then those declared."""
        if self.declared_columns is not None:
            return complete_checks(self.checks, self.mapped)
        return tuple(dict.fromkeys((*complete_checks((), self.mapped), *self.checks)))

    @property
    def dataid_column(self) -> str:
        """The column of its table that holds the dataid of each row; "" if there is none."""
        return ""

    @property
    def follows_inputs(self) -> bool:
        """True for a Python job whose inputs or --dataid create its work, rather than a schedule."""
        return self.kind == PYTHON and not self.timing.gives_intervals

    def table_of(self, dataid: str) -> str:
        """The name of the table that holds a dataid."""
        return self.dataset


@record
class DatasetDefinition(Declared):
    """A dataset pipeline: from a source, through a mapping, to a target."""

    kind = DATASET
    job: str
    dataset: str
    source: Http | Files | TableSource
    mapped: tuple[Field, ...]  # the fields of its mapping
    has_others: bool  # `...` in the mapping: all other source fields, under their own names
    target: str
    schema: str
    mode: str
    write: str
    partition_column: str
    indexes: tuple[tuple[str, ...], ...]
    comment: str
    checks: tuple[Check, ...]
    rejects: RejectPolicy
    timing: Timing
    place: str  # file:line, for messages

    @property
    def declared_columns(self) -> Mapping[str, str] | None:
        """The columns of the mapping; None if it also takes all other fields."""
        return None if self.has_others else {field.column: field.type.sql for field in self.mapped}

    @property
    def dataid_column(self) -> str:
        """Only in mode `partition` without merging: merged rows have no dataid, a snapshot has one."""
        return self.partition_column if self.mode == "partition" and self.write != "merge" else ""

    @property
    def fingerprint(self) -> str:
        """Equal for equal rows from an equal source: only then can a run take over what another published."""
        rows = (self.source, self.mapped, self.has_others, self.checks, self.rejects)
        table = (self.mode, self.write, self.partition_column)
        return hashlib.sha256(repr((rows, table)).encode()).hexdigest()


@record
class ViewDefinition(Declared):
    """A view pipeline: SQL over datasets, with one result per interval."""

    kind = VIEW
    job: str
    dataset: str
    inputs: tuple[JobInput, ...]
    sql: View
    materialized: bool
    target: str
    schema: str
    checks: tuple[Check, ...]
    timing: Timing
    place: str

    def table_of(self, dataid: str) -> str:
        """Each interval has a table of its own."""
        return interval_table(self.dataset, dataid)


@record
class JobDefinition(Declared):
    """A Python job: a function that reads and writes datasets of the lake."""

    kind = PYTHON
    job: str
    function: Callable[..., object]
    inputs: tuple[JobInput, ...]
    outputs: tuple[str, ...]
    mode: str
    target: str
    timing: Timing  # the schedule is "" for a job that only its inputs start
    place: str


Definition = DatasetDefinition | ViewDefinition | JobDefinition
"""A pipeline or a Python job."""


def define_dataset(found: Found) -> DatasetDefinition:
    """The definition of a dataset pipeline's class; BadInput names an attribute that is not valid."""
    get = Attributes(found, bases.DatasetPipeline)
    mapping = get.items("field_mapping", '("id", "text PRIMARY KEY")')
    with get.saying("field_mapping"):
        fields = parse_fields([item for item in mapping if item is not ...])
    with get.saying("rejects"):
        rejects = parse_policy(get("rejects"))
    definition = DatasetDefinition(
        job=found.name,
        dataset=get.name("table_name"),
        source=_source(get),
        mapped=fields,
        has_others=... in mapping,
        target=get.text("target_db") or LAKE,
        schema=get.text("target_schema"),
        mode=get.one_of("mode", MODES),
        write=get.one_of("write", WRITES),
        partition_column=get.text("partition_column"),
        indexes=tuple(_list_indexes(get)),
        comment=get.text("comment"),
        checks=get.checks(),
        rejects=rejects,
        timing=read_timing(get),
        place=get.place,
    )
    _check_columns(get, definition)
    return definition


def _check_columns(get: Attributes, definition: DatasetDefinition) -> None:
    """Refuses checks and indexes on unknown columns; with `...` in the mapping any column may exist."""
    if definition.write == "merge" and not any(field.primary_key for field in definition.mapped):
        raise get.wrong("write", 'is "merge", which needs a PRIMARY KEY in field_mapping')
    if definition.has_others:
        return
    with get.saying("checks"):
        complete_checks(definition.checks, definition.mapped)
    own = [definition.partition_column] if definition.mode == "partition" else []
    columns = [field.column for field in definition.mapped] + own
    for name in (name for index in definition.indexes for name in index):
        if name not in columns:
            hint = did_you_mean(name, columns)
            raise get.wrong("indexes", f"names the unknown column {quoted(name)}.{hint}")


def define_view(found: Found, known: Mapping[str, Definition], broken: Mapping[str, str]) -> ViewDefinition:
    """The definition of a view pipeline's class; `known` is what it may read, by class, function and dataset.

    `broken` holds the problems of those that cannot be loaded, by the same names.
    """
    get = Attributes(found, bases.ViewPipeline)
    timing = read_timing(get)
    named = list_named(found.thing)
    if not named:
        raise get.wrong("dataset_pipeline", "names no dataset")
    for name in map(str, named):
        if name in broken and name not in known:
            where = broken[name].partition(": ")[0]
            raise get.wrong("dataset_pipeline", f"is {quoted(name)}, which cannot be loaded: see {where}")
    inputs = read_view_inputs(get, named, known, timing)
    first = known[inputs[0].dataset]
    sql = View(
        f"{get.place}: {found.name}",
        tuple(dict.fromkeys(item.dataset for item in inputs)),
        # "__all__", as in the first Data Flow, is all columns of the dataset and none of the joined ones.
        [f'"{inputs[0].dataset}".*'] if get("fields") == EVERY_FIELD else get("fields"),
        get.text("join_clause"),
        get.text("where_clause"),
        get.text("query"),
        get.one_of("dialect", ("postgres", "spark")),
        dict(get.of("params", Mapping, "a dict")),
    )
    if sql.query and (sql.where_clause or sql.join_clause or sql.fields is not True):
        raise get.wrong("query", "is a whole SELECT; remove fields, join_clause and where_clause")
    if get.checks() and not get.switch("materialized"):
        raise get.wrong("checks", "need rows, but materialized = False stores none. Remove one of the two")
    return ViewDefinition(
        job=found.name,
        dataset=get.name("view_name"),
        inputs=inputs,
        sql=sql,
        materialized=get.switch("materialized"),
        target=get.text("target_db") or first.target,
        schema=get.text("target_schema") or first.schema or bases.DatasetPipeline.target_schema,
        checks=get.checks(),
        timing=timing,
        place=get.place,
    )


def define_job(found: Found, datasets: Mapping[str, str]) -> JobDefinition:
    """The definition of a function marked as a job; `datasets` are those of the project, by class name."""
    get = Attributes(replace(found, thing=found.thing.dataflow_job), bases.Job)
    name = get.text("name") or found.name
    if not name.isidentifier():
        raise get.wrong("name", f"is {quoted(name)}; it must be a valid Python identifier")
    inputs = tuple(_input(get, item, datasets) for item in get.items("inputs"))
    outputs = tuple(get.items("outputs"))
    with get.saying("outputs"):
        for output in outputs:
            check_name("dataset", output if isinstance(output, str) else repr(output))
    has_callers = any(word_of(item.mapping) in OF_JOB_GRAIN for item in inputs)
    timing = read_job_timing(get, has_callers)
    if not timing.schedule and not has_callers:
        raise get.wrong(
            "inputs",
            "contain nothing that starts the job and says what its dataids are. Add an input that is read "
            "dataid by dataid, or a schedule",
        )
    return JobDefinition(
        job=name,
        function=found.thing,
        inputs=inputs,
        outputs=outputs,
        mode=get.one_of("mode", MODES),
        target=get.text("target_db") or LAKE,
        timing=timing,
        place=get.place,
    )


def _source(get: Attributes) -> Http | Files | TableSource:
    source, url = get("source"), get.text("source_url")
    if (source is None) == (not url):
        raise get.wrong("source_url", "or source must be set, but not both")
    if not isinstance(source, Http | Files | TableSource | None):
        raise get.wrong(
            "source", "must be http(…), files(…) or table(…) of dataflow.pipelines.declare.sources"
        )
    if url.startswith("None"):
        raise get.wrong("source_url", f"is {quoted(url)}: a constant in it is None. Set its variable")
    found = source or Http(url)
    with get.saying("source" if source else "source_url"):
        found.check()
    return found


def _list_indexes(get: Attributes) -> Iterator[tuple[str, ...]]:
    for item in get.items("indexes", '"status"'):
        columns = (item,) if isinstance(item, str) else item
        if not isinstance(columns, (list, tuple)) or not all(isinstance(name, str) for name in columns):
            raise get.wrong(
                "indexes", f"holds {quoted(repr(item))}, which is neither a column nor a list of columns"
            )
        yield tuple(columns)


def list_named(thing: Any) -> list[Any]:
    """The names in a view's `dataset_pipeline`; for a class or function, its own name."""
    given = getattr(thing, "dataset_pipeline", None)
    items = given if isinstance(given, (list, tuple)) else [given]
    return [getattr(item, "__name__", item) for item in items]


def _input(get: Attributes, item: Any, datasets: Mapping[str, str]) -> JobInput:
    """An input given as `orders`, `orders:latest`, or the class of a pipeline."""
    text = getattr(item, "__name__", item)
    if not isinstance(text, str):
        raise get.wrong("inputs", f"holds {quoted(repr(item))}, which is not the name of a dataset")
    with get.saying("inputs"):
        found = parse_input(text)
        return replace(found, dataset=check_name("dataset", datasets.get(found.dataset, found.dataset)))
