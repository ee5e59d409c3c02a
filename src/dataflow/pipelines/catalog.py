"""All pipelines of a project by name, and what was wrong with those that are missing."""

from __future__ import annotations

from collections.abc import Mapping

from dataflow.errors import BadInput, UnknownName
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.definitions import DatasetDefinition, ViewDefinition, define_dataset, define_view
from dataflow.pipelines.loader import FOLDER, load_project

Definition = DatasetDefinition | ViewDefinition


class Catalog:
    """The definitions of one project."""

    def __init__(self, project_dir: str, environ: Mapping[str, str]) -> None:
        project = load_project(project_dir, environ)
        self.constants: Mapping[str, object] = project.constants
        self.problems = [str(problem) for problem in project.problems]
        self.definitions: dict[str, Definition] = {}
        datasets: dict[str, DatasetDefinition] = {}
        for found in project.found:
            if found.kind == "dataset":
                with self._noting():
                    definition = define_dataset(found)
                    datasets[found.name] = datasets[definition.dataset] = definition
                    self._add(definition)
        for found in project.found:
            if found.kind == "view":
                with self._noting():
                    self._add(define_view(found, datasets))

    def get(self, name: str) -> Definition:
        """A pipeline by its class name; UnknownName with the nearest and what is wrong with the files."""
        if name in self.definitions:
            return self.definitions[name]
        broken = f" {len(self.problems)} cannot be loaded: {' '.join(self.problems)}" if self.problems else ""
        hint = did_you_mean(name, list(self.definitions))
        raise UnknownName(
            f"There is no pipeline {quoted(name)} in {FOLDER}/.{hint}{broken} See: dataflow pipeline list"
        )

    def _add(self, definition: Definition) -> None:
        for other in self.definitions.values():
            if other.dataset == definition.dataset:
                raise BadInput(
                    f"{definition.place}: {definition.job} makes {definition.dataset}, which {other.job} "
                    f"makes already ({other.place}). Give one of them another name."
                )
        if definition.job in self.definitions:
            other = self.definitions[definition.job]
            raise BadInput(
                f"{definition.place}: {definition.job} is defined already at {other.place}. Rename one."
            )
        self.definitions[definition.job] = definition

    def _noting(self) -> _Noting:
        return _Noting(self.problems)


class _Noting:
    """Notes what is wrong with one pipeline, so that the others are there all the same."""

    def __init__(self, problems: list[str]) -> None:
        self._problems = problems

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, BadInput):
            self._problems.append(str(error))
            return True
        return False
