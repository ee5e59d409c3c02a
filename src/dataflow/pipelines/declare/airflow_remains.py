"""Airflow code left in a pipeline file: imports, DAG factories, and everything that uses them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import TypeGuard

from dataflow.pipelines.declare.imports import FOREIGN, OF_PIPELINES, OWN, list_imported
from dataflow.pipelines.declare.source_text import Edit, FileChange, Source

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
FACTORY = "get_dag"
_RUNS_ITSELF = "DataFlow schedules and runs pipelines without Airflow"
_WHOLE_PROJECT = "To convert a whole project: dataflow pipeline import PATH"
_NO_DAG = (
    "DataFlow does not build DAGs. A pipeline's schedule is in schedule_interval, start_date, end_date and "
    "catchup, its retries in retries and retry_delay_seconds"
)
_BY_NAME = "DataFlow finds pipelines by the names of their classes"


class Remains:
    """What to remove from a file before DataFlow can load it; `files` are the project's, without .py."""

    def __init__(self, source: Source, files: Collection[str]) -> None:
        self._source = source
        self._files = files
        self.gone: dict[str, str] = {}  # a name, and the module it came from
        self._modules: set[str] = set()  # the names bound to a whole pipeline file
        self.found: dict[ast.AST, FileChange] = {}

    def find(self) -> list[FileChange]:
        """All findings, first to last."""
        return sorted([*self.find_nodes().values(), *self._find_references()], key=lambda one: one.line)

    def find_nodes(self) -> dict[ast.AST, FileChange]:
        """The findings by statement; a statement that uses a removed name is removed too."""
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
        self._modules |= {one.bound for one in gone if one.module.split(".")[1:2] in OF_PIPELINES}
        kept = [alias for alias, one in zip(node.names, found, strict=True) if one not in gone]
        module = gone[0].module
        why = f"{module} is part of the first Data Flow only"
        if module.startswith("airflow"):
            why = _RUNS_ITSELF
        elif module.split(".")[1:2] in OF_PIPELINES:
            why = _BY_NAME
        made = type(node)(**{**{name: getattr(node, name) for name in node._fields}, "names": kept})
        shown = f"`{self._source.shown(node)}`"
        names = " and ".join(one.name or one.module for one in gone)
        self._add(node, f"{names} from {shown}" if kept else shown, why, ast.unparse(made) if kept else "")

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

    def _add(self, node: ast.stmt, subject: str, why: str, instead: str = "", is_lost: bool = False) -> None:
        line = self._source.line_at(self._source.start(node))
        edit = self._source.without(node, instead)
        problem = f"remove {subject}: {why}.{f' {_WHOLE_PROJECT}' * (why == _RUNS_ITSELF)}"
        self.found[node] = FileChange(line, problem, f"removed {subject}", why, (edit,), is_lost)

    def _find_used(self, node: ast.AST) -> str:
        spared = {id(one.value) for one in ast.walk(node) if self._is_reference(one)}
        names = (one for one in ast.walk(node) if isinstance(one, ast.Name) and id(one) not in spared)
        return next((one.id for one in names if one.id in self.gone), "")

    def _find_references(self) -> Iterator[FileChange]:
        """Pipelines named through their module: `module.OrdersDatasetPipeline`."""
        removed = {id(one) for node in self.found for one in ast.walk(node)}
        for node in ast.walk(self._source.tree):
            if self._is_reference(node) and id(node) not in removed:
                end = self._source.end(node)
                edit = Edit(self._source.start(node), end - len(node.attr.encode()))
                shown = f"{node.attr} instead of {ast.unparse(node)}"
                yield FileChange(
                    node.lineno, f"write {shown}: {_BY_NAME}.", f"wrote {shown}", _BY_NAME, (edit,)
                )

    def _is_reference(self, node: ast.AST) -> TypeGuard[ast.Attribute]:
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return False
        return node.value.id in self._modules and node.attr[:1].isupper()

    def _give_up(self, node: ast.stmt, subject: str, used: str, instead: str = "") -> None:
        """Removes code whose effect DataFlow may not replace."""
        why = f"it uses {used} from {self.gone[used]}, which DataFlow does not have"
        self._add(node, subject, why, instead, is_lost=True)


def explain_missing(module: str) -> str:
    """Advice for an import that failed because this module of the first Data Flow is missing."""
    root = module.partition(".")[0]
    if root == "airflow":
        return f". Remove its import: {_RUNS_ITSELF}. {_WHOLE_PROJECT}"
    return f". Remove its import: {module} is part of the first Data Flow only." * (root == OWN)


def _calls_factory(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr == FACTORY for one in ast.walk(node))


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
