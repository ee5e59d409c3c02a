"""The text of one Python file with its syntax tree, and edits that leave the rest unchanged."""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator

from dataflow.model.record import record

_MOST_BYTES = 10_000_000
_BLANK_LINES = re.compile(rb"\n((?:[ \t]*\n)+)\Z")


@record
class Edit:
    """Bytes `start` to `end` of a file become `text`."""

    start: int
    end: int
    text: str = ""


@record
class FileChange:
    """One change to a file, worded for the loader that refuses it and for the import that makes it."""

    line: int
    problem: str
    change: str
    why: str = ""
    edits: tuple[Edit, ...] = ()
    is_lost: bool = False  # the project loses something it did before


def read_file(root: str, path: str) -> bytes:
    """The content of a project file; ValueError for a pipe, a device or a link out of the project."""
    real, home = os.path.realpath(os.path.join(root, path)), os.path.realpath(root)
    if os.path.commonpath([real, home]) != home:
        raise ValueError("it is a link out of the project")
    if not os.path.isfile(real):
        raise ValueError("it is not a file")
    if os.path.getsize(real) > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES:,} bytes")
    with open(real, "rb") as file:
        return file.read()


class Source:
    """A file's text, as UTF-8 with plain newlines, and its tree; SyntaxError if Python cannot parse it."""

    def __init__(self, path: str, text: bytes) -> None:
        encoding = tokenize.detect_encoding(io.BytesIO(text).readline)[0]
        self.text = re.sub(r"\r\n?", "\n", text.decode(encoding)).encode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = ast.parse(self.text, path)
        self._starts = [0, *(found.end() for found in re.finditer(rb"\n", self.text))]

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Where a node begins, with its decorators."""
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        first = decorators[0] if decorators else node
        return self._starts[first.lineno - 1] + first.col_offset - len(decorators[:1])  # the @ before it

    def end(self, node: ast.expr | ast.stmt) -> int:
        """Where a node ends."""
        return self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def line_at(self, position: int) -> int:
        """The line of a position."""
        return self.text.count(b"\n", 0, position) + 1

    def shown(self, node: ast.expr | ast.stmt) -> str:
        """A node as it is written, in one line."""
        text = " ".join(self.text[self.start(node) : self.end(node)].decode().split())
        return text if len(text) <= 80 else f"{text[:77]}…"

    def without(self, node: ast.stmt, instead: str = "") -> Edit:
        """An edit that removes the lines of a statement, and blank lines before it if blank lines follow."""
        start, end = self.start(node), self.end(node)
        first, last = self._starts[self.line_at(start) - 1], self.text.find(b"\n", end)
        last = len(self.text) if last < 0 else last + 1
        indent, rest = self.text[first:start], self.text[end:last].strip()
        if indent.strip() or (rest and not rest.startswith(b"#")):
            return Edit(start, end, instead or "pass")  # another statement shares its line
        if instead:
            return Edit(start, last, f"{instead}\n")
        blank = _BLANK_LINES.search(self.text[:first])
        is_set_off = last == len(self.text) or not self.text[last:].partition(b"\n")[0].strip()
        return Edit(blank.start(1) if blank and is_set_off else first, last)

    def list_strings(self, node: ast.Constant) -> list[tuple[str, int]]:
        """The string literals that Python joins into this one, each with the position of its end."""
        start = self.start(node)
        text = self.text[start : self.end(node)].decode()
        return [(piece, start + len(text[:end].encode())) for piece, end in _list_literals(text)]


def list_assigned(node: ast.stmt) -> list[str]:
    """The plain names that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def apply_edits(text: bytes, edits: Iterable[Edit]) -> str:
    """The text with the edits applied; of two that overlap, the larger one wins."""
    made, position = [], 0
    for edit in list_outermost(edits):
        made += [text[position : edit.start], edit.text.encode()]
        position = edit.end
    return b"".join([*made, text[position:]]).decode()


def list_outermost(edits: Iterable[Edit]) -> list[Edit]:
    """The edits in order, without those inside another."""
    kept: list[Edit] = []
    for edit in sorted(set(edits), key=lambda one: (one.start, -one.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return kept


def _list_literals(text: str) -> Iterator[tuple[str, int]]:
    wrapped = f"({text})"
    starts = [-1, *(found.end() - 1 for found in re.finditer("\n", wrapped))]  # without that bracket
    for token in tokenize.generate_tokens(io.StringIO(wrapped).readline):
        if token.type == tokenize.STRING:
            yield token.string, starts[token.end[0] - 1] + token.end[1]
