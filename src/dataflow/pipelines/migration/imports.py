"""Which imports of a pipeline file stand for names the loader provides, and which for missing modules."""

from __future__ import annotations

import ast
from collections.abc import Collection
from importlib.util import find_spec

from dataflow.model.record import record

OWN = "dataflow"
CONSTANTS = ("constants", "config")
PIPELINE_MODULES = ("meta", "dags")
"""The folders of the first Data Flow that hold pipelines."""

SIBLING, CONSTANT, FOREIGN, OTHER = "sibling", "constant", "foreign", "other"


@record
class Imported:
    """One name of an import: what it is bound to, where it is from, and what that is to the loader."""

    bound: str
    name: str
    module: str
    kind: str


def list_imported(node: ast.stmt, files: Collection[str]) -> list[Imported]:
    """The names of an import; `files` are those of the project's pipelines, without .py."""
    if isinstance(node, ast.Import):
        return [_whole(alias) for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    module = "." * node.level + (node.module or "")
    return [
        Imported(alias.asname or alias.name, alias.name, module, _kind_of(module, alias.name, files))
        for alias in node.names
    ]


def replace_imports(tree: ast.Module, files: Collection[str]) -> None:
    """Turns imports of constants and of pipelines in other files into assignments from the names given."""
    tree.body = [new for node in tree.body for new in _replaced(node, files)]
    ast.fix_missing_locations(tree)


def wants_config(tree: ast.Module) -> bool:
    """Whether a file imports the project's config.py the way the first Data Flow does."""
    found = [one for node in tree.body for one in list_imported(node, ())]
    return any(one.kind == CONSTANT and _constants_file(one) == "config" for one in found)


def _replaced(node: ast.stmt, files: Collection[str]) -> list[ast.stmt]:
    found = list_imported(node, files)
    given = [one for one in found if one.kind in (SIBLING, CONSTANT)]
    if not given:
        return [node]
    made: list[ast.stmt] = [
        ast.copy_location(ast.Assign([ast.Name(one.bound, ast.Store())], _value(one)), node)
        for one in given
        if one.name != "*"  # all pipelines are known by their names
    ]
    if isinstance(node, ast.ImportFrom) and len(given) < len(found):
        kept = [alias for alias, one in zip(node.names, found, strict=True) if one not in given]
        made.append(ast.copy_location(ast.ImportFrom(node.module, kept, node.level), node))
    return made


def _value(one: Imported) -> ast.expr:
    if one.kind == SIBLING or one.module == OWN:
        return ast.Name(one.name, ast.Load())
    return ast.Attribute(ast.Name(_constants_file(one), ast.Load()), one.name, ast.Load())


def _constants_file(one: Imported) -> str:
    return one.name if one.module == OWN else one.module.rpartition(".")[2]


def _whole(alias: ast.alias) -> Imported:
    root = alias.name.partition(".")[0]
    kind = FOREIGN if root == "airflow" or (root == OWN and not _exists(alias.name)) else OTHER
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
        return CONSTANT if name in CONSTANTS else OTHER if _is_public(name) else FOREIGN
    if rest in (["constants"], ["config"]) and name.isupper():
        return CONSTANT
    if rest[0] in PIPELINE_MODULES:
        # A whole module is of no use: its classes are known by their own names.
        return FOREIGN if len(rest) == 1 and name.islower() else SIBLING
    return OTHER if _exists(module) else FOREIGN


def _is_public(name: str) -> bool:
    import dataflow

    return name in dataflow.__all__ or _exists(f"{OWN}.{name}")


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False
