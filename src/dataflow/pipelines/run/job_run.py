"""The run object passed to a Python job, with the datasets it may read and write; not what runs it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from dataflow.config.fields import parse_input
from dataflow.errors import BadInput, InvalidData, UnknownName
from dataflow.model.location import Location
from dataflow.model.mapping import PREVIOUS, SEVERAL_WORDS, word_of
from dataflow.model.record import record
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.register.spans import Span
from dataflow.pipelines.shape.checks import Check

if TYPE_CHECKING:
    from dataflow.pipelines.spark.annotations import DataFrame, SparkSession

READABLE = ("", "parquet")
"""The formats of plain files or folders that `read` supports; "" for a dataset that declares none."""


@record
class PinnedInput:
    """An input chunk as pinned by the run, and the name the job uses for it."""

    name: str  # orders, or orders:latest
    dataset: str
    location: str
    format: str
    locations: tuple[str, ...] = ()  # of all chunks, in order, of an input with several


@record
class Facts:
    """The facts of a run. `declared` names all inputs; None if only the existing ones are known."""

    job: str
    dataid: str
    run_id: int
    sources: tuple[PinnedInput, ...]
    outputs: Mapping[str, str]  # location by dataset
    declared: tuple[str, ...] | None
    span: Span | None
    hint: str  # where inputs and outputs are declared


class Surroundings(Protocol):
    """What runs the job: provides a session, stages outputs, writes the log."""

    def session(self) -> SparkSession:
        """The session of the run."""

    def stage(self, dataset: str, frame: DataFrame, checks: tuple[Check, ...]) -> None:
        """Stages and checks an output; it is published when the run succeeds."""

    def read_table(self, source: PinnedInput) -> DataFrame:
        """The rows of an input that is in PostgreSQL."""

    def log(self, text: str) -> None:
        """Adds a line to the run's log."""


