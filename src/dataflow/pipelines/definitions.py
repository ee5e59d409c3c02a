"""Pipelines as records: the attributes of a project's classes, checked, with defaults filled in.

Nothing here reads files, the store or the network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from dataflow.actions.dataset_rules import check_name
from dataflow.errors import BadInput
from dataflow.model.clock import zone
from dataflow.model.cron import ONCE, canonical_expression
from dataflow.model.interval_starts import interval_starts
from dataflow.model.mapping import LATEST, SAME, parse_mapping
from dataflow.model.record import record, replace
from dataflow.model.records import JobInput
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines import bases
from dataflow.pipelines.loader import Found
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.shape.fields import Field, parse_fields
from dataflow.pipelines.shape.policy import RejectPolicy, make_policy
from dataflow.pipelines.sources import Files, Http, Table

WRITES = ("replace", "swap", "append", "merge")
MODES = ("snapshot", "partition")
LAKE = "lake"


@record
class Timing:
    """When a pipeline runs; start and end are when its first and last interval begin, "" where it is open."""

    schedule: str
    timezone: str
    start: str
    end: str
    catchup: bool
    retries: int
    retry_delay_seconds: float

    @property
    def is_over(self) -> bool:
        """True when it starts after its end, so that no interval is ever due."""
        return bool(self.start and self.end and self.start > self.end)


@record
class DatasetDefinition:
    """A dataset pipeline: from a source, through a mapping, to a target."""

    job: str
    dataset: str
    source: Http | Files | Table
    fields: tuple[Field, ...]
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


@record
class ViewDefinition:
    """A view pipeline: SQL over datasets, one result per interval."""

    job: str
    dataset: str
    reads: tuple[str, ...]
    fields: Any
    join: str
    where: str
    query: str
    params: Mapping[str, Any]
    dialect: str
    materialized: bool
    target: str
    schema: str
    checks: tuple[Check, ...]
    timing: Timing
    place: str


@record
class JobDefinition:
    """A Python job: a function that reads and writes datasets of the lake."""

    job: str
    function: Callable[..., object]
    inputs: tuple[JobInput, ...]
    outputs: tuple[str, ...]
    mode: str
    target: str
    timing: Timing  # its schedule is "" for a job that only its inputs call for
    place: str

    @property
    def dataset(self) -> str:
        """Its outputs, as a table shows them."""
        return ", ".join(self.outputs)


def define_dataset(found: Found) -> DatasetDefinition:
    """The definition of a dataset pipeline's class; BadInput naming the attribute if there is none."""
    get = _Attributes(found, bases.DatasetPipeline)
    mapping = get("field_mapping", (list, tuple))
    with get.saying("field_mapping"):
        fields = parse_fields([item for item in mapping if item is not ...])
    return DatasetDefinition(
        job=found.name,
        dataset=get.name("table_name"),
        source=_source(get),
        fields=fields,
        has_others=... in mapping,
        target=get.text("target_db") or LAKE,
        schema=get.text("target_schema"),
        mode=get.one_of("mode", MODES),
        write=get.one_of("write", WRITES),
        partition_column=get.text("partition_column"),
        indexes=tuple((item,) if isinstance(item, str) else tuple(item) for item in get("indexes")),
        comment=get.text("comment"),
        checks=get.checks(),
        rejects=_rejects(get),
        timing=_timing(get),
        place=get.place,
    )


def define_view(found: Found, datasets: Mapping[str, DatasetDefinition]) -> ViewDefinition:
    """That of a view pipeline's class; `datasets` are those it may read, by class and table name."""
    get = _Attributes(found, bases.ViewPipeline)
    reads = _reads(get, datasets)
    first = datasets[reads[0]]
    query = get.text("query")
    if query and (get.text("where_clause") or get.text("join_clause") or get("fields") is not True):
        raise get.wrong("query", "is a whole SELECT, so fields, join_clause and where_clause must go")
    if get.checks() and not get("materialized"):
        raise get.wrong(
            "checks", "are of rows, and materialized = False keeps none. Leave one of the two out"
        )
    return ViewDefinition(
        job=found.name,
        dataset=get.name("view_name"),
        reads=reads,
        fields=get("fields"),
        join=get.text("join_clause"),
        where=get.text("where_clause"),
        query=query,
        params=dict(get("params", Mapping)),
        dialect=get.one_of("dialect", ("postgres", "spark")),
        materialized=bool(get("materialized")),
        target=get.text("target_db") or first.target,
        schema=get.text("target_schema") or first.schema,
        checks=get.checks(),
        timing=_timing(get),
        place=get.place,
    )


