"""The classes of a project by name, as their files write them: what each derives from and assigns."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from dataflow.model.record import record
from dataflow.pipelines.declare.airflow_remains import FACTORY, Remains
from dataflow.pipelines.declare.class_kinds import KINDS, NEEDED, is_private, kind_by_name, word_for
from dataflow.pipelines.declare.source_text import Source, list_assigned


@record
class Written:
    """One class as it is written."""

    name: str
    source: Source
    node: ast.ClassDef
    gone: frozenset[ast.AST]  # the statements removed with Airflow

    @property
    def assigned(self) -> dict[str, ast.Assign | ast.AnnAssign]:
        """Its own attributes, without inherited ones."""
        found: dict[str, ast.Assign | ast.AnnAssign] = {}
        for member in (member for member in self.node.body if member not in self.gone):
            if isinstance(member, ast.Assign | ast.AnnAssign):
                found |= dict.fromkeys(list_assigned(member), member)
        return found


class ClassTable:
    """All top-level classes of some files; of two with the same name, the first file's, or the last in it."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._classes: dict[str, Written] = {}
        self.gone: set[str] = set()
        self.twins: list[Written] = []  # classes whose name another class has
        for source in sources.values():
            gone = frozenset(Remains(source, ()).find_nodes())
            for node in source.tree.body:
                if isinstance(node, ast.ClassDef) and node in gone:
                    self.gone.add(node.name)
                elif isinstance(node, ast.ClassDef):
                    self._add(Written(node.name, source, node, gone))
        self.bases = {base for one in self for base in _list_base_names(one.node)}

    def _add(self, one: Written) -> None:
        other = self._classes.setdefault(one.name, one)
        if other is not one and other.source is one.source:
            self._classes[one.name] = one  # as Python does
            self.twins.append(other)
        elif other is not one:
            self.twins.append(one)

    def __iter__(self) -> Iterator[Written]:
        return iter(self._classes.values())

    def list_lineage(self, name: str) -> list[Written]:
        """A class and its bases, nearest first, as far as the files define them."""
        found: dict[str, Written] = {}
        waiting = [name]
        while waiting:
            one = self._classes.get(waiting.pop(0))
            if one is not None and one.name not in found:
                found[one.name] = one
                waiting += _list_base_names(one.node)
        return list(found.values())

    def find_value(self, name: str, attribute: str) -> ast.expr | None:
        """The value of a class's attribute, its own or inherited."""
        for one in self.list_lineage(name):
            if attribute in one.assigned:
                return one.assigned[attribute].value
        return None

    def find_word(self, one: Written) -> str:
        """`DatasetPipeline` or `ViewPipeline` for a class that is or looks like a pipeline; "" otherwise."""
        lineage = self.list_lineage(one.name)
        bases = [base for each in lineage for base in _list_base_names(each.node)]
        return word_for([one.name, *bases], (name for each in lineage for name in each.assigned))

    def is_base(self, one: Written) -> bool:
        """True for a class that only serves as a base of others."""
        return is_private(one.name) or (one.name in self.bases and bool(self.list_missing(one)))

    def list_missing(self, one: Written) -> list[str]:
        """The attributes that a pipeline needs and the class lacks."""
        kind = KINDS[self.find_word(one)]
        needed = NEEDED[kind] if kind == "view" else (*NEEDED[kind], "source_url")
        given = {name for each in self.list_lineage(one.name) for name in each.assigned}
        if kind == "view" and "table_name" in given:
            given.add("view_name")  # which table_name becomes
        return [name for name in needed if name not in given]

    def find_dataset(self, one: Written) -> str:
        """The dataset that a pipeline makes; "" if its name is computed."""
        value = self.find_value(one.name, "view_name") if self.find_word(one) == "ViewPipeline" else None
        value = value or self.find_value(one.name, "table_name")
        return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""

    def was_scheduled(self, one: Written) -> bool:
        """True if the first Data Flow ran a class: by its name, or because it has get_dag."""
        members = [member for each in self.list_lineage(one.name) for member in each.node.body]
        return bool(kind_by_name(one.name)) or any(
            isinstance(member, ast.FunctionDef) and member.name == FACTORY for member in members
        )


def name_of(node: ast.expr | None) -> str:
    """The class that an expression names, alone or through its module; "" for anything else."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _list_base_names(node: ast.ClassDef) -> list[str]:
    return [name for base in node.bases if (name := name_of(base))]
