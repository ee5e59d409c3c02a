"""Every named query is used, and every used query exists."""

from __future__ import annotations

import re
from pathlib import Path

import dataflow
from dataflow.store.queries import SQL_DIR, Queries

SOURCE = Path(dataflow.__file__).parent
FILES = sorted(path.stem for path in Path(SQL_DIR).glob("*.sql"))


def list_written() -> set[str]:
    names: set[str] = set()
    for dialect in ("sqlite", "postgres"):
        queries = Queries(dialect, {})
        for file in FILES:
            queries._load(file)
        names |= queries._texts.keys()
    return names


def list_used() -> set[str]:
    literal = re.compile(rf"""["']((?:{"|".join(FILES)})\.[a-z_]+)["']""")
    texts = [path.read_text() for path in SOURCE.rglob("*.py")]
    # A file of ours, such as finish.py, may be named in a text too.
    return {name for text in texts for name in literal.findall(text) if not name.endswith((".py", ".sql"))}


def test_every_query_is_used() -> None:
    assert list_written() - list_used() == set()


def test_every_query_that_is_used_exists() -> None:
    assert list_used() - list_written() == set()
