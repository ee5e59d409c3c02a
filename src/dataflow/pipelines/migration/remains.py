"""What is left of Airflow in a file of pipelines: imports, DAG factories, and whatever uses them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from dataflow.model.record import replace
from dataflow.pipelines.migration.imports import FOREIGN, PIPELINE_MODULES, list_imported
from dataflow.pipelines.migration.source import Finding, Source

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
FACTORY = "get_dag"
_RUNS_ITSELF = "DataFlow schedules and runs pipelines without Airflow"
_WHOLE_PROJECT = "To convert a whole project: dataflow pipeline import PATH"
_NO_DAG = (
    "DataFlow builds no DAG. A pipeline's schedule is in schedule_interval, start_date, end_date and "
    "catchup, its retries in retries and retry_delay_seconds"
)
_BY_NAME = "DataFlow finds pipelines by the names of their classes"


class Remains:
    """The findings of one file, and the names that go away with what was found."""

    def __init__(self, source: Source, files: Collection[str]) -> None:
        self._source = source
        self._files = files
        self.gone: dict[str, str] = {}  # a name, and the module it was of
        self.found: dict[ast.AST, Finding] = {}

    def find(self) -> list[Finding]:
        """All findings, first to last."""
        return sorted(self.find_nodes().values(), key=lambda one: one.line)

    def find_nodes(self) -> dict[ast.AST, Finding]:
        """The same by statement; what uses a name that goes away goes too."""
        before = -1
        while len(self.found) != before:
            before = len(self.found)
            for node in self._source.tree.body:
                if node not in self.found:
                    self._look(node)
        return self.found

    def _look(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._look_at_import(node)
        elif isinstance(node, ast.ClassDef):
            self._look_at_class(node)
        elif _calls_factory(node):
            self._add(node, _shown(node), _BY_NAME)
        elif used := self._find_used(node):
            self._give_up(node, _shown(node), used)
            self.gone |= dict.fromkeys(_list_bound(node), self.gone[used])

    def _look_at_import(self, node: ast.Import | ast.ImportFrom) -> None:
        found = list_imported(node, self._files)
        gone = [one for one in found if one.kind == FOREIGN]
        if not gone:
            return
        self.gone |= {one.bound: one.module for one in gone}
        kept = [alias for alias, one in zip(node.names, found, strict=True) if one not in gone]
        module = gone[0].module
        why = f"{module} is part of the first Data Flow only"
        if module.startswith("airflow"):
            why = _RUNS_ITSELF
        elif module.split(".")[1:2] and module.split(".")[1] in PIPELINE_MODULES:
            why = _BY_NAME
        made = type(node)(**{**{name: getattr(node, name) for name in node._fields}, "names": kept})
        shown = f"`{self._source.shown(node)}`"
        names = " and ".join(one.name or one.module for one in gone)
        self._add(node, f"{names} from {shown}" if kept else shown, why, ast.unparse(made) if kept else "")
        if why == _RUNS_ITSELF:
            one = self.found[node]
            self.found[node] = replace(one, problem=f"{one.problem} {_WHOLE_PROJECT}")

    def _look_at_class(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            if used := self._find_used(base):
                self._give_up(node, f"class {node.name}", used)
                self.gone[node.name] = self.gone[used]
                return
        for member in node.body:
            if member in self.found:
                continue
            used = self._find_used(member)
            if isinstance(member, _Function) and member.name == FACTORY:
                self._add(member, f"{FACTORY} of {node.name}", _NO_DAG, self._filling(node, member))
            elif used:
                owner = f"{_shown(member)} of {node.name}"
                self._give_up(member, owner, used, self._filling(node, member))

    def _filling(self, node: ast.ClassDef, member: ast.stmt) -> str:
        """A class that would be left empty needs a statement."""
        others = [one for one in node.body if one is not member and one not in self.found]
        return "" if others else "pass"

    def _add(self, node: ast.stmt, subject: str, why: str, instead: str = "") -> None:
        line = self._source.line_at(self._source.start(node))
        edit = self._source.without(node, instead)
        self.found[node] = Finding(line, f"remove {subject}: {why}.", f"removed {subject}", why, (edit,))

    def _find_used(self, node: ast.AST) -> str:
        return next((name for name in _list_names(node) if name in self.gone), "")

    def _give_up(self, node: ast.stmt, subject: str, used: str, instead: str = "") -> None:
        """Removes what did something that DataFlow may not do by itself."""
        why = f"it uses {used} from {self.gone[used]}, which DataFlow does not have"
        self._add(node, subject, why, instead)
        self.found[node] = replace(self.found[node], is_lost=True)


def find_remains(source: Source, files: Collection[str]) -> list[Finding]:
    """What must go from a file before DataFlow can load it; `files` are the project's, without .py."""
    return Remains(source, files).find()


def _calls_factory(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr == FACTORY for one in ast.walk(node))


def _list_names(node: ast.AST) -> Iterator[str]:
    return (one.id for one in ast.walk(node) if isinstance(one, ast.Name))


def _list_bound(node: ast.stmt) -> list[str]:
    if isinstance(node, _Function):
        return [node.name]
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]


def _shown(node: ast.stmt) -> str:
    if isinstance(node, _Function):
        return f"function {node.name}"
    if isinstance(node, ast.For):
        return "this loop"
    bound = _list_bound(node) if isinstance(node, (ast.Assign, ast.AnnAssign)) else []
    return bound[0] if bound else "this statement"
