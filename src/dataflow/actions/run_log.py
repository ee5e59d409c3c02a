"""The log of a run by byte offset, in whole lines: from a place, from the end, or where it contains a text.

Each call reads a bounded number of bytes, so the size of a log does not matter.
"""

from __future__ import annotations

import os
import re

from dataflow.actions.names import get_run
from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.status import RunOutcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from dataflow.config.settings import Config
    from dataflow.model.records import RunRow
    from dataflow.store.store import Store

MOST_BYTES = 1 << 20
"""Bytes that one call returns."""
SEARCHED_BYTES = 32 << 20
"""Bytes that one call searches."""
MOST_FOUND = 200
LONGEST_SHOWN = 1000
"""Bytes of a line that a search shows."""
BLOCK_BYTES = 1 << 20
TROUBLE = (b"error", b"exception", b"traceback", b"fatal", b"failed")
_NO_TROUBLE = re.compile(rb"\b(0|no|without) (errors?|exceptions?|failed|failures?)\b")
FIRST_BYTE = 0xC0
"""The least first byte of a character of several bytes in UTF-8."""


@record
class LogPart:
    """Whole lines of a log from byte `start` to before byte `next`, where the next part begins.

    `message` says why there is no log here. `is_running`: more may be written. A line that is longer than
    the limit is cut.
    """

    run_id: int
    host: str
    is_running: bool
    message: str
    size: int
    start: int
    next: int
    text: str


@record
class FoundLine:
    """A line that contains a text, and the byte at which it begins."""

    start: int
    line: str


@record
class LogSearch:
    """Lines of a log that contain a text; `next` is the byte to go on searching from, None at the end."""

    run_id: int
    message: str
    size: int
    lines: tuple[FoundLine, ...]
    next: int | None


def get_log_path(config: Config, run_id: int) -> str:
    """Return where a run writes its log, on its machine."""
    return os.path.join(config.log_dir, f"{run_id}.log")


def read_log(
    store: Store, config: Config, run_id: int, start: int | None = None, most: int = 1 << 16
) -> LogPart:
    """Return lines of a run's log from byte `start`, or the last lines; UnknownName for an unknown run."""
    if not 1 <= most <= MOST_BYTES:
        raise BadInput(f"A part of a log has 1 to {MOST_BYTES:,} bytes, not {most:,}.")
    if start is not None and start < 0:
        raise BadInput(f"A log has no byte {start:,}. The first is 0.")
    run = get_run(store, run_id)
    running = is_writing(run)  # asked before reading, so that the last lines are not missed
    try:
        with open(get_log_path(config, run_id), "rb") as log:
            size = os.fstat(log.fileno()).st_size
            first = _line_start(log, max(0, size - most)) if start is None else min(start, size)
            text = _whole_lines(log, first, most, size, running)
    except FileNotFoundError:
        message = explain_silence(run, get_log_path(config, run_id), config.host)
        return LogPart(run_id, run.host, running, message, 0, 0, 0, "")
    shown = text.decode("utf-8", "replace")
    return LogPart(run_id, run.host, running, "", size, first, first + len(text), shown)


def search_log(store: Store, config: Config, run_id: int, text: str, start: int = 0) -> LogSearch:
    """Return the next lines of a run's log that contain a text, in any case; at most so many per call."""
    if not text or "\n" in text:
        raise BadInput("Search for a text of one line.")
    run = get_run(store, run_id)
    lines: list[FoundLine] = []
    try:
        with open(get_log_path(config, run_id), "rb") as log:
            size = os.fstat(log.fileno()).st_size
            end = min(size, max(start, 0) + SEARCHED_BYTES)
            for place, line in _matching(log, text.encode().lower(), _line_start(log, max(start, 0)), end):
                if len(lines) == MOST_FOUND:
                    return LogSearch(run_id, "", size, tuple(lines), place)
                lines.append(FoundLine(place, line[:LONGEST_SHOWN].decode("utf-8", "replace")))
            following = log.tell()
    except FileNotFoundError:
        return LogSearch(run_id, explain_silence(run, get_log_path(config, run_id), config.host), 0, (), None)
    return LogSearch(run_id, "", size, tuple(lines), following if following < size else None)


