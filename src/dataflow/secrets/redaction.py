"""Removes secrets from streamed output, however it is split into pieces.

Works on bytes, because output may not be text. What a secret looks like is in `forms`.
Line ends are ignored: an encoder may have inserted one anywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

MASK = b"***"
_LINE_ENDS = b"\r\n"
# A shorter form is not searched across line ends: too much innocent text would match.
_SHORTEST_FOLDED = 8
# Forms with the same first bytes, this many, are searched together.
_SHARED_BYTES = 12
_HEAD_BYTES = 4
# A text that was cut, in quotes or not; only what is short enough to be a message is looked through for them.
_CUT = re.compile(rb"[\"']?\xe2\x80\xa6")
_LONGEST_MESSAGE = 1 << 16
_LEAST_CUT_BYTES = 3
# The beginning of a form is held back over this many line ends per byte, so that what is held stays small.
_LINE_ENDS_PER_BYTE = 8


class Redactor:
    """Replaces every occurrence of the secrets, in any of their forms, by `***`.

    One instance per stream: `new_stream` gives another that shares the forms. Occurrences that overlap become
    one `***`, so nothing is left of either. A secret of any length is hidden, even one that `encrypt` would
    refuse as too short.
    """

    __slots__ = ("_covered", "_forms", "_pending")

    def __init__(self, secrets: Iterable[str] = (), *, _forms: _Forms | None = None) -> None:
        self._forms = _forms or _compile(secrets)
        self._pending = b""
        self._covered = 0

    def new_stream(self) -> Redactor:
        """Return a redactor of the same secrets for another stream."""
        return Redactor(_forms=self._forms)

    def feed(self, data: bytes) -> bytes:
        """Take the next piece and return all that can no longer become part of a secret."""
        forms = self._forms
        if not forms.longest:
            return data
        buffer = _Buffer(self._pending + data if self._pending else data)
        return self._emit(buffer, forms.get_hold(buffer))

    def flush(self) -> bytes:
        """Return what was held back; the stream has ended."""
        return self._emit(_Buffer(self._pending), len(self._pending))

    def redact(self, data: bytes) -> bytes:
        """Return `data` without secrets, independent of any stream."""
        return self.new_stream()._emit(_Buffer(data), len(data)) if self._forms.longest else data

    def redact_text(self, text: str) -> str:
        """Return a message without secrets, or the start of one before a `…`."""
        if not self._forms.longest:
            return text
        try:
            data = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            # Half a surrogate pair, as JSON may contain: it must not lose the message.
            data = text.encode("utf-8", "backslashreplace")
        spans = self._forms.list_cut_spans(data) if len(data) <= _LONGEST_MESSAGE else []
        return self.new_stream()._emit(_Buffer(data), len(data), spans).decode("utf-8", "surrogateescape")

    def _emit(self, whole: _Buffer, hold: int, cut: list[tuple[int, int]] | None = None) -> bytes:
        """Return what was read up to `hold`, masked, and keep the rest.

        `_covered` counts the kept bytes that belong to an occurrence whose mask was given already; `cut` are
        spans to be masked besides.
        """
        spans = sorted([*self._forms.list_spans(whole), *(cut or ())])
        buffer = whole.data
        if not spans and not self._covered and hold == len(buffer):
            self._pending = b""
            return buffer
        output: list[bytes] = []
        at = self._covered
        for start, end in spans:
            if start >= hold:
                break
            if start >= at:
                output += (buffer[at:start], MASK)
            at = max(at, end)
        output.append(buffer[at:hold])
        self._pending = buffer[hold:]
        self._covered = max(at - hold, 0)
        return b"".join(output)


class _Buffer:
    """The input, also as one line, and the positions of that line in the input."""

    __slots__ = ("_breaks", "data", "line")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.line = data.translate(None, _LINE_ENDS)
        self._breaks: list[int] | None = None

    def place_of(self, at: int) -> int:
        """Return the position in the input of a byte of the line."""
        if self._breaks is None:  # Only output that contains something like a secret needs this.
            ends = re.finditer(rb"[\r\n]", self.data)
            self._breaks = [end.start() - before for before, end in enumerate(ends)]
        return at + bisect_right(self._breaks, at)

    def place_near_end(self, size: int) -> int:
        """Return where the last `size` bytes of the line start in the input, or later."""
        at = len(self.data)
        first = max(0, at - size * (1 + _LINE_ENDS_PER_BYTE))
        while size and at > first:
            at -= 1
            size -= self.data[at] not in _LINE_ENDS
        return at


class _Forms:
    """All forms of some secrets, arranged for searching; never changes, so streams may share it."""

    __slots__ = ("_groups", "_heads", "_short", "_sorted", "longest")

    def __init__(self, forms: Iterable[bytes]) -> None:
        given = set(forms)
        self._sorted = sorted({form.translate(None, _LINE_ENDS) for form in given} - {b""})
        self._groups = list(_group([form for form in self._sorted if len(form) >= _SHORTEST_FOLDED]))
        self._short = [form for form in {*given, *self._sorted} if 0 < len(form) < _SHORTEST_FOLDED]
        self._heads = {form[:size] for form in self._sorted for size in range(1, _HEAD_BYTES + 1)}
        self.longest = max(map(len, self._sorted), default=0)

    def list_spans(self, buffer: _Buffer) -> list[tuple[int, int]]:
        """Return where the forms occur, including overlaps of different forms."""
        spans: list[tuple[int, int]] = []
        line = buffer.line
        # One bytes.find per group is two to five times faster than one regular expression of alternatives.
        for anchor, forms in self._groups:
            at = line.find(anchor)
            if at >= 0:
                found = [run for form in forms for run in _list_runs(line, form, at)]
                spans += [(buffer.place_of(start), buffer.place_of(end - 1) + 1) for start, end in found]
        for form in self._short:
            spans += _list_runs(buffer.data, form, 0)
        return spans

    def list_cut_spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return where a message shows the start of a form and cuts off the rest."""
        ends = [found.start() for found in _CUT.finditer(data)]
        holds = [(self.get_hold(_Buffer(data[max(0, end - 2 * self.longest) : end])), end) for end in ends]
        starts = [(max(0, end - 2 * self.longest) + hold, end) for hold, end in holds]
        return [(start, end) for start, end in starts if end - start >= _LEAST_CUT_BYTES]

    def get_hold(self, buffer: _Buffer) -> int:
        """Return the start of the longest suffix that may become a form; the end if there is none."""
        heads, line = self._heads, buffer.line
        for at in range(max(0, len(line) - self.longest + 1), len(line)):
            if line[at : at + _HEAD_BYTES] in heads and self._begins_a_longer_form(line[at:]):
                return buffer.place_near_end(len(line) - at)
        return len(buffer.data)

    def _begins_a_longer_form(self, text: bytes) -> bool:
        # Forms that begin with `text` stand together in sorted order, right behind `text` itself.
        after = bisect_left(self._sorted, text + b"\0")
        return after < len(self._sorted) and self._sorted[after].startswith(text)


