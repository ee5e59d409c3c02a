"""Takes secrets out of output as it streams by, whichever way it is cut into pieces.

Works on bytes, because a program may write what is no text. What a secret looks like is in `forms`. It is
looked for as if there were no line ends: an encoder may have put one into the middle of it, at any place.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MASK = b"***"
_LINE_ENDS = b"\r\n"
# A form shorter than this is not looked for across line ends: too much innocent text would be one.
_SHORTEST_FOLDED = 8
# Forms that begin with the same bytes, this many, are looked for together.
_SHARED_BYTES = 12
_HEAD_BYTES = 4


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
        """Give a redactor of the same secrets for another stream."""
        return Redactor(_forms=self._forms)

    def feed(self, data: bytes) -> bytes:
        """Take the next piece and give all that can no longer become part of a secret."""
        forms = self._forms
        if not forms.longest:
            return data
        buffer = _Buffer(self._pending + data if self._pending else data)
        return self._emit(buffer, forms.get_hold(buffer))

    def flush(self) -> bytes:
        """Give what was held back; the stream has ended and nothing follows."""
        return self._emit(_Buffer(self._pending), len(self._pending))

    def redact(self, data: bytes) -> bytes:
        """Give `data` without secrets; it stands alone and no stream is touched."""
        return self.new_stream()._emit(_Buffer(data), len(data)) if self._forms.longest else data

    def redact_text(self, text: str) -> str:
        """Give a message without secrets."""
        if not self._forms.longest:
            return text
        try:
            data = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            # Half a surrogate pair, as JSON may hold: a message is never lost for that.
            data = text.encode("utf-8", "backslashreplace")
        return self.redact(data).decode("utf-8", "surrogateescape")

    def _emit(self, whole: _Buffer, hold: int) -> bytes:
        """Give what was read up to `hold`, masked, and keep the rest.

        `_covered` counts the kept bytes that belong to an occurrence whose mask was given already.
        """
        spans = self._forms.list_spans(whole)
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
    """What was read, also as one line, and where a place in that line is in what was read."""

    __slots__ = ("_breaks", "data", "line")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.line = data.translate(None, _LINE_ENDS)
        self._breaks: list[int] | None = None

    def place_of(self, at: int) -> int:
        """Where the byte at that place of the line is in what was read."""
        if self._breaks is None:  # Only output with something like a secret in it pays for this.
            ends = re.finditer(rb"[\r\n]", self.data)
            self._breaks = [end.start() - before for before, end in enumerate(ends)]
        return at + bisect_right(self._breaks, at)

    def place_near_end(self, size: int) -> int:
        """Where the last so many bytes of the line begin in what was read, found quicker if few."""
        at = len(self.data)
        while size:
            at -= 1
            size -= self.data[at] not in _LINE_ENDS
        return at

    def span_of(self, at: int, form: bytes) -> list[tuple[int, int]]:
        """Where a form found in the line is in what was read; empty if it is too short to be folded."""
        start, end = self.place_of(at), self.place_of(at + len(form) - 1) + 1
        return [(start, end)] if len(form) >= _SHORTEST_FOLDED or end - start == len(form) else []


class _Forms:
    """All forms of some secrets, arranged for searching; never changes, so streams may share it."""

    __slots__ = ("_groups", "_heads", "_sorted", "longest")

    def __init__(self, forms: Iterable[bytes]) -> None:
        self._sorted = sorted({form.translate(None, _LINE_ENDS) for form in forms} - {b""})
        self._groups = list(_group(self._sorted))
        self._heads = {form[:size] for form in self._sorted for size in range(1, _HEAD_BYTES + 1)}
        self.longest = max(map(len, self._sorted), default=0)

    def list_spans(self, buffer: _Buffer) -> list[tuple[int, int]]:
        """Give where the forms occur, in order of start; overlaps included."""
        spans: list[tuple[int, int]] = []
        line = buffer.line
        # One bytes.find per group is two to five times faster than one regular expression of alternatives.
        for anchor, forms in self._groups:
            at = line.find(anchor)
            while at >= 0:
                found = (buffer.span_of(at, form) for form in forms if line.startswith(form, at))
                spans += next(filter(None, found), [])
                at = line.find(anchor, at + 1)
        spans.sort()
        return spans

    def get_hold(self, buffer: _Buffer) -> int:
        """Give where the longest suffix begins that may become a form; the end when there is none."""
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


def _group(forms: list[bytes]) -> Iterator[tuple[bytes, tuple[bytes, ...]]]:
    """Give groups of sorted forms, each with the beginning they share; longest first within a group."""
    groups: dict[bytes, list[bytes]] = {}
    for form in forms:
        groups.setdefault(form[:_SHARED_BYTES], []).append(form)
    for members in groups.values():
        yield _shared_beginning(members[0], members[-1]), tuple(sorted(members, key=len, reverse=True))


def _shared_beginning(first: bytes, last: bytes) -> bytes:
    size = 0
    while first[size : size + 1] == last[size : size + 1] and size < len(first):
        size += 1
    return first[:size]
