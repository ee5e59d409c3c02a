"""Converts one file of the first Data Flow: its text after all changes, and the list of changes."""

from __future__ import annotations

import ast
import datetime as datetimes
import re
from collections.abc import Iterable

from dataflow.model.record import replace
from dataflow.pipelines.declare.airflow_remains import FACTORY, Remains
from dataflow.pipelines.declare.imports import OTHER, SIBLING, is_installed, list_imported
from dataflow.pipelines.declare.missing_commas import find_missing_commas
from dataflow.pipelines.declare.source_text import Edit, FileChange, Source, apply_edits, list_outermost
from dataflow.pipelines.migration.pipeline_classes import PipelineClasses

_FROM_ENVIRONMENT = re.compile(r"(\w+) = os\.(?:environ\.get\(|environ\[|getenv\()'\1'[\])]")


def convert_pipelines(source: Source, classes: PipelineClasses) -> tuple[str, list[FileChange]]:
    """The new text of a pipeline file, and its changes."""
    found = [*find_missing_commas(source), *_carry_retries(source, Remains(source, ()).find())]
    found += [*_find_sibling_imports(source, classes), *classes.find_twins(source)]
    for one in classes.table:
        if one.source is source:
            found += classes.find_changes(one)
    return _apply(source, found, classes.find_references(source))


def convert_constants(source: Source) -> tuple[str, list[FileChange]]:
    """The new text of a constants file; "" if the environment provides everything it did."""
    found = Remains(source, ()).find()
    for node in source.tree.body:
        if read := _FROM_ENVIRONMENT.fullmatch(ast.unparse(node)):
            why = f"constants missing from this file are read from the environment: export {read[1]}=…"
            found.append(FileChange(node.lineno, "", f"removed {read[1]}", why, (source.without(node),)))
    text, changes = _apply(source, found, [])
    kept = [node for node in ast.parse(text).body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    strings = [node for node in kept if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    return (text if len(kept) > len(strings) else ""), changes


def find_retries(tree: ast.AST) -> tuple[int, str] | None:
    """The line of an Airflow default_args with retries, and the retries as attributes of a pipeline."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            given = {ast.unparse(key).strip("'"): value for key, value in pairs if key is not None}
            count = given.get("retries")
            if isinstance(count, ast.Constant) and isinstance(count.value, int) and count.value > 0:
                delay = _seconds(given.get("retry_delay"))
                return node.lineno, f"retries = {count.value}{delay}"
    return None


def _apply(source: Source, found: list[FileChange], others: Iterable[Edit]) -> tuple[str, list[FileChange]]:
    edits = [edit for one in found for edit in one.edits] + list(others)
    found = found + _find_unused(source, Source("", apply_edits(source.text, edits).encode()))
    edits = [edit for one in found for edit in one.edits] + list(others)
    made = set(list_outermost(edits))
    told = [one for one in found if not one.edits or made.intersection(one.edits)]
    return apply_edits(source.text, edits), sorted(told, key=lambda one: one.line)


def _find_unused(source: Source, after: Source) -> list[FileChange]:
    """Imports that are unused after the changes, and those of packages that are not installed."""
    used = {node.id for node in ast.walk(after.tree) if isinstance(node, ast.Name)}
    kept = {ast.unparse(node) for node in after.tree.body if isinstance(node, (ast.Import, ast.ImportFrom))}
    found = []
    for node in source.tree.body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or ast.unparse(node) not in kept:
            continue
        shown, imported = source.shown(node), list_imported(node, ())
        if imported[0].module == "__future__" or imported[0].name == "*":
            continue
        if not used.intersection(one.bound for one in imported):
            edit = source.without(node)
            found.append(FileChange(node.lineno, "", f"removed `{shown}`", "it is not used", (edit,)))
            continue
        package = imported[0].module.partition(".")[0]
        if imported[0].kind == OTHER and package and not is_installed(package):
            why = f"the package {package} is not installed here"
            found.append(FileChange(node.lineno, "", f"kept `{shown}`", why, is_lost=True))
    return found


def _find_sibling_imports(source: Source, classes: PipelineClasses) -> list[FileChange]:
    found = []
    for node in source.tree.body:
        imported = list_imported(node, ())
        plain = [one for one in imported if one.kind == SIBLING and one.bound == one.name]
        # The loader provides the pipelines of all files to each of them.
        provided = {one.name for one in classes.table if "Pipeline" in one.name}
        known = [one for one in plain if one.name in classes.renamed or one.name in provided]
        if plain and len(imported) == len(known):
            why = "pipelines of other files are known by their names"
            edit = source.without(node)
            found.append(FileChange(node.lineno, "", f"removed `{source.shown(node)}`", why, (edit,)))
    return found


def _carry_retries(source: Source, found: list[FileChange]) -> list[FileChange]:
    """Replaces get_dag with its retries."""
    carried = {}
    for node in (node for node in source.tree.body if isinstance(node, ast.ClassDef)):
        for member in node.body:
            is_factory = isinstance(member, ast.FunctionDef) and member.name == FACTORY
            if is_factory and (retries := find_retries(member)):
                edit = source.without(member, "\n    ".join(retries[1].split("; ")))
                change = f"wrote {retries[1]} for {FACTORY} of {node.name}"
                carried[source.line_at(source.start(member))] = {"change": change, "edits": (edit,)}
    return [replace(one, **carried.get(one.line, {})) for one in found]


def _seconds(delay: ast.expr | None) -> str:
    """Airflow's retry_delay as an attribute of a pipeline."""
    if not isinstance(delay, ast.Call):
        return ""
    try:
        parts = {word.arg or "": ast.literal_eval(word.value) for word in delay.keywords}
        return f"; retry_delay_seconds = {datetimes.timedelta(**parts).total_seconds():g}"
    except (TypeError, ValueError):
        return ""
