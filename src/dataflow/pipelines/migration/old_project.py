"""Reads a project of the first Data Flow without running it, and converts its files."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterator, Mapping

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.pipelines.declare.class_kinds import KINDS, kind_by_name
from dataflow.pipelines.declare.imports import OF_PIPELINES, SIBLING, list_imported
from dataflow.pipelines.declare.loader import FOLDER
from dataflow.pipelines.declare.project_constants import CONFIG_FILE, FILE
from dataflow.pipelines.declare.source_text import FileChange, Source, read_file
from dataflow.pipelines.migration.class_table import ClassTable
from dataflow.pipelines.migration.connections import OldConnection, list_targets
from dataflow.pipelines.migration.conversion import convert_constants, convert_pipelines, find_retries
from dataflow.pipelines.migration.pipeline_classes import PipelineClasses, Retries

CHANGED, LEFT, NOTE = "changed", "left", "note"
"""Done; left for the user; worth knowing."""

_SKIPPED = ("__pycache__", "tests", "test", "venv", "env", "node_modules")
_NUMBER = re.compile(r"0[0-9_]*")
_MOST_ZEROS = 200  # each one parses the whole file again


@record
class ReportLine:
    """One line of the report."""

    place: str
    kind: str
    what: str
    why: str


@record
class OldProject:
    """The result of a conversion: files with their texts and sources, connections, and the report."""

    files: dict[str, tuple[str, str]]
    targets: tuple[OldConnection, ...]
    entries: tuple[ReportLine, ...]


def read_old_project(root: str, skipped: str) -> OldProject:
    """Reads the Python files below a folder; BadInput if none defines a pipeline.

    `skipped` is a folder to ignore, even inside the project.
    """
    reader = _Reader(root)
    reader.read(skipped)
    table = ClassTable(reader.sources)
    classes = PipelineClasses(table, _find_retries(reader.sources, table))
    needed = _list_needed(reader.sources, classes)
    if not classes.likely and not needed:
        raise BadInput(
            f"{root} has no pipelines: no class is named …{' or …'.join(KINDS)}. "
            "Give the folder that contains dataflow/meta or dataflow/dags."
        )
    for path, source in reader.sources.items():
        reader.convert(path, source, classes, path in needed)
    targets = list_targets(root, table, classes.kept)
    if any(classes.likely[name] == "ViewPipeline" for name in classes.kept):
        what = "a view's result is a table, view_name_YYYY_MM_DD with the interval's first day"
        reader.entries.append(ReportLine("views", NOTE, what, "materialized = False makes it a view"))
    return OldProject(reader.files, tuple(targets), tuple(sorted(reader.entries, key=_position)))


class _Reader:
    def __init__(self, root: str) -> None:
        self._root = root
        self.sources: dict[str, Source] = {}
        self.files: dict[str, tuple[str, str]] = {}
        self.entries: list[ReportLine] = []

    def read(self, skipped: str) -> None:
        for path in _list_files(self._root, skipped):
            try:
                text, findings = _without_zeros(path, read_file(self._root, path))
                self.sources[path] = Source(path, text)
                self._tell(path, findings)
            except SyntaxError as error:
                self._add(path, error.lineno or 1, LEFT, "not read", f"Python cannot read it: {error.msg}")
            except (RecursionError, MemoryError):  # of Python's parser
                self._add(path, 1, LEFT, "not read", "Python cannot read it: it is nested too deeply")
            except (OSError, ValueError) as error:
                self._add(path, 1, LEFT, "not read", str(error))

    def convert(self, path: str, source: Source, classes: PipelineClasses, is_needed: bool) -> None:
        name = os.path.basename(path)
        if is_needed or classes.are_in(source):
            text, found = convert_pipelines(source, classes)
            if is_needed:
                self._put(os.path.join(FOLDER, _free_name(path, self.files)), text, path)
            else:
                found = [one for one in found if one.is_lost and one.edits]
                if not found:
                    self._add(path, 1, NOTE, "not imported", "no pipeline uses its classes")
            self._tell(path, found)
        elif name in (FILE, CONFIG_FILE):
            text, found = convert_constants(source)
            if text:
                self._put(name, text, path)
            self._tell(path, found)
        elif source.tree.body:
            if dag := _find_own_dag(source):
                why = "its DAG does not belong to a pipeline: declare a job for it"
                self._add(path, dag, LEFT, "not imported", why)
            else:
                self._add(path, 1, NOTE, "not imported", "it defines no pipeline")

    def _put(self, name: str, text: str, path: str) -> None:
        if name in self.files:
            self._add(path, 1, LEFT, "not imported", f"{self.files[name][1]} already becomes {name}")
        else:
            self.files[name] = (text, path)

    def _tell(self, path: str, findings: list[FileChange]) -> None:
        for one in findings:
            self._add(path, one.line, LEFT if one.is_lost else CHANGED, one.change, one.why)

    def _add(self, path: str, line: int, kind: str, what: str, why: str) -> None:
        self.entries.append(ReportLine(f"{path}:{line}", kind, what, why))


def _list_needed(sources: Mapping[str, Source], classes: PipelineClasses) -> set[str]:
    """The files that define or create pipelines, and those with their bases or imports."""
    lineages = [one.source for name in classes.kept for one in classes.table.list_lineage(name)]
    needed = {
        path
        for path, source in sources.items()
        if any(one is source for one in lineages) or _makes_pipelines(source)
    }
    before = -1
    while len(needed) != before:
        before = len(needed)
        imported = {file for path in needed for file in _list_imported_files(path, sources[path])}
        needed |= {path for path in sources if any(f"/{path}".endswith(file) for file in imported)}
    return needed


def _list_imported_files(path: str, source: Source) -> Iterator[str]:
    """The path suffixes of the pipeline files that this one imports from."""
    for node in source.tree.body:
        for one in list_imported(node, ()):
            module = one.module.lstrip(".").replace(".", "/")
            if one.module.startswith(".."):
                yield f"/{module}.py"
            elif one.module.startswith("."):
                yield os.path.join("/", os.path.dirname(path), f"{module or one.name}.py")
            elif one.kind == SIBLING or module.split("/")[1:2] in OF_PIPELINES:
                yield f"/{module.partition('/')[2]}.py"


def _makes_pipelines(source: Source) -> bool:
    """True if a file creates classes with type(…) and names them as pipelines."""
    nodes = list(ast.walk(source.tree))
    texts = [str(node.value) for node in nodes if isinstance(node, ast.Constant)]
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    makes = any(call.func.id == "type" and len(call.args) == 3 for call in calls)  # type: ignore[attr-defined]
    return makes and any(kind_by_name(text) for text in texts)


def _list_files(root: str, skipped: str) -> list[str]:
    """The Python files of a project; only those of its own package, if it has one."""
    if os.path.isfile(root):
        raise BadInput(f"{root} is a file. Give the project's folder.")
    if not os.path.isdir(root):
        raise BadInput(f"{root} does not exist. Give the project's folder.")
    package = os.path.join(root, "dataflow")
    folder = package if os.path.isdir(package) else root
    return sorted(os.path.relpath(path, root) for path in _walk(folder, os.path.realpath(skipped)))


def _walk(folder: str, skipped: str) -> Iterator[str]:
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
        if os.path.realpath(where) == skipped:
            continue
        yield from (os.path.join(where, name) for name in files if name.endswith(".py"))


def _without_zeros(path: str, text: bytes) -> tuple[bytes, list[FileChange]]:
    """The text with Python 3 numbers: 1 for 01."""
    found: list[FileChange] = []
    while True:
        try:
            ast.parse(text, path)
            return text, found
        except SyntaxError as error:
            if "leading zeros" not in (error.msg or "") or len(found) >= _MOST_ZEROS:
                return text, found  # for the caller to report
            lines = text.decode().splitlines(keepends=True)
            line, column = (error.lineno or 1) - 1, (error.offset or 1) - 1
            number = _NUMBER.match(lines[line], column)
            if number is None:
                return text, found
            plain = number[0].lstrip("0_") or "0"
            lines[line] = lines[line][:column] + plain + lines[line][number.end() :]
            text = "".join(lines).encode()
            why = "Python 3 does not accept leading zeros"
            found.append(FileChange(line + 1, "", f"wrote {plain} instead of {number[0]}", why))


def _free_name(path: str, taken: Collection[str]) -> str:
    """A free name in pipelines/; a name already taken gets the folder's name as a prefix."""
    parts = [FOLDER, *path.split(os.sep)]
    name = parts[-1].lstrip("_.") if parts[-1] != "__init__.py" else f"{parts[-2]}.py"
    name = name if name != "py" else f"{parts[-2]}.py"  # of a file named __.py
    return name if os.path.join(FOLDER, name) not in taken else "_".join(parts[-2:]).lstrip("_")


def _find_own_dag(source: Source) -> int:
    """The line where a file imports DAG for something other than pipelines; 0 if it does not."""
    words = {node.value for node in ast.walk(source.tree) if isinstance(node, ast.Constant)}
    if words.intersection(KINDS):
        return 0
    imports = [node for node in source.tree.body if isinstance(node, ast.ImportFrom)]
    return next((node.lineno for node in imports if "DAG" in [alias.name for alias in node.names]), 0)


def _find_retries(sources: Mapping[str, Source], table: ClassTable) -> dict[str, Retries]:
    """The retries of files that create DAGs for all classes of one kind, named by a string."""
    found = {}
    holding = {id(one.source) for one in table if table.find_word(one)}
    for path, source in sources.items():
        retries = None if id(source) in holding else find_retries(source.tree)
        for node in ast.walk(source.tree) if retries else ():
            if retries and isinstance(node, ast.Constant) and node.value in KINDS:
                found[str(node.value)] = Retries(f"{path}:{retries[0]}", retries[1])
    return found


def _position(entry: ReportLine) -> tuple[str, int]:
    path, _, line = entry.place.rpartition(":")
    return (path, int(line)) if line.isdigit() else ("~", 0)  # entries without a file come last
