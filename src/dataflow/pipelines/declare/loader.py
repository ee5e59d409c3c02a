"""Finds the pipelines of a project: every class in pipelines/*.py that is named as one.

A file that cannot be read is reported with file and line; the others are still loaded.
"""

from __future__ import annotations

import ast
import datetime as datetimes
import os
import re
import runpy
import sys
import traceback
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dataflow.errors import DataFlowError
from dataflow.model.record import record, replace
from dataflow.pipelines.declare.airflow_remains import Remains, explain_missing
from dataflow.pipelines.declare.class_kinds import find_name, is_base, is_private, kind_by_name
from dataflow.pipelines.declare.imports import list_siblings, replace_imports, wants_config
from dataflow.pipelines.declare.missing_commas import find_missing_commas
from dataflow.pipelines.declare.project_constants import CONFIG_FILE, FILE, Constants, described
from dataflow.pipelines.declare.source_text import Source

FOLDER = "pipelines"
INIT_FILE = "__init__.py"
DEFINED = re.compile(rb"^(?:class|def)[ \t]+(\w+)", re.MULTILINE)


@record
class Problem:
    """A problem in a pipeline file, and where it is."""

    path: str
    line: int
    reason: str
    defines: tuple[str, ...] = ()  # the classes and functions of a file that could not be loaded

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@record
class Found:
    """A definition that becomes a job: a class, or a function marked as a job."""

    kind: str  # dataset, view or job; "" for any other class
    name: str
    thing: Any
    path: str
    line: int


@record
class File:
    """A compiled pipeline file, the names it imports from others as file and name, and its classes' lines."""

    code: types.CodeType
    siblings: tuple[tuple[str, str], ...]
    lines: Mapping[str, int]


@record
class Project:
    """Everything that a project's files define, and their problems."""

    found: tuple[Found, ...]
    problems: tuple[Problem, ...]
    constants: Mapping[str, object]


def load_project(project_dir: str, environ: Mapping[str, str]) -> Project:
    """Loads pipelines/*.py in name order; a file that needs another one is loaded after it."""
    folder = os.path.join(project_dir, FOLDER)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    loaded = [name[:-3] for name in names if name.endswith(".py") and not name.startswith("_")]
    problems = list(_find_unread(folder))
    waiting, has_config = {}, False
    for name in loaded:
        path = os.path.join(folder, f"{name}.py")
        tree = _parse(path, loaded, problems)
        if tree is not None:
            has_config = has_config or wants_config(tree)
            siblings = tuple(list_siblings(tree, loaded))
            nodes = reversed([*ast.walk(tree)])  # of classes with the same name, the first and outermost
            lines = {node.name: node.lineno for node in nodes if isinstance(node, ast.ClassDef)}
            replace_imports(tree, loaded)
            waiting[path] = File(compile(tree, path, "exec"), siblings, lines)
    with importable(project_dir):
        constants = _load_constants(project_dir, environ, FILE, problems)
        given = {"constants": constants, "datetime": datetimes.datetime}
        if has_config:
            given["config"] = constants
            if os.path.exists(os.path.join(project_dir, CONFIG_FILE)):
                given["config"] = _load_constants(project_dir, environ, CONFIG_FILE, problems)
        found = _run_all(waiting, given, problems)
    named = tuple(
        one if one.defines else replace(one, defines=_list_defined(os.path.join(project_dir, one.path)))
        for one in problems
    )
    return Project(tuple(found), named, constants.list_for_templates())


def _load_constants(
    project_dir: str, environ: Mapping[str, str], file: str, problems: list[Problem]
) -> Constants:
    path = os.path.join(project_dir, file)
    try:
        values = runpy.run_path(path) if os.path.exists(path) else {}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() included: the pipelines are still loaded
        problems.append(Problem(file, _line_in(error, path), f"{path} cannot be run: {described(error)}"))
        return Constants({}, {}, file)  # not the environment's, which may differ
    public = {name: value for name, value in values.items() if not name.startswith("_")}
    return Constants(public, environ, file)


def _run_all(waiting: dict[str, File], given: dict[str, Any], problems: list[Problem]) -> list[Found]:
    """Runs each file; one that names a class of a file not yet run is run again later."""
    found: list[Found] = []
    failed: dict[str, Problem] = {}
    modules: dict[str, dict[str, Any]] = {}  # the names defined by the files run so far
    progress = True
    while waiting and progress:
        progress = False
        for path, file in list(waiting.items()):
            known = {item.name: item.thing for item in found if item.kind or "Pipeline" in item.name}
            name = os.path.basename(path)[:-3]
            module = types.ModuleType(f"{FOLDER}.{name}")
            module.__file__ = path
            module.__dict__.update(given | known | _list_imported(file, modules))
            try:
                exec(file.code, module.__dict__)
            except NameError as error:
                # Most often a class whose own file could not be loaded.
                unknown = "is not defined here, and no loaded file defines a pipeline of that name."
                failed[path] = replace(_problem(path, error), reason=f"{error.name} {unknown}")
                continue
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # sys.exit() included: it concerns this file only
                problems.append(_problem(path, error))
            else:
                found += _list_found(module, file, set(map(id, known.values())))
                modules[name] = vars(module)
            progress = True
            del waiting[path]
    problems += [failed[path] for path in waiting]
    return _list_jobs(found, problems)


