"""The classes of a project by name, as their files write them: what each derives from and assigns."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from dataflow.model.record import record
from dataflow.pipelines.class_kinds import KINDS, NEEDED, is_private, kind_by_name, word_for
from dataflow.pipelines.migration.remains import FACTORY, Remains
from dataflow.pipelines.migration.source import Source


@record
class Written:
    """One class as it is written."""

    name: str
    source: Source
    node: ast.ClassDef
    gone: frozenset[ast.AST]  # the statements that go away with Airflow

    @property
    def line(self) -> int:
        """The line of its first word."""
        return self.node.lineno

    @property
    def assigned(self) -> dict[str, ast.Assign | ast.AnnAssign]:
        """Its own attributes, without those of its bases."""
        found: dict[str, ast.Assign | ast.AnnAssign] = {}
        for member in (member for member in self.node.body if member not in self.gone):
            targets = member.targets if isinstance(member, ast.Assign) else [getattr(member, "target", None)]
            for target in targets:
                if isinstance(target, ast.Name) and isinstance(member, ast.Assign | ast.AnnAssign):
                    found[target.id] = member
        return found


class ClassTable:
    """All top-level classes of some files; of two with one name, the first."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._classes: dict[str, Written] = {}
        self.gone: set[str] = set()
        self.twins: list[Written] = []  # of which there is another with the name
        for source in sources.values():
            gone = frozenset(Remains(source, ()).find_nodes())
            for node in source.tree.body:
                if isinstance(node, ast.ClassDef) and node in gone:
                    self.gone.add(node.name)
                elif isinstance(node, ast.ClassDef):
                    one = Written(node.name, source, node, gone)
                    if self._classes.setdefault(node.name, one) is not one:
                        self.twins.append(one)
        self.bases = {base for one in self for base in _list_base_names(one.node)}

    def __iter__(self) -> Iterator[Written]:
        return iter(self._classes.values())

    def __contains__(self, name: object) -> bool:
        return name in self._classes

    def list_lineage(self, name: str) -> list[Written]:
        """A class and those it derives from, nearest first, as far as the files have them."""
        found: dict[str, Written] = {}
        waiting = [name]
        while waiting:
            one = self._classes.get(waiting.pop(0))
            if one is not None and one.name not in found:
                found[one.name] = one
                waiting += _list_base_names(one.node)
        return list(found.values())

    def find_value(self, name: str, attribute: str) -> ast.expr | None:
        """What a class has for an attribute, its own or inherited."""
        for one in self.list_lineage(name):
            if attribute in one.assigned:
                return one.assigned[attribute].value
        return None

    def find_text(self, name: str, attribute: str) -> str:
        """The same where it is written as one string; "" otherwise."""
        value = self.find_value(name, attribute)
        return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""

    def find_word(self, one: Written) -> str:
        """`DatasetPipeline` or `ViewPipeline` for a class that is or looks like a pipeline; "" otherwise."""
        for word in KINDS:
            if word in one.name:
                return word
        lineage = self.list_lineage(one.name)
        bases = [base for each in lineage for base in _list_base_names(each.node)]
        return word_for(bases, (name for each in lineage for name in each.assigned))

    def is_base(self, one: Written) -> bool:
        """Whether a class is there for others to derive from."""
        return is_private(one.name) or (one.name in self.bases and bool(self.list_missing(one)))

    def list_missing(self, one: Written) -> list[str]:
        """The attributes that a pipeline needs and a class has not."""
        kind = KINDS[self.find_word(one)]
        needed = NEEDED[kind] if kind == "view" else (*NEEDED[kind], "source_url")
        given = {name for each in self.list_lineage(one.name) for name in each.assigned}
        if kind == "view" and "table_name" in given:
            given.add("view_name")  # which is what it becomes
        return [name for name in needed if name not in given]

    def find_dataset(self, one: Written) -> str:
        """The dataset that a pipeline makes; "" where its name is computed."""
        attributes = (
            ("table_name",) if self.find_word(one) == "DatasetPipeline" else ("view_name", "table_name")
        )
        names = [name for name in attributes if self.find_value(one.name, name) is not None]
        return self.find_text(one.name, names[0]) if names else ""

    def was_scheduled(self, one: Written) -> bool:
        """Whether the first Data Flow ran a class: by its name, or by a get_dag that it has."""
        members = [member for each in self.list_lineage(one.name) for member in each.node.body]
        return bool(kind_by_name(one.name)) or any(
            isinstance(member, ast.FunctionDef) and member.name == FACTORY for member in members
        )


def _list_base_names(node: ast.ClassDef) -> list[str]:
    return [base.id for base in node.bases if isinstance(base, ast.Name)]
