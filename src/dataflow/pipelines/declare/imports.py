"""Classifies the imports of a pipeline file: names that the loader provides, and modules that are missing."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection
from importlib import import_module
from importlib.util import find_spec

from dataflow.model.record import record

OWN = "dataflow"
CONSTANTS = ("constants", "config")
PIPELINE_MODULES = ("meta", "dags")
"""The folders of the first Data Flow that hold pipelines."""
OF_PIPELINES = [[name] for name in PIPELINE_MODULES]

SIBLING, CONSTANT, FOREIGN, OTHER = "sibling", "constant", "foreign", "other"


@record
class Imported:
    """One name of an import: what it is bound to, the module it is from, and its kind."""

    bound: str
    name: str
    module: str
    kind: str


def list_imported(node: ast.stmt, files: Collection[str]) -> list[Imported]:
    """The names of an import; `files` are the project's pipeline files, without .py."""
    if isinstance(node, ast.Import):
        return [_whole(alias) for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    module = "." * node.level + (node.module or "")
    return [
        Imported(alias.asname or alias.name, alias.name, module, _kind_of(module, alias.name, files))
        for alias in node.names
    ]


def list_siblings(tree: ast.Module, files: Collection[str]) -> list[tuple[str, str]]:
    """The names that a file imports from other pipeline files: file and name, "*" for all names."""
    found = [one for node in tree.body for one in list_imported(node, files) if one.kind == SIBLING]
    return [(one.module.rpartition(".")[2], one.name) for one in found]


def replace_imports(tree: ast.Module, files: Collection[str]) -> None:
    """Turns imports of constants and of pipelines in other files into assignments of provided names."""
    tree.body = [new for node in tree.body for new in _replaced(node, files, tree)]
    _WholeConstants().visit(tree)
    ast.fix_missing_locations(tree)


def wants_config(tree: ast.Module) -> bool:
    """True if a file imports the project's config.py as the first Data Flow does."""
    found = [one for node in tree.body for one in list_imported(node, ())]
    return any(
        (one.kind == CONSTANT and _constants_file(one) == "config") or (one.module, one.name) == (OWN, "*")
        for one in found
    )


class _WholeConstants(ast.NodeTransformer):
    """Replaces `dataflow.constants`, which is not one of our modules, with `constants`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        is_own = isinstance(node.value, ast.Name) and node.value.id == OWN
        return ast.Name(node.attr, node.ctx) if is_own and node.attr in CONSTANTS else node


def _replaced(node: ast.stmt, files: Collection[str], tree: ast.Module) -> list[ast.stmt]:
    found = list_imported(node, files)
    given = [one for one in found if one.kind in (SIBLING, CONSTANT)]
    if not isinstance(node, (ast.Import, ast.ImportFrom)) or not given:
        return [node]
    made: list[ast.stmt] = []
    for one in given:
        # Siblings need no assignment for "*": the loader provides all names of their files.
        names = _list_constants(tree) if one.name == "*" and one.kind == CONSTANT else [one.name]
        if one.bound != OWN and names != ["*"]:
            made += [
                ast.Assign([ast.Name(name if one.name == "*" else one.bound, ast.Store())], _value(one, name))
                for name in names
            ]
    kept = [alias for alias, one in zip(node.names, found, strict=True) if one not in given]
    if kept and isinstance(node, ast.ImportFrom):
        made.append(ast.ImportFrom(node.module, kept, node.level))
    elif isinstance(node, ast.Import):
        whole = [ast.alias(OWN)] if any(one.bound == OWN for one in given) else []
        made += [ast.Import(whole + kept)] if whole or kept else []
    return [ast.copy_location(one, node) for one in made]


def _value(one: Imported, name: str) -> ast.expr:
    if one.kind == SIBLING or one.module == OWN:
        return ast.Name(name, ast.Load())
    constants = ast.Name(_constants_file(one), ast.Load())
    return ast.Attribute(constants, name, ast.Load()) if name else constants


def _list_constants(tree: ast.Module) -> list[str]:
    """The upper-case names that a file uses but does not assign."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id.isupper()]
    assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    assigned |= {node.asname or node.name for node in ast.walk(tree) if isinstance(node, ast.alias)}
    return list(dict.fromkeys(node.id for node in names if node.id not in assigned))


def _constants_file(one: Imported) -> str:
    return one.name if one.module == OWN else one.module.rpartition(".")[2]


def _whole(alias: ast.alias) -> Imported:
    root, _, rest = alias.name.partition(".")
    is_foreign = root == "airflow" or (root == OWN and not is_installed(alias.name))
    kind = CONSTANT if root == OWN and rest in CONSTANTS else FOREIGN if is_foreign else OTHER
    return Imported(alias.asname or root, "", alias.name, kind)


def _kind_of(module: str, name: str, files: Collection[str]) -> str:
    root, *rest = module.split(".")
    if root == "airflow":
        return FOREIGN
    if (root in ("", "pipelines") and rest and rest[-1] in files) or (module == "." and name in files):
        return SIBLING
    if root != OWN:
        return OTHER
    if not rest:
        public = sys.modules[OWN].__all__  # importing the package here would break the layers
        is_ours = name == "*" or name in public or is_installed(f"{OWN}.{name}")
        return CONSTANT if name in CONSTANTS else OTHER if is_ours else FOREIGN
    if rest in (["constants"], ["config"]):
        is_ours = is_installed(module) and hasattr(import_module(module), name)
        if not is_ours:
            return CONSTANT
    if rest[0] in PIPELINE_MODULES:
        # A whole module is not needed: its classes are known by their own names.
        return FOREIGN if len(rest) == 1 and name.islower() else SIBLING
    return OTHER if is_installed(module) else FOREIGN


def is_installed(module: str) -> bool:
    """True if Python finds a module of this name."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