def _list_imported(file: File, modules: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The names a file imports from others that have been run."""
    found: dict[str, Any] = {}
    for module, name in file.siblings:
        names = modules.get(module, {})
        found |= {each: names[each] for each in names if each == name or (name == "*" and each[:1] != "_")}
    return found


def _list_found(module: types.ModuleType, file: File, known: set[int]) -> Iterator[Found]:
    """The classes and jobs of a file; a class without a kind is a base, or not named as a pipeline."""
    shown = os.path.join(FOLDER, os.path.basename(file.code.co_filename))
    for name, thing in vars(module).items():
        if id(thing) in known or getattr(thing, "__module__", None) != module.__name__:
            continue
        if isinstance(thing, type):
            kind = "" if is_private(name) else kind_by_name(name)
        elif hasattr(thing, "dataflow_job"):
            kind = "job"
        else:
            continue
        code = getattr(getattr(thing, "__wrapped__", thing), "__code__", None)
        line = code.co_firstlineno if code is not None else file.lines.get(name, 1)
        yield Found(kind, getattr(thing, "__name__", name), thing, shown, line)


def _list_jobs(found: list[Found], problems: list[Problem]) -> list[Found]:
    """The definitions that become jobs; a class that only looks like a pipeline is reported."""
    bases = {base for item in found if item.kind != "job" for base in item.thing.__mro__[1:]}
    jobs = []
    for item in found:
        if item.kind == "job" or (item.kind and not is_base(item.kind, item.thing, bases)):
            jobs.append(item)
        elif item.kind or item.thing in bases or is_private(item.name):
            continue
        elif name := find_name(item.thing):
            reason = (
                f"{item.name} looks like a pipeline but is not named as one. Rename it {name} to run it, or "
                f"_{item.name} if it is not one."
            )
            problems.append(Problem(item.path, item.line, reason, (item.name,)))
    return jobs


def _find_unread(folder: str) -> Iterator[Problem]:
    """Pipelines in subfolders of pipelines/ or in an __init__.py, which are not loaded."""
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(("_", ".")))
        inside = os.path.join(FOLDER, os.path.relpath(where, folder)) if where != folder else FOLDER
        for file in sorted(files):
            names = [one for one in _list_defined(os.path.join(where, file)) if kind_by_name(one)]
            if not names or not file.endswith(".py") or (inside == FOLDER and file != INIT_FILE):
                continue
            reason = f"{names[0]} is not loaded: only files directly in {FOLDER}/ are. Move this file there."
            if file == INIT_FILE:
                reason = f"{names[0]} is not loaded: {INIT_FILE} is never loaded. Rename this file."
            yield Problem(os.path.join(inside, file), 1, reason, tuple(names))


def _find_twins(tree: ast.Module, shown: str) -> Iterator[Problem]:
    """Pipelines replaced by another one of the same name in the same file."""
    lines: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and kind_by_name(node.name):
            if node.name in lines:
                reason = f"{node.name} is already defined at {shown}:{lines[node.name]}. Rename one."
                yield Problem(shown, node.lineno, reason, (node.name,))
            lines.setdefault(node.name, node.lineno)


def _parse(path: str, files: list[str], problems: list[Problem]) -> ast.Module | None:
    """The tree of a file that can be run; otherwise everything that must change first is reported."""
    shown = os.path.join(FOLDER, os.path.basename(path))
    try:
        with open(path, "rb") as file:
            source = Source(path, file.read())
    except SyntaxError as error:
        problems.append(Problem(shown, error.lineno or 1, _syntax_words(error)))
    except (OSError, ValueError) as error:
        problems.append(Problem(shown, 1, f"cannot be read: {error}"))
    else:
        found = [*find_missing_commas(source), *Remains(source, files).find()]
        problems += [Problem(shown, one.line, one.problem) for one in found]
        problems += _find_twins(source.tree, shown)
        return None if found else source.tree
    return None


def _list_defined(path: str) -> tuple[str, ...]:
    """The classes and functions of a file, even one that Python cannot parse."""
    try:
        with open(path, "rb") as file:
            return tuple(name.decode() for name in DEFINED.findall(file.read()))
    except OSError:
        return ()


def _syntax_words(error: SyntaxError) -> str:
    message = error.msg or "cannot be read"
    if "leading zeros" in message:
        text = error.text or ""
        found = re.match(r"[0-9_]+", text[(error.offset or 1) - 1 :])
        number = found[0] if found else "01"
        plain = number.lstrip("0_") or "0"
        return f"a number must not begin with 0 in `{text.strip()}`: write {plain} instead of {number}."
    return f"{message}. Python cannot read this line: {(error.text or '').strip()}"


def _problem(path: str, error: BaseException) -> Problem:
    """The error with the last line of this file that led to it."""
    shown = os.path.join(FOLDER, os.path.basename(path))
    words = str(error) if isinstance(error, DataFlowError) else described(error)
    if isinstance(error, ModuleNotFoundError):
        words += explain_missing(error.name or "")
    return Problem(shown, _line_in(error, path), words)


def _line_in(error: BaseException, path: str) -> int:
    """The last line of a file that led to an error."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno or 1
    frames = reversed(traceback.extract_tb(error.__traceback__))
    return next((frame.lineno or 1 for frame in frames if frame.filename == path), 1)


@contextmanager
def importable(project_dir: str) -> Iterator[None]:
    """Lets the files import modules of the project."""
    sys.path.insert(0, project_dir)
    try:
        yield
    finally:
        sys.path.remove(project_dir)
