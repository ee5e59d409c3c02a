"""Finds the pipelines of a project: every class in pipelines/*.py whose name says that it is one.

A file that cannot be read is reported with file and line, and the others are loaded all the same.
"""

from __future__ import annotations

import ast
import datetime as datetimes
import os
import re
import sys
import traceback
import types
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dataflow.errors import ConfigError, DataFlowError
from dataflow.model.record import record, replace
from dataflow.model.wording import quoted
from dataflow.pipelines.constants import Constants, described, load_constants

FOLDER = "pipelines"
KINDS = ("DatasetPipeline", "ViewPipeline")
DEFINED = re.compile(rb"^(?:class|def)[ \t]+(\w+)", re.MULTILINE)


@record
class Problem:
    """What is wrong with a file of pipelines, and where."""

    path: str
    line: int
    reason: str
    defines: tuple[str, ...] = ()  # the classes and functions of a file that could not be loaded

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@record
class Found:
    """Something a file defines that is to become a job: a class, or a function marked as a job."""

    kind: str  # dataset, view or job
    name: str
    thing: Any
    path: str
    line: int


@record
class Project:
    """All that the files of a project define, and what was wrong with them."""

    found: tuple[Found, ...]
    problems: tuple[Problem, ...]
    constants: Mapping[str, object]


def load_project(project_dir: str, environ: Mapping[str, str]) -> Project:
    """Loads pipelines/*.py in order of their names; a file that needs another one waits for it."""
    folder = os.path.join(project_dir, FOLDER)
    problems: list[Problem] = []
    waiting = {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".py") and not name.startswith("_"):
            path = os.path.join(folder, name)
            code = _compile(path, os.path.join(FOLDER, name), problems)
            if code is not None:
                waiting[path] = code
    with importable(project_dir):
        try:
            constants = load_constants(project_dir, environ)
        except ConfigError as error:
            problems.append(Problem("constants.py", _line_in(error, project_dir), str(error)))
            constants = Constants({}, {})  # not the environment's: it may say otherwise
        found = _run_all(waiting, {"constants": constants, "datetime": datetimes.datetime}, problems)
    named = tuple(
        replace(one, defines=_list_defined(os.path.join(project_dir, one.path))) for one in problems
    )
    return Project(tuple(found), named, constants.list_for_templates())


def _run_all(waiting: dict[str, Any], given: dict[str, Any], problems: list[Problem]) -> list[Found]:
    """Runs each file; those that name a class of a file not yet run, again after it."""
    found: list[Found] = []
    failed: dict[str, Problem] = {}
    progress = True
    while waiting and progress:
        progress = False
        for path, code in list(waiting.items()):
            known = {item.name: item.thing for item in found}
            module = types.ModuleType(f"{FOLDER}.{os.path.basename(path)[:-3]}")
            module.__file__ = path
            module.__dict__.update(given | known)
            try:
                exec(code, module.__dict__)
            except NameError as error:
                failed[path] = _undefined(path, error)
                continue
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # sys.exit() too is only what this one file does
                problems.append(_problem(path, error))
            else:
                found += _list_found(module, path, set(map(id, known.values())))
            progress = True
            del waiting[path]
    problems += [failed[path] for path in waiting]
    return found


def _list_found(module: types.ModuleType, path: str, known: set[int]) -> Iterator[Found]:
    shown = os.path.join(FOLDER, os.path.basename(path))
    for name, thing in vars(module).items():
        if id(thing) in known or getattr(thing, "__module__", None) != module.__name__:
            continue
        kind = _kind_of(name, thing)
        if kind:
            yield Found(kind, getattr(thing, "__name__", name), thing, shown, _line_of(thing, name, path))


def _kind_of(name: str, thing: Any) -> str:
    if not isinstance(thing, type):
        return "job" if hasattr(thing, "dataflow_job") else ""
    if name in KINDS or name.startswith("_"):
        return ""  # a project's own base class
    if "DatasetPipeline" in name:
        return "dataset"
    return "view" if "ViewPipeline" in name else ""


def _line_of(thing: Any, name: str, path: str) -> int:
    code = getattr(getattr(thing, "__wrapped__", thing), "__code__", None)
    line = code.co_firstlineno if code is not None else vars(thing).get("__firstlineno__")
    if line is not None:
        return int(line)
    # A class of Python before 3.13 does not know its line, and inspect looks only into imported modules.
    with open(path, "rb") as file:
        nodes = ast.walk(ast.parse(file.read(), path))
    return next((node.lineno for node in nodes if isinstance(node, ast.ClassDef) and node.name == name), 1)


def _compile(path: str, shown: str, problems: list[Problem]) -> Any:
    try:
        with open(path, "rb") as file:
            source = file.read()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, path)
            missing = _find_missing_comma(tree)
            if missing:
                problems.append(Problem(shown, *missing))
                return None
            return compile(tree, path, "exec")
    except SyntaxError as error:
        problems.append(Problem(shown, error.lineno or 1, _syntax_words(error)))
    except (OSError, ValueError) as error:
        problems.append(Problem(shown, 1, f"cannot be read: {error}"))
    return None


def _list_defined(path: str) -> tuple[str, ...]:
    """The classes and functions of a file, which need not be one that Python can read."""
    try:
        with open(path, "rb") as file:
            return tuple(name.decode() for name in DEFINED.findall(file.read()))
    except OSError:
        return ()


def _find_missing_comma(tree: ast.AST) -> tuple[int, str] | None:
    """The line at which a comma is missing before a tuple, and words for it: Python takes that for a call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Tuple, ast.List, ast.Constant)):
            line = node.func.end_lineno or node.lineno
            if isinstance(node.func, ast.Tuple):
                return line, "a comma is missing after this ')': two tuples follow each other. Add it."
            before = "list" if isinstance(node.func, ast.List) else quoted(ast.unparse(node.func))
            return line, f"a comma is missing between this {before} and the '(' that follows it. Add it."
    return None


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
    """The error with the last line of this very file that led to it."""
    shown = os.path.join(FOLDER, os.path.basename(path))
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    words = str(error) if isinstance(error, DataFlowError) else described(error)
    return Problem(shown, lines[-1] if lines and lines[-1] else 1, words)


def _line_in(error: ConfigError, project_dir: str) -> int:
    """The last line of constants.py that led to an error."""
    cause, path = error.__cause__, os.path.join(project_dir, "constants.py")
    if isinstance(cause, SyntaxError) and cause.filename == path:
        return cause.lineno or 1
    frames = traceback.extract_tb(cause.__traceback__) if cause else []
    return next((frame.lineno or 1 for frame in reversed(frames) if frame.filename == path), 1)


def _undefined(path: str, error: NameError) -> Problem:
    """A name that no file has given, most often of a class whose own file could not be loaded."""
    where = _problem(path, error)
    reason = f"{error.name} is not defined here, nor as a pipeline in any other file that could be loaded."
    return Problem(where.path, where.line, reason)


@contextmanager
def importable(project_dir: str) -> Iterator[None]:
    """Lets the files import modules of the project."""
    sys.path.insert(0, project_dir)
    try:
        yield
    finally:
        sys.path.remove(project_dir)
