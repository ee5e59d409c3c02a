"""The shape of the code: how long, how named, how introduced; and what no file may mention."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "dataflow"
MODULES = [*sorted(SOURCE.rglob("*.py")), *sorted((ROOT / "benchmarks").rglob("*.py"))]
TEST_MODULES = sorted((ROOT / "tests").rglob("*.py"))

MODULE_LINES = 400
FUNCTION_LINES = 60
# Names that hold anything and so end up holding everything.
EMPTY_NAMES = {"utils", "util", "common", "core", "helpers", "helper", "manager", "misc"}

# Where packages come from and where a machine keeps things is that machine's business.
REGISTRY = re.compile(
    r"pypi\.org|pythonhosted\.org|/simple/?\s|--(?:(?:extra-)?index-url|find-links|trusted-host)"
)
MACHINE_PATH = re.compile(r"(?<![\w.}])/(?:root|Users|work)/\w|(?<![\w.}])/home/(?!etl\b)\w")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def list_repository_files() -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # a copy of the tree, or a machine without git
        return [
            path for folder in ("src", "tests", "docs", "examples") for path in (ROOT / folder).rglob("*")
        ]
    return [ROOT / name for name in listed.split("\0") if name]


def read_texts() -> Iterator[tuple[Path, str]]:
    for path in list_repository_files():
        if path.is_file():
            try:
                yield path, path.read_text()
            except UnicodeDecodeError:
                continue


def list_functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_every_module_has_a_docstring() -> None:
    assert not [name_of(path) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))]


def test_every_folder_of_modules_is_a_package() -> None:
    # Without its __init__.py a folder is invisible to the check of the floors.
    folders = {path.parent for path in MODULES}
    assert not [name_of(folder) for folder in folders if not (folder / "__init__.py").exists()]


def test_no_module_is_too_long() -> None:
    sizes = {name_of(path): len(path.read_text().splitlines()) for path in MODULES}
    assert not {name: lines for name, lines in sizes.items() if lines > MODULE_LINES}, "split it by noun"


def test_every_function_fits_on_a_screen() -> None:
    sizes = {
        f"{name_of(path)}:{node.lineno} {node.name}": _count_lines(node)
        for path in MODULES
        for node in list_functions(path)
    }
    assert not {name: lines for name, lines in sizes.items() if lines > FUNCTION_LINES}


def test_every_module_is_named_for_what_it_holds() -> None:
    for path in MODULES + TEST_MODULES:
        names = {path.stem.removeprefix("test_"), *path.relative_to(ROOT).parts[:-1]}
        assert not names & EMPTY_NAMES, name_of(path)


def test_no_file_names_a_package_registry() -> None:
    assert not [name_of(path) for path, text in read_texts() if REGISTRY.search(text)]


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    found = [(name_of(path), match[0]) for path, text in read_texts() if (match := MACHINE_PATH.search(text))]
    assert not found


def test_every_package_needed_for_development_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert not [line for line in pins if not re.fullmatch(r"[a-z0-9.-]+==[0-9][0-9a-z.]*", line)]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *extras["postgres"],
        *extras["spark"],
        *extras["web"],
        *extras["dev"],
    ]
    names = {re.split(r"[^\w.-]", package, maxsplit=1)[0] for package in wanted}
    assert names <= {pin.split("==")[0] for pin in pins}


def _count_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_two_rooms_of_pipelines_have_a_class_of_the_same_name() -> None:
    rooms: dict[str, set[str]] = {}
    for path in sorted((SOURCE / "pipelines").rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                rooms.setdefault(node.name, set()).add(path.relative_to(SOURCE / "pipelines").parts[0])
    assert not {name: sorted(found) for name, found in rooms.items() if len(found) > 1}
