"""All pipelines of a project by name, and the problems of those that cannot be loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dataflow.errors import BadInput, UnknownName
from dataflow.model.records import DATASET, PYTHON, VIEW
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.declare.definitions import (
    Definition,
    define_dataset,
    define_job,
    define_view,
    list_named,
)
from dataflow.pipelines.declare.loader import FOLDER, Found, load_project
from dataflow.pipelines.declare.settings import find_secrets

__all__ = ["Catalog", "Definition"]


class Catalog:
    """The definitions of one project."""

    def __init__(self, project_dir: str, environ: Mapping[str, str]) -> None:
        project = load_project(project_dir, environ)
        # A pipeline file may have put secrets into its error.
        self._redact = find_secrets(project_dir, environ).redact_text
        self.constants: Mapping[str, object] = project.constants
        self.problems = [self._redact(str(problem)) for problem in project.problems]
        self.broken_files = {problem.path for problem in project.problems}
        self.definitions: dict[str, Definition] = {}
        self._known: dict[str, Definition] = {}  # by class, function and dataset name
        self._broken = {
            name: self._redact(str(problem)) for problem in project.problems for name in problem.defines
        }
        of_kind = {
            kind: [one for one in project.found if one.kind == kind] for kind in (DATASET, VIEW, PYTHON)
        }
        for found in of_kind[DATASET]:
            with self._noting(found):
                self._add(define_dataset(found))
        by_class = {name: definition.dataset for name, definition in self.definitions.items()}
        by_class |= {found.name: _view_name(found) for found in of_kind[VIEW]}
        for found in of_kind[PYTHON]:
            with self._noting(found):
                self._add(define_job(found, by_class))
        self._add_views(of_kind[VIEW])

    def get(self, name: str) -> Definition:
        """A pipeline by its class name; BadInput if it cannot be loaded, UnknownName if it does not exist."""
        if name in self.definitions:
            return self.definitions[name]
        if name in self._known:
            hint = f" {name} is made by: {self._known[name].job}."
        elif name in self._broken:
            problem = self._broken[name]
            end = "" if problem.endswith((".", "?")) else "."
            raise BadInput(f"{name} cannot be loaded: {problem}{end} See: dataflow pipeline list")
        else:
            hint = did_you_mean(name, list(self.definitions))
        broken = f" {len(self.problems)} cannot be loaded: {' '.join(self.problems)}" if self.problems else ""
        raise UnknownName(
            f"Unknown pipeline {quoted(name)} in {FOLDER}/.{hint}{broken} See: dataflow pipeline list"
        )

    def find_maker(self, dataset: str) -> Definition | None:
        """The pipeline or job that makes a dataset."""
        return next((one for one in self.definitions.values() if dataset in one.outputs), None)

    def list_needed(self, definition: Definition) -> list[Definition]:
        """A pipeline and all pipelines it reads from, in the order they run."""
        needed = {definition.job: definition}
        waiting = [definition]
        while waiting:
            reads = set(waiting.pop().reads)
            for other in self.definitions.values():
                if other.job not in needed and reads & set(other.outputs):
                    needed[other.job] = other
                    waiting.append(other)
        return list(reversed(needed.values()))

    def _add_views(self, waiting: list[Found]) -> None:
        """Adds each view after those it reads; views that wait for each other are reported."""
        while waiting:
            pending = {name for one in waiting for name in (one.name, _view_name(one))}
            ready = [one for one in waiting if not pending & set(map(str, list_named(one.thing)))]
            if not ready:
                circle = ", ".join(f"{one.name} ({one.path}:{one.line})" for one in waiting)
                problem = (
                    f"{waiting[0].path}:{waiting[0].line}: these views wait for each other: {circle}. "
                    "Change dataset_pipeline of one of them."
                )
                self.problems.append(problem)
                self.broken_files |= {one.path for one in waiting}
                self._broken |= {one.name: problem for one in waiting}
                return
            for found in ready:
                with self._noting(found):
                    self._add(define_view(found, self._known, self._broken))
            waiting = [one for one in waiting if one not in ready]

    def _add(self, definition: Definition) -> None:
        for dataset in definition.outputs:
            if other := self.find_maker(dataset):
                raise BadInput(
                    f"{definition.origin} makes {dataset}, which {other.job} already makes ({other.place}). "
                    "Give one of them another name."
                )
        if definition.job in self.definitions:
            other = self.definitions[definition.job]
            raise BadInput(f"{definition.origin} is already defined at {other.place}. Rename one.")
        self.definitions[definition.job] = definition
        for name in (definition.job, *definition.outputs):
            self._known.setdefault(name, definition)

    @contextmanager
    def _noting(self, found: Found) -> Iterator[None]:
        """Records the problem of one pipeline, so that the others are still loaded."""
        try:
            yield
        except BadInput as error:
            problem = self._redact(str(error))
            self.problems.append(problem)
            self.broken_files.add(found.path)
            self._broken |= dict.fromkeys(_list_names(found), problem)


def _view_name(found: Found) -> str:
    """The view_name of a class, not checked yet."""
    return str(getattr(found.thing, "view_name", ""))


def _list_names(found: Found) -> list[str]:
    """The names by which a view may refer to it: its own, and those of its datasets."""
    declared = getattr(found.thing, "dataflow_job", found.thing)
    named = [getattr(declared, name, None) for name in ("name", "table_name", "view_name")]
    outputs = getattr(declared, "outputs", None)
    named += outputs if isinstance(outputs, (list, tuple)) else []
    return [found.name, *(name for name in named if isinstance(name, str) and name)]
