"""The manifest of a staging folder: one JSON line per finished part, readable after a crash at any byte."""

from __future__ import annotations

import os
from typing import Any

import orjson

from dataflow.model.record import record
from dataflow.private_files import open_private

MANIFEST = "manifest.jsonl"


@record
class Entry:
    """A finished part. `path` is absolute; `next` is the position after it: None after the last page.

    `total` is the source's row count when the page was fetched, None where it is not stated.
    """

    number: int
    path: str
    rows: int
    size: int
    sha256: str
    next: str | int | None
    total: int | None = None


@record
class Manifest:
    """Content of a folder's manifest; `length` is the size of its complete lines in bytes."""

    fingerprint: str
    entries: tuple[Entry, ...]
    complete: bool
    closed: str
    length: int


def read_manifest(folder: str) -> Manifest | None:
    """The manifest of a folder; None when it is missing or its first line is incomplete."""
    try:
        with open(os.path.join(folder, MANIFEST), "rb") as file:
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    lines, length = _whole_lines(text)
    if not lines or "fingerprint" not in lines[0]:
        return None
    entries = tuple(_entry(line, folder) for line in lines if "number" in line)
    closed = next((line["closed"] for line in lines if "closed" in line), "")
    complete = any("complete" in line for line in lines)
    return Manifest(lines[0]["fingerprint"], entries, complete, closed, length)


def append_line(folder: str, line: dict[str, object]) -> None:
    """Append one line with one write; readable by the owner only, since a next URL can hold a secret."""
    descriptor = open_private(os.path.join(folder, MANIFEST), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, orjson.dumps(line) + b"\n")
    finally:
        os.close(descriptor)


def cut_manifest(folder: str, length: int) -> None:
    """Truncate the manifest to its first bytes; creates it if missing."""
    descriptor = open_private(os.path.join(folder, MANIFEST), os.O_WRONLY | os.O_CREAT)
    try:
        os.ftruncate(descriptor, length)
    finally:
        os.close(descriptor)


def entry_line(entry: Entry, folder: str) -> dict[str, object]:
    """An entry as a line; a file in the manifest's own folder is stored by its bare name."""
    own = os.path.dirname(entry.path) == folder
    file = os.path.basename(entry.path) if own else entry.path
    line: dict[str, object] = {"number": entry.number, "file": file, "rows": entry.rows, "size": entry.size}
    line |= {"sha256": entry.sha256, "next": entry.next}
    return line if entry.total is None else line | {"total": entry.total}


def _whole_lines(text: bytes) -> tuple[list[dict[str, Any]], int]:
    """The lines before the first torn one: a crash may leave half a line, with nothing complete after it."""
    lines = []
    length = 0
    for line in text.splitlines(keepends=True):
        try:
            read = orjson.loads(line) if line.endswith(b"\n") else None
        except orjson.JSONDecodeError:
            break
        if not isinstance(read, dict):
            break
        lines.append(read)
        length += len(line)
    return lines, length


def _entry(line: dict[str, Any], folder: str) -> Entry:
    path = os.path.join(folder, str(line["file"]))
    what = line["rows"], line["size"], line["sha256"], line["next"], line.get("total")
    return Entry(line["number"], path, *what)