def define_job(found: Found, datasets: Mapping[str, str]) -> JobDefinition:
    """That of a function marked as a job; `datasets` are those of the project's classes, by class name."""
    get = _Attributes(replace(found, thing=found.thing.dataflow_job), bases.Job)
    name = get.text("name") or found.name
    if not name.isidentifier():
        raise get.wrong("name", f"is {quoted(name)}; it must be a name as Python writes them")
    inputs = tuple(_input(get, item, datasets) for item in get.items("inputs"))
    outputs = tuple(get.items("outputs"))
    with get.saying("outputs"):
        for output in outputs:
            check_name("dataset", output if isinstance(output, str) else repr(output))
    timing = _job_timing(get)
    if not timing.schedule and all(item.mapping == LATEST for item in inputs):
        raise get.wrong("inputs", "name nothing that would ever start it. Give one not latest, or a schedule")
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


class _Attributes:
    """The attributes of one class, with the defaults of its base and errors that name the place."""

    def __init__(self, found: Found, base: type) -> None:
        self._thing = found.thing
        self._base = base
        self._job = found.name
        self.place = f"{found.path}:{found.line}"
        self._refuse_unknown()

    def __call__(self, name: str, kind: Any = None) -> Any:
        if not hasattr(self._thing, name) and not hasattr(self._base, name):
            raise self.wrong(name, "is missing")
        value = getattr(self._thing, name, getattr(self._base, name, None))
        if kind is not None and not isinstance(value, kind):
            raise self.wrong(name, f"is {quoted(repr(value))}, which is not what it must be")
        return value

    def text(self, name: str) -> str:
        """A text, "" for None."""
        value = self(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, f"must be a text, and is {quoted(repr(value))}")
        return value or ""

    def name(self, name: str) -> str:
        """A text that must be there."""
        value = self.text(name)
        if not value:
            raise self.wrong(name, "is empty")
        return value

    def one_of(self, name: str, known: tuple[str, ...]) -> str:
        """One of a few words."""
        value = self.text(name)
        if value not in known:
            raise self.wrong(name, f"is {quoted(value)}; it must be one of {', '.join(known)}")
        return value

    def items(self, name: str) -> list[Any]:
        """What a list or a tuple holds."""
        value = self(name)
        if not isinstance(value, (list, tuple)):
            raise self.wrong(name, f'must be a list, such as ["orders"], and is {quoted(repr(value))}')
        return list(value)

    def checks(self) -> tuple[Check, ...]:
        """The declared checks."""
        found = tuple(self("checks"))
        for check in found:
            if not isinstance(check, Check):
                raise self.wrong("checks", f"holds {quoted(repr(check))}, which is no check")
        return found

    def wrong(self, name: str, what: str) -> BadInput:
        """An error about one attribute."""
        return BadInput(f"{self.place}: {self._job}.{name} {what}.")

    def saying(self, name: str) -> _Saying:
        """Errors raised inside name this attribute."""
        return _Saying(self, name)

    def _refuse_unknown(self) -> None:
        known = [name for base in (self._base,) for name in (*vars(base), *base.__annotations__)]
        for name in vars(self._thing):
            if not name.startswith("_") and name not in known and not callable(getattr(self._thing, name)):
                raise self.wrong(
                    name, f"is no attribute of a pipeline.{did_you_mean(name, known)}".rstrip(".")
                )


class _Saying:
    def __init__(self, get: _Attributes, name: str) -> None:
        self._get, self._name = get, name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, BadInput):
            raise BadInput(f"{self._get.place}: {self._name}: {error}") from error