class JobRun:
    """One run of a Python job: `read` and `write` its datasets, at the versions the claim has pinned."""

    def __init__(self, facts: Facts, surroundings: Surroundings) -> None:
        self._facts = facts
        self.job, self.dataid = facts.job, facts.dataid
        self.run_id = facts.run_id  # its fencing token
        self._surroundings = surroundings
        self._written: set[str] = set()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<run {self.run_id} of {self.job} {self.dataid}>"

    @property
    def interval(self) -> Span:
        """Start and end of the dataid's interval: `start, end = run.interval`."""
        if self._facts.span is None:
            raise BadInput(f"The dataid {quoted(self.dataid)} of {self.job} is not a time interval.")
        return self._facts.span

    @property
    def spark(self) -> SparkSession:
        """The run's own Spark session."""
        return self._surroundings.session()

    def read(self, name: str) -> DataFrame:
        """The rows of an input, at the version this run has pinned."""
        found = self.find(name)
        if found is None:
            raise BadInput(
                f"{name} has no chunk for {self.job} {self.dataid}, the first dataid. "
                f"Use run.find({name!r}), which returns None in that case."
            )
        return found

    def find(self, name: str) -> DataFrame | None:
        """Like `read`, but None if a `previous` input has no chunk yet, at the job's first dataid."""
        from dataflow.pipelines.spark.frames import open_place, open_places  # import all that reads rows

        source = self._find_source(name)
        if source is None:
            return None
        if Location(source.location).is_in_database:
            return self._surroundings.read_table(source)
        if len(source.locations) > 1 and not all(map(_is_manifest, source.locations)):
            if source.format in READABLE and not any(map(_is_manifest, source.locations)):
                return self.spark.read.parquet(*source.locations)
            raise BadInput(
                f"The chunks of {source.name} are in several places or formats; run.read reads them as one "
                f"frame only if all are in the lake or all are Parquet. See run.locations({name!r})."
            )
        if not Location(source.location).is_manifest and source.format not in READABLE:
            raise BadInput(
                f"{source.name} is at {source.location} in format {source.format}; run.read reads only the "
                f"lake, PostgreSQL and Parquet. Read it with run.spark and run.location({name!r})."
            )
        if source.locations and _is_manifest(source.location):
            return open_places(self.spark, source.locations)
        return open_place(self.spark, source.location)

    def location(self, name: str) -> str:
        """Where an input is, or where an output goes."""
        if name in self._facts.outputs:
            return self._facts.outputs[name]
        source = self._find_source(name)
        if source is not None and len(source.locations) > 1:
            raise BadInput(f"{source.name} has {len(source.locations)} chunks: use run.locations({name!r}).")
        return "" if source is None else source.location

    def locations(self, name: str) -> list[str]:
        """Where all chunks of an input are, in order of their dataids."""
        source = self._find_source(name)
        if source is None:
            return []
        return list(source.locations) or [source.location]

    def write(self, name: str, frame: DataFrame, checks: Sequence[Check] = ()) -> None:
        """Stages and checks an output; it is published, with all others, when the run succeeds."""
        from dataflow.pipelines.spark.frames import is_frame

        if name not in self._facts.outputs:
            raise self._unknown("output", name, self._facts.outputs)
        if not is_frame(frame):
            raise BadInput(
                f"{self.job} writes a {type(frame).__name__} to {name}; run.write takes a Spark DataFrame. "
                "Create one: run.spark.createDataFrame(…)"
            )
        with self._lock:  # threads may write outputs concurrently
            if name in self._written:
                raise BadInput(
                    f"{self.job} writes {name} twice. Combine the rows with unionByName, and write once."
                )
            self._written.add(name)
        try:
            self._surroundings.stage(name, frame, tuple(checks))
        except BaseException:
            self._written.discard(name)
            raise

    def log(self, text: str) -> None:
        """Adds a line to the run's log."""
        self._surroundings.log(str(text))

    def refuse_unwritten(self, place: str = "") -> None:
        """Raises InvalidData if a declared output was not written; `place` is that of the declaration."""
        missing = [dataset for dataset in self._facts.outputs if dataset not in self._written]
        if missing:
            advice = f" Call run.write({missing[0]!r}, frame), or remove it from outputs: {place}"
            names = " and ".join(missing)
            raise InvalidData(f"{self.job} ended without writing {names}.{advice if place else ''}")

    def _find_source(self, name: str) -> PinnedInput | None:
        sources, declared = self._facts.sources, self._facts.declared
        found = [one for one in sources if one.name == name]
        found = found or [one for one in sources if one.dataset == name]
        if len(found) == 1:
            return found[0]
        names = [one.name for one in sources] if declared is None else declared
        if found:
            shown = " and ".join(one.name for one in found)
            raise BadInput(f"{self.job} reads {shown}: name one of them, as in run.read({found[0].name!r}).")
        if any(_is_several(each, name) for each in declared or ()):
            return None
        is_previous = name.endswith(f":{PREVIOUS}") and (declared is None or name in declared)
        if is_previous or f"{name}:{PREVIOUS}" in (declared or ()):
            return None
        raise self._unknown("input", name, names)

    def _unknown(self, kind: str, name: str, known: Iterable[str]) -> UnknownName:
        known = list(known)
        listed = f"Its {kind}s: {', '.join(known)}." if known else f"It declares no {kind}s."
        hint = did_you_mean(name, known)
        return UnknownName(f"{self.job} has no {kind} {quoted(name)}.{hint} {listed} {self._facts.hint}")


def _is_manifest(location: str) -> bool:
    return Location(location).is_manifest


def _is_several(declared: str, name: str) -> bool:
    """Return whether a declared input may have no chunk, one or more, and is meant by a name."""
    found = parse_input(declared)
    names = (found.dataset, f"{found.dataset}:{found.mapping}")
    return word_of(found.mapping) in SEVERAL_WORDS and name in names
