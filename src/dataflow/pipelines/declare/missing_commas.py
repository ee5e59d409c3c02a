"""Finds missing commas between tuples, which Python treats as a call, and strings, which it joins."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dataflow.model.wording import quoted
from dataflow.pipelines.declare.source_text import Edit, FileChange, Source, list_assigned

PARTS = {"field_mapping": 3, "fields": 2, "indexes": 1, "dataset_pipeline": 1}
"""The number of strings in a complete item, by the suffix of the name the list is assigned to."""

_CLOSING = re.compile(rb"(?:\s*\))*")
_JOINED = "Python joins adjacent strings"


def find_missing_commas(source: Source) -> list[FileChange]:
    """Every place of a file where a comma is missing, first to last."""
    return sorted([*_find_calls(source), *_find_joined(source)], key=lambda one: one.line)


def _find_calls(source: Source) -> Iterator[FileChange]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and _is_data(node.func):
            end = source.end(node.func)
            if closing := _CLOSING.match(source.text, end):
                end = closing.end()
            yield FileChange(
                source.line_at(end),
                f"{_words(node.func)} Add it.",
                "added the missing comma between two items",
                "Python treats them as a call",
                (Edit(end, end, ","),),
            )


def _is_data(node: ast.expr) -> bool:
    """True if a literal is called: a tuple, a list, a string, or the result of such a call."""
    while isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, (ast.Tuple, ast.List, ast.Constant))


def _words(before: ast.expr) -> str:
    if isinstance(before, (ast.Tuple, ast.Call)):
        return "a comma is missing after this ')': two tuples follow each other."
    shown = "list" if isinstance(before, ast.List) else quoted(ast.unparse(before))
    return f"a comma is missing between this {shown} and the '(' that follows it."


def _find_joined(source: Source) -> Iterator[FileChange]:
    for name, value in _list_assigned(source.tree):
        for end, parts in PARTS.items():
            if name.lower().endswith(end):
                for item in _list_items(value):
                    yield from _find_short(source, item, parts)


def _find_short(source: Source, item: ast.expr, wanted: int) -> Iterator[FileChange]:
    """An item that has too few strings because Python joined some of them."""
    parts = item.elts if isinstance(item, (ast.Tuple, ast.List)) else [item]
    if len(parts) >= wanted > 1:
        return
    strings = [source.list_strings(part) for part in parts if isinstance(part, ast.Constant)]
    joined = [pieces for pieces in strings if len(pieces) > 1]
    added = sum(len(pieces) - 1 for pieces in joined)
    fits = wanted == 1 or len(parts) + added == wanted
    for pieces in joined:
        ends = [end for _, end in pieces[:-1]]
        shown, after = pieces[0][0], pieces[1][0]
        yield FileChange(
            source.line_at(ends[0]),
            f"a comma is missing between {shown} and {after}: {_JOINED}. Add it, or write one string.",
            f"added the missing comma after {shown}" if fits else f"comma missing after {shown}",
            _JOINED if fits else f"{_JOINED}; the item has {wanted} parts",
            tuple(Edit(end, end, ",") for end in ends) if fits else (),
            is_lost=not fits,
        )


def _list_assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The assignments of a file and its classes."""
    for body in [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]:
        for node in body:
            value = getattr(node, "value", None)
            if isinstance(value, ast.expr):
                yield from ((name, value) for name in list_assigned(node))


def _list_items(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.BinOp):
        return [*_list_items(value.left), *_list_items(value.right)]
    return value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
