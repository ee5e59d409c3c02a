"""The staging folder of one run: part files as received, and the manifest from which the next run resumes.

The manifest has one JSON line per finished part and is readable after a crash at any byte.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any, BinaryIO

import orjson

from dataflow.errors import BadInput, FetchError
from dataflow.model.record import record
from dataflow.pipelines.handover.records import Part
from dataflow.private_files import make_private_folder, open_private

MANIFEST = "manifest.jsonl"
SETTLED_SECONDS = 600
"""A part written this long before the last one is certainly on disk. After a power cut a later one may have
the right size and arbitrary content, since writes are not synced."""


@record
class StagedPage:
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

    @property
    def part(self) -> Part:
        """The page as the pipeline's part record."""
        return Part(self.number, self.path, self.rows, self.size)


@record
class PageManifest:
    """Content of a folder's manifest; `length` is the size of its complete lines in bytes."""

    fingerprint: str
    entries: tuple[StagedPage, ...] = ()
    complete: bool = False
    closed: str = ""
    length: int = 0

    @property
    def paths(self) -> set[str]:
        """The paths of its parts."""
        return {entry.path for entry in self.entries}


class Staging:
    """Parts fetched by this run, or by earlier runs that it continues; for one thread."""

    def __init__(self, folder: str, fingerprint: str) -> None:
        """Open the folder, creating it if missing, and load its manifest."""
        self.folder = os.path.abspath(folder)
        self._fingerprint = fingerprint
        make_private_folder(self.folder)
        found = read_page_manifest(self.folder) or PageManifest("")
        if found.length and found.fingerprint != fingerprint:
            raise BadInput(f"Staging folder {self.folder} belongs to another source: use one folder per run.")
        self.entries, self.complete, self.closed = list(found.entries), found.complete, found.closed
        with self._open() as file:
            # An incomplete line may follow the complete ones; the next line must not be appended to it.
            file.truncate(found.length)
        if not found.length:
            self._append({"fingerprint": fingerprint, "format": 1})

    def continue_from(self, earlier_folders: Mapping[str, bool]) -> int:
        """Take over the parts of the earlier run of this work that got furthest; returns the number of parts.

        False beside a folder means the work was requested again since. An incomplete fetch is continued,
        but a complete one is repeated. The files stay where they are. An earlier run
        that is still writing does no harm: its folder is read only once.
        """
        if self.entries or self.complete:
            return 0
        open_ones, closed = [], set()
        for folder, same_call in earlier_folders.items():
            found = read_page_manifest(folder)
            if found and (found.closed or (found.complete and not same_call)):
                # Including parts taken over from others: otherwise the next run would resume from those.
                closed |= found.paths
            elif found:
                open_ones.append(found)
        usable = [each for each in map(self._usable, open_ones) if each and not closed & each.paths]
        best = max(usable, key=lambda each: (each.complete, len(each.entries)), default=None)
        for entry in best.entries if best else ():
            self._record(entry)
        if best and best.complete:
            self.finish()
        return len(self.entries)

    @property
    def total(self) -> int | None:
        """Row count of the source according to its latest page; None where it is not stated."""
        return self.entries[-1].total if self.entries else None

    def add(
        self, body: bytes, sha256: str, rows: int, following: str | int | None, total: int | None = None
    ) -> Part:
        """Write the next part atomically, then its manifest line."""
        number = len(self.entries) + 1
        path = os.path.join(self.folder, f"part-{number:08d}.json")
        entry = StagedPage(number, path, rows, len(body), sha256, following, total)
        try:
            unfinished = f"{path}.{os.getpid()}.tmp"
            with open(unfinished, "wb", opener=open_private) as file:
                file.write(body)
            os.rename(unfinished, path)
            self._record(entry)
        except OSError as wrong:
            raise FetchError(
                f"Page {number} cannot be written to the staging folder {self.folder}: {wrong.strerror}."
                + (" The earlier pages are kept; free disk space and run it again." if number > 1 else "")
            ) from wrong
        return entry.part

    def finish(self) -> None:
        """Record that all pages are staged."""
        if not self.complete:
            self._append({"complete": True})
            self.complete = True

    def close(self, reason: str) -> None:
        """Record that no later run may resume from here, nor from the runs that this one continued."""
        self.closed = reason or "closed"
        self._append({"closed": self.closed})

    def list_parts(self) -> list[Part]:
        """The finished parts, in order."""
        return [entry.part for entry in self.entries]

    def read(self, index: int) -> bytes:
        """The content of a finished part, counted from 0."""
        with open(self.entries[index].path, "rb") as file:
            return file.read()

    def _open(self) -> BinaryIO:
        """The manifest for appending; readable by the owner only, since a next URL can hold a secret."""
        return open(os.path.join(self.folder, MANIFEST), "ab", buffering=0, opener=open_private)

    def _append(self, line: dict[str, Any]) -> None:
        with self._open() as file:
            file.write(orjson.dumps(line) + b"\n")  # one write: at most the last line is incomplete

    def _record(self, entry: StagedPage) -> None:
        facts = {name: getattr(entry, name) for name in ("number", "rows", "size", "sha256", "next", "total")}
        # A file in the manifest's own folder is stored by its bare name.
        is_own = os.path.dirname(entry.path) == self.folder
        self._append(facts | {"file": os.path.basename(entry.path) if is_own else entry.path})
        self.entries.append(entry)

    def _usable(self, manifest: PageManifest) -> PageManifest | None:
        """The part of an earlier run's manifest that can be resumed."""
        if manifest.fingerprint != self._fingerprint:
            return None
        whole: list[StagedPage] = []
        since = max(map(_written_at, manifest.entries), default=0.0) - SETTLED_SECONDS
        for entry in manifest.entries:
            if entry.number != len(whole) + 1 or not _is_whole(entry, since):
                break
            whole.append(entry)
        complete = manifest.complete and len(whole) == len(manifest.entries)
        return PageManifest(manifest.fingerprint, tuple(whole), complete, "", manifest.length)


def read_page_manifest(folder: str) -> PageManifest | None:
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
    return PageManifest(lines[0]["fingerprint"], entries, complete, closed, length)


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


def _entry(line: dict[str, Any], folder: str) -> StagedPage:
    path = os.path.join(folder, str(line["file"]))
    what = line["rows"], line["size"], line["sha256"], line["next"], line.get("total")
    return StagedPage(line["number"], path, *what)


def _written_at(entry: StagedPage) -> float:
    try:
        return os.stat(entry.path).st_mtime
    except OSError:
        return 0.0


def _is_whole(entry: StagedPage, since: float) -> bool:
    """True if the part exists with its size and, if written after that time, with its content."""
    try:
        with open(entry.path, "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_size != entry.size or found.st_mtime < since:
                return found.st_size == entry.size
            return hashlib.file_digest(file, "sha256").hexdigest() == entry.sha256
    except OSError:
        return False