def _compile(secrets: Iterable[str]) -> _Forms:
    given = list(secrets)
    if not given:
        return _Forms(())
    # Imported here for start-up: the encoders are needed only when there is something to hide.
    from dataflow.secrets.forms import list_forms

    return _Forms(set().union(*map(list_forms, given)))


def _list_runs(text: bytes, form: bytes, at: int) -> list[tuple[int, int]]:
    """Return where a form occurs; overlapping occurrences count as one.

    Each second step goes on by the form's length or more: a text that is full of a form such as `aaaaaaaa`
    takes no step per byte.
    """
    runs: list[tuple[int, int]] = []
    size = len(form)
    start = last = text.find(form, at)
    while last >= 0:
        # The last occurrence that overlaps this one; those between them are covered by the two.
        following = text.rfind(form, last + 1, last + 2 * size - 1)
        if following < 0:
            runs.append((start, last + size))
            start = following = text.find(form, last + size)
        last = following
    return runs


def _group(forms: list[bytes]) -> Iterator[tuple[bytes, list[bytes]]]:
    """Return groups of sorted forms, each with its common prefix."""
    groups: dict[bytes, list[bytes]] = {}
    for form in forms:
        groups.setdefault(form[:_SHARED_BYTES], []).append(form)
    for members in groups.values():
        yield _shared_beginning(members[0], members[-1]), members


def _shared_beginning(first: bytes, last: bytes) -> bytes:
    size = 0
    while first[size : size + 1] == last[size : size + 1] and size < len(first):
        size += 1
    return first[:size]
