"""Changes to the pipeline classes of a project: names, attributes, and what a view reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from dataflow.model.record import record
from dataflow.pipelines.declare import bases
from dataflow.pipelines.declare.class_kinds import kind_by_name
from dataflow.pipelines.declare.source_text import Edit, FileChange, Source
from dataflow.pipelines.migration.class_table import ClassTable, Written, name_of

AFTER = {"DatasetPipeline": ("table_name", "field_mapping"), "ViewPipeline": ("view_name", "query")}
"""The attributes after which new ones may be added."""
SQL = ("join_clause", "where_clause", "query")

_READ = re.compile(r'\b(?:from|join)\s+"?(\w+)"?(?!["\w]|\s*\()', re.IGNORECASE)
_NO_COUNTERPART = "DataFlow's pipelines have no such attribute"


@record
class Retries:
    """The retries of a DAG, as attributes of a pipeline, and their place."""

    place: str
    text: str


class PipelineClasses:
    """The classes of a project that become pipelines, with their new names.

    `retries` are those of DAGs that other files create for all dataset or all view pipelines.
    """

    def __init__(self, table: ClassTable, retries: Mapping[str, Retries]) -> None:
        self.table = table
        self._retries = retries
        self.likely = {one.name: word for one in table if (word := table.find_word(one))}
        self.dropped = {
            one.name: "it has no " + " and no ".join(missing)
            for one in table
            if one.name in self.likely and not table.is_base(one) and (missing := table.list_missing(one))
        }
        self.dropped |= dict.fromkeys(table.gone, "DataFlow does not have its base class")
        self.renamed = {one.name: name for one in table if (name := self._new_name(one))}
        self._makers = {
            text: one.name
            for one in table
            if one.name in self.likely and one.name not in self.dropped and (text := table.find_dataset(one))
        }
        self._drop_readers()

    @property
    def kept(self) -> list[str]:
        """The classes that become pipelines of the new project."""
        found = [one for one in self.table if one.name in self.likely and one.name not in self.dropped]
        return [one.name for one in found if not self.table.is_base(one)]

    def are_in(self, source: Source) -> bool:
        """True if a file defines anything that is or looks like a pipeline."""
        written = (*self.table, *self.table.twins)
        return any(one.source is source and one.name in self.likely for one in written)

    def find_changes(self, one: Written) -> Iterator[FileChange]:
        """The changes to one class; none if it is not a pipeline."""
        word = self.likely.get(one.name)
        if word is None:
            return
        if one.name in self.dropped:
            reason = self.dropped[one.name]
            yield _lost(one, f"left out class {one.name}", reason, one.source.without(one.node))
            return
        if one.name in self.renamed:
            yield self._rename(one)
        yield from self._find_attributes(one, word)
        yield from self._add_retries(one, word)
        if word == "ViewPipeline" and not self.table.is_base(one):
            yield from self._find_joined(one)

    def find_twins(self, source: Source) -> Iterator[FileChange]:
        """The pipelines of a file whose names are taken by other classes."""
        for one in self.table.twins:
            if one.source is source and one.name in self.likely and not self.table.is_base(one):
                twin = self.table.list_lineage(one.name)[0]
                owner = "this" if twin.source is source else "another"
                why = f"{owner} file has a class of this name; rename one of them"
                yield _lost(one, f"left out class {one.name}", why, one.source.without(one.node))

    def find_references(self, source: Source) -> list[Edit]:
        """Edits for the references to renamed classes."""
        named = [node for node in ast.walk(source.tree) if isinstance(node, (ast.Name, ast.Attribute))]
        return [
            Edit(source.end(node) - len(name.encode()), source.end(node), self.renamed[name])
            for node in named
            if (name := name_of(node)) in self.renamed
        ]

    def _new_name(self, one: Written) -> str:
        word = self.likely.get(one.name, "")
        if not word or one.name in self.dropped or kind_by_name(one.name) or self.table.is_base(one):
            return ""
        return one.name + word if self.table.was_scheduled(one) else f"_{one.name}"

    def _drop_readers(self) -> None:
        """Leaves out views of omitted classes, and views of those views."""
        before = -1
        while len(self.dropped) != before:
            before = len(self.dropped)
            for one in self.table:
                gone = [name for name in self._list_read(one.name) if name in self.dropped]
                if gone and one.name not in self.dropped and not self.table.is_base(one):
                    self.dropped[one.name] = f"it reads {gone[0]}, which is left out"

    def _list_read(self, name: str) -> list[str]:
        """The classes that a view's dataset_pipeline names."""
        value = self.table.find_value(name, "dataset_pipeline")
        items = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
        found = [named for item in items if (named := name_of(item))]
        texts = [item.value for item in items if isinstance(item, ast.Constant)]
        return found + [self._makers[text] for text in texts if text in self._makers]

    def _rename(self, one: Written) -> FileChange:
        new = self.renamed[one.name]
        found = re.compile(rb"class\s+").search(one.source.text, one.source.start(one.node))
        start = found.end() if found else 0
        why = "DataFlow finds a pipeline by its name"
        if new.startswith("_"):
            why = (
                f"the first Data Flow did not run it. To run it, rename it {one.name}{self.likely[one.name]}"
            )
        edit = Edit(start, start + len(one.name.encode()), new)
        return FileChange(one.node.lineno, "", f"renamed class {one.name} to {new}", why, (edit,))

    def _find_attributes(self, one: Written, word: str) -> Iterator[FileChange]:
        known = bases.list_attributes(getattr(bases, word))
        for name, member in one.assigned.items():
            if name in known or name.startswith("_"):
                continue
            if name == "table_name":
                yield self._convert_table_name(one, member)
            else:
                filling = "" if len(one.node.body) > 1 else "pass"
                edit = one.source.without(member, filling)
                yield _lost(one, f"left out {name} of {one.name}", _NO_COUNTERPART, edit, member.lineno)

    def _convert_table_name(self, one: Written, member: ast.Assign | ast.AnnAssign) -> FileChange:
        target = member.targets[0] if isinstance(member, ast.Assign) else member.target
        start, end = one.source.start(target), one.source.end(target)
        for name, why in (
            ("view_name", "a view is named by view_name"),
            ("dataset_pipeline", "dataset_pipeline names what a view reads"),
        ):
            if self.table.find_value(one.name, name) is None:
                change = f"renamed table_name of {one.name} to {name}"
                return FileChange(member.lineno, "", change, why, (Edit(start, end, name),))
        why = "a view reads the table of its dataset_pipeline"
        edit = one.source.without(member)
        return FileChange(member.lineno, "", f"removed table_name of {one.name}", why, (edit,))

    def _add_retries(self, one: Written, word: str) -> Iterator[FileChange]:
        given = self._retries.get(word)
        has_own = self.table.find_value(one.name, "retries") is not None
        if given is None or has_own or self.table.is_base(one):
            return
        change, why = f"added {given.text} to {one.name}", f"the DAGs of {given.place} have this"
        after = next((name for name in AFTER[word] if name in one.assigned), None)
        if after is None:
            yield _lost(one, f"add {given.text} to {one.name}", why)
            return
        member = one.assigned[after]
        end, indent = one.source.end(member), " " * member.col_offset
        text = "".join(f"\n{indent}{line}" for line in given.text.split("; "))
        yield FileChange(member.lineno, "", change, why, (Edit(end, end, text),))

    def _find_joined(self, one: Written) -> Iterator[FileChange]:
        """Adds other datasets that the view's SQL reads to dataset_pipeline."""
        read = self._list_read(one.name)
        added = {
            self._makers[table]: None
            for table in self._list_tables(one)
            if table in self._makers and self._makers[table] not in (*read, one.name)
        }
        if not added:
            return
        names = ", ".join(self.renamed.get(name, name) for name in (*read, *added))
        why = "a view must name everything it reads, so that it waits for it"
        member = one.assigned.get("dataset_pipeline")
        if member is None or member.value is None or not read:
            yield _lost(one, f"dataset_pipeline of {one.name} must be [{names}]", why)
            return
        edit = Edit(one.source.start(member.value), one.source.end(member.value), f"[{names}]")
        change = f"added {' and '.join(added)} to dataset_pipeline of {one.name}"
        yield FileChange(member.lineno, "", change, why, (edit,))

    def _list_tables(self, one: Written) -> list[str]:
        values = [self.table.find_value(one.name, attribute) for attribute in SQL]
        nodes = [node for value in values if value for node in ast.walk(value)]
        texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
        return [name for text in texts if isinstance(text, str) for name in _READ.findall(text)]


def _lost(one: Written, change: str, why: str, edit: Edit | None = None, line: int = 0) -> FileChange:
    return FileChange(line or one.node.lineno, "", change, why, (edit,) if edit else (), is_lost=True)