def find_error(store: Store, config: Config, run_id: int, start: int = 0) -> LogSearch:
    """Return the first line of a run's log that tells of an error; `next` as in a search."""
    run = get_run(store, run_id)
    try:
        with open(get_log_path(config, run_id), "rb") as log:
            size = os.fstat(log.fileno()).st_size
            place = _line_start(log, max(start, 0))
            end = min(size, place + SEARCHED_BYTES)
            while place < end:
                lines = _read_block(log, place)
                if (found := _find_trouble(lines)) is not None:
                    shown = lines[found : found + LONGEST_SHOWN].partition(b"\n")[0]
                    line = FoundLine(place + found, shown.decode("utf-8", "replace"))
                    return LogSearch(run_id, "", size, (line,), None)
                place += len(lines)
    except FileNotFoundError:
        return LogSearch(run_id, explain_silence(run, get_log_path(config, run_id), config.host), 0, (), None)
    return LogSearch(run_id, "", size, (), place if place < size else None)


def _find_trouble(lines: bytes) -> int | None:
    """Return where the first line with a word of trouble begins; a line that counts none of it is passed."""
    lowered, at = lines.lower(), 0
    while places := [place for word in TROUBLE if (place := lowered.find(word, at)) >= 0]:
        begin = lowered.rfind(b"\n", 0, min(places)) + 1
        end = lowered.find(b"\n", begin)
        end = len(lowered) if end < 0 else end
        if _NO_TROUBLE.search(lowered, begin, end) is None:
            return begin
        at = end
    return None


def is_writing(run: RunRow) -> bool:
    """Return whether a run may still write; one whose lease has lapsed does not, even if it is RUNNING."""
    return run.outcome is RunOutcome.RUNNING and (run.lease_left_seconds or 0) > 0


def explain_silence(run: RunRow, path: str, host: str) -> str:
    """Explain why a run has no log here."""
    if run.host != host:
        return f"Run {run.run_id} was on {run.host}. Its log is on that machine: {path}"
    state = "has written nothing yet" if run.outcome is RunOutcome.RUNNING else f"ended {run.outcome}"
    detail = f" ({run.reason})" if run.reason else ""
    wrote = "" if run.outcome is RunOutcome.RUNNING else ". It wrote nothing, or its log was deleted"
    return f"Run {run.run_id} of {run.job}/{run.dataid} {state}{detail}{wrote}: {path} does not exist"


def _line_start(log: BinaryIO, place: int) -> int:
    """Return where the first line from a place on begins; the place itself in a very long line."""
    if place == 0:
        return 0
    log.seek(place - 1)
    begin = log.read(MOST_BYTES).find(b"\n")
    return place + begin if begin >= 0 else place


def _whole_lines(log: BinaryIO, start: int, most: int, size: int, running: bool) -> bytes:
    """Return lines from a place on; the last one may lack its end if nobody writes any more."""
    log.seek(start)
    found = log.read(min(most, size - start))
    if start + len(found) == size and not running:
        return found
    end = found.rfind(b"\n") + 1
    if end:
        return found[:end]
    return _whole_characters(found) if len(found) == most else b""


def _whole_characters(cut: bytes) -> bytes:
    """Return the start of a long line, without a part of a character at its end."""
    for back in range(1, min(4, len(cut))):
        byte = cut[-back]
        if byte < FIRST_BYTE:  # ASCII, or a later byte of a character
            continue
        length = 2 + (byte >= 0xE0) + (byte >= 0xF0)
        return cut[:-back] if back < length else cut
    return cut


def _read_block(log: BinaryIO, place: int) -> bytes:
    """Return the next whole lines from a place on, or a part of a very long one."""
    log.seek(place)
    block = log.read(BLOCK_BYTES)
    cut = block.rfind(b"\n") + 1 if len(block) == BLOCK_BYTES else len(block)
    return block[: cut or len(block)]


def _matching(log: BinaryIO, wanted: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with a text between two places, and leave the file behind the last line read."""
    place = start
    while place < end:
        lines = _read_block(log, place)
        lowered, at = lines.lower(), 0
        while (at := lowered.find(wanted, at)) >= 0:
            begin = lines.rfind(b"\n", 0, at) + 1
            finish = lines.find(b"\n", at)
            finish = len(lines) if finish < 0 else finish
            yield place + begin, lines[begin:finish]
            at = finish
        place += len(lines)
    log.seek(place)
