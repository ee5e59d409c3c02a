"""The staging folder of one run: part files as received, and the manifest from which the next run resumes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

from dataflow.errors import BadInput, FetchError
from dataflow.pipelines.fetch.part_list import (
    Entry,
    Manifest,
    append_line,
    cut_manifest,
    entry_line,
    read_manifest,
)
from dataflow.pipelines.handover.records import Part
from dataflow.private_files import make_private_folder, open_private

SETTLED_SECONDS = 600
"""A part written this long before the last one is certainly on disk. After a power cut a later one may have
the right size and arbitrary content, since writes are not synced."""


class Staging:
    """Parts fetched by this run, or by earlier runs that it continues; for one thread."""

    def __init__(self, folder: str, fingerprint: str) -> None:
        """Open the folder, creating it if missing, and load its manifest."""
        self.folder = os.path.abspath(folder)
        self._fingerprint = fingerprint
        make_private_folder(self.folder)
        found = read_manifest(self.folder)
        if found and found.fingerprint != fingerprint:
            raise BadInput(f"Staging folder {self.folder} belongs to another source: use one folder per run.")
        self.entries: list[Entry] = list(found.entries) if found else []
        self.complete = bool(found and found.complete)
        self.closed = found.closed if found else ""
        if found:
            # An incomplete line may follow the complete ones; the next line must not be appended to it.
            cut_manifest(self.folder, found.length)
        else:
            self._start()

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
            found = read_manifest(folder)
            if found and (found.closed or (found.complete and not same_call)):
                # Including parts taken over from others: otherwise the next run would resume from those.
                closed |= _paths(found)
            elif found:
                open_ones.append(found)
        usable = [each for each in map(self._usable, open_ones) if each and not closed & _paths(each)]
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
        entry = Entry(number, path, rows, len(body), sha256, following, total)
        try:
            _write_whole(path, body)
            self._record(entry)
        except OSError as wrong:
            raise FetchError(
                f"Page {number} cannot be written to the staging folder {self.folder}: {wrong.strerror}."
                + (" The earlier pages are kept; free disk space and run it again." if number > 1 else "")
            ) from wrong
        return as_part(entry)

    def finish(self) -> None:
        """Record that all pages are staged."""
        if not self.complete:
            rows, size = sum(each.rows for each in self.entries), sum(each.size for each in self.entries)
            append_line(
                self.folder, {"complete": True, "parts": len(self.entries), "rows": rows, "size": size}
            )
            self.complete = True

    def close(self, reason: str) -> None:
        """Record that no later run may resume from here, nor from the runs that this one continued."""
        append_line(self.folder, {"closed": reason or "closed"})
        self.closed = reason or "closed"

    def list_parts(self) -> list[Part]:
        """The finished parts, in order."""
        return [as_part(entry) for entry in self.entries]

    def read(self, index: int) -> bytes:
        """The content of a finished part, counted from 0."""
        with open(self.entries[index].path, "rb") as file:
            return file.read()

    def _start(self) -> None:
        cut_manifest(self.folder, 0)
        append_line(self.folder, {"fingerprint": self._fingerprint, "format": 1})

    def _record(self, entry: Entry) -> None:
        append_line(self.folder, entry_line(entry, self.folder))
        self.entries.append(entry)

    def _usable(self, manifest: Manifest) -> Manifest | None:
        """The part of an earlier run's manifest that can be resumed."""
        if manifest.fingerprint != self._fingerprint:
            return None
        whole: list[Entry] = []
        since = max(map(_written_at, manifest.entries), default=0.0) - SETTLED_SECONDS
        for entry in manifest.entries:
            if entry.number != len(whole) + 1 or not _is_whole(entry, since):
                break
            whole.append(entry)
        complete = manifest.complete and len(whole) == len(manifest.entries)
        return Manifest(manifest.fingerprint, tuple(whole), complete, "", manifest.length)


def as_part(entry: Entry) -> Part:
    """A manifest entry as the pipeline's part record."""
    return Part(entry.number, entry.path, entry.rows, entry.size)


def _write_whole(path: str, body: bytes) -> None:
    unfinished = f"{path}.{os.getpid()}.tmp"
    with open(unfinished, "wb", buffering=0, opener=open_private) as file:
        view = memoryview(body)
        while view:
            view = view[file.write(view) :]
    os.rename(unfinished, path)


def _paths(manifest: Manifest) -> set[str]:
    return {entry.path for entry in manifest.entries}


def _written_at(entry: Entry) -> float:
    try:
        return os.stat(entry.path).st_mtime
    except OSError:
        return 0.0


def _is_whole(entry: Entry, since: float) -> bool:
    """True if the part exists with its size and, if written after that time, with its content."""
    try:
        with open(entry.path, "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_size != entry.size or found.st_mtime < since:
                return found.st_size == entry.size
            return hashlib.file_digest(file, "sha256").hexdigest() == entry.sha256
    except OSError:
        return False
