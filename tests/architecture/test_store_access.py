"""The store's two doors: reads have names and records, and every change of state goes through actions/."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataflow.store.store import Store

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "dataflow"
STORE = SOURCE / "store"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if STORE not in path.parents)
OUTSIDE_ACTIONS = [path for path in MODULES if SOURCE / "actions" not in path.parents]

WRITING_VERBS = frozenset(
    {
        *("acknowledge", "add_intervals", "cancel", "claim", "count_rows", "finish", "finish_and_claim"),
        *("forget_versions", "go_back", "hold", "journal", "make_ready", "mark", "move_version", "pin_ready"),
        *("purge", "register", "renew", "resubmit", "upgrade", "withdraw", "accept", "invalidate", "control"),
    }
)
# These open a writing transaction and leave nothing: one undoes it, one only locks what it reads.
LEAVES_NOTHING = {"rehearse", "list_lapsed"}
# What a variable that holds a Store is called.
STORES = re.compile(r"_?(?:\w+_)?store|rehearsed")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def list_queries() -> set[str]:
    found = set()
    for path in (STORE / "sql").glob("*.sql"):
        names = re.findall(r"^-- name: (\w+)", path.read_text(), re.MULTILINE)
        found |= {f"{path.stem}.{name}" for name in names}
    return found


QUERIES = list_queries()


def list_query_names(text: str) -> list[str]:
    """The names of the store's queries that a module spells out."""
    constants = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return [value for value in constants if isinstance(value, str) and value in QUERIES]


def list_low_level_calls(text: str) -> list[str]:
    """Calls that run a query or a transaction past the store's verbs."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute | ast.Name):
            receiver = node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id
            if receiver in ("tx", "_tx") or (receiver == "database" and node.attr in ("stream", "write")):
                found.append(f"{receiver}.{node.attr}")
    return found


def list_writes(text: str) -> list[str]:
    """The writing verbs of a store that a module calls or passes on."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Attribute):
            continue
        receiver = node.value
        name = receiver.attr if isinstance(receiver, ast.Attribute) else getattr(receiver, "id", "")
        if node.attr in WRITING_VERBS and (STORES.fullmatch(name) or name == "Store"):
            found.append(f"{name}.{node.attr}")
        if name == "database" and node.attr in ("write", "upgrade"):
            found.append(f"{name}.{node.attr}")
    return found


def list_methods() -> Iterator[tuple[str, set[str]]]:
    """The public methods of Store and what each uses of itself."""
    tree = ast.parse((STORE / "store.py").read_text())
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Store").body
    for method in body:
        if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
            yield (
                method.name,
                {ast.unparse(node) for node in ast.walk(method) if isinstance(node, ast.Attribute)},
            )


def test_no_query_is_named_outside_the_store() -> None:
    for path in MODULES:
        text = path.read_text()
        assert not list_query_names(text), name_of(path)
        assert not list_low_level_calls(text), name_of(path)


def test_only_actions_call_a_verb_that_writes() -> None:
    for path in OUTSIDE_ACTIONS:
        assert not list_writes(path.read_text()), name_of(path)


def test_the_writing_verbs_are_those_that_open_a_writing_transaction() -> None:
    opening = {"self.database.write", "self.database.upgrade", "self._once", "self._change", "self._in_steps"}
    methods = dict(list_methods())
    writing = {name for name, used in methods.items() if used & opening}
    writing |= {name for name, used in methods.items() if used & {f"self.{verb}" for verb in writing}}
    writing |= {name for name, used in methods.items() if used & {f"self.{verb}" for verb in writing}}
    assert writing - LEAVES_NOTHING == WRITING_VERBS
    assert {name for name in WRITING_VERBS if hasattr(Store, name)} == WRITING_VERBS


@pytest.mark.parametrize("text", ['store.read._rows("status.open_work")', 'QUERY = "versions.store_id"'])
def test_a_query_name_is_noticed(text: str) -> None:
    assert list_query_names(text)


@pytest.mark.parametrize("text", ["tx.rows(name)", "self._tx.find(name)", "store.database.stream(name)"])
def test_a_query_past_the_reads_is_noticed(text: str) -> None:
    assert list_low_level_calls(text)


@pytest.mark.parametrize(
    "text",
    [
        *("store.hold(plan, None, True, '')", "self._store.finish(plan, ending)", "ask = store.renew"),
        *("context.store.purge(before)", "store.database.write(verb)", "Store.acknowledge(store, 1, 'x')"),
    ],
)
def test_a_write_past_the_actions_is_noticed(text: str) -> None:
    assert list_writes(text)