def _source(get: _Attributes) -> Http | Files | Table:
    source, url = get("source"), get.text("source_url")
    if (source is None) == (not url):
        raise get.wrong("source_url", "must be there, or else source; one of the two")
    if source is None:
        return Http(url)
    if not isinstance(source, Http | Files | Table):
        raise get.wrong(
            "source", "must be made with http(…), files(…) or table(…) of dataflow.pipelines.sources"
        )
    return source


def _reads(get: _Attributes, datasets: Mapping[str, DatasetDefinition]) -> tuple[str, ...]:
    given = get("dataset_pipeline")
    found = []
    for item in given if isinstance(given, (list, tuple)) else [given]:
        name = getattr(item, "__name__", item)
        if not isinstance(name, str) or name not in datasets:
            hint = did_you_mean(str(name), list(datasets))
            raise get.wrong(
                "dataset_pipeline", f"is {quoted(str(name))}, and there is no such pipeline.{hint}"
            )
        found.append(datasets[name].dataset)
    if not found:
        raise get.wrong("dataset_pipeline", "names no dataset")
    return tuple(found)


def _rejects(get: _Attributes) -> RejectPolicy:
    policy = get("rejects")
    with get.saying("rejects"):
        if isinstance(policy, Mapping) and set(policy) == {"quarantine"}:
            return make_policy("quarantine", policy["quarantine"])
        if policy == "fail":
            return make_policy()
    raise get.wrong("rejects", 'must be "fail" or {"quarantine": N}, N being rows, or a share below 1')


def _input(get: _Attributes, item: Any, datasets: Mapping[str, str]) -> JobInput:
    """An input from `orders`, `orders:latest`, or the class of a pipeline."""
    text = getattr(item, "__name__", item)
    if not isinstance(text, str):
        raise get.wrong("inputs", f"holds {quoted(repr(item))}, which is no name of a dataset")
    name, _, mapping = text.partition(":")
    with get.saying("inputs"):
        return JobInput(check_name("dataset", datasets.get(name, name)), parse_mapping(mapping or SAME))


def _job_timing(get: _Attributes) -> Timing:
    """The timing of a job, which may have no schedule; its start is a dataid then."""
    if get.text("schedule"):
        return _timing(get, "schedule")
    for name in ("end_date", "catchup"):
        if get(name):
            raise get.wrong(name, "is about a schedule, and there is none. Give schedule too")
    start = get("start_date")
    text = start if isinstance(start, str) else "" if start is None else f"{start:%Y-%m-%d}"
    retries, delay = get("retries", int), get("retry_delay_seconds", (int, float))
    return Timing("", get.text("timezone"), text, "", False, retries, float(delay))


def _timing(get: _Attributes, attribute: str = "schedule_interval") -> Timing:
    timezone = get.text("timezone")
    with get.saying(attribute):
        expression = canonical_expression(get.text(attribute))
    start, end = (_moment_text(get, name, expression, timezone) for name in ("start_date", "end_date"))
    retries, delay = get("retries", int), get("retry_delay_seconds", (int, float))
    return Timing(expression, timezone, start, end, bool(get("catchup")), retries, float(delay))


def _moment_text(get: _Attributes, name: str, expression: str, timezone: str) -> str:
    """When the interval begins that a moment lies in: a moving start such as `now` is floored to it."""
    moment = get(name)
    if moment is None:
        return ""
    if not isinstance(moment, date):
        raise get.wrong(name, f"must be a datetime, and is {quoted(repr(moment))}")
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if expression == ONCE:
        return f"{moment:%Y-%m-%dT%H:%M}"
    with get.saying("timezone"):
        tz = zone(timezone)
    at = (moment if moment.tzinfo else moment.replace(tzinfo=tz)).timestamp()
    begins = datetime.fromtimestamp(next(interval_starts(expression, tz, at))[0], tz)
    return f"{begins:%Y-%m-%d}" if begins.hour == begins.minute == 0 else f"{begins:%Y-%m-%dT%H:%M}"
