"""The Link header (RFC 8288): where its relation `next` leads. No network here."""

from __future__ import annotations

import re

# A target in angle brackets, then parameters: a name, and after `=` a token or a quoted text.
_LINK = re.compile(r"[\s,]*<([^<>]*)>\s*")
_PARAMETER = re.compile(r';\s*(?:([^\s=;,"<>]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^\s;,"]*))?)?\s*')


class BadLink(ValueError):
    """A Link header that is not of the standard's form."""


def list_targets(header: str, relation: str) -> list[tuple[str, str]]:
    """The targets of the links of this relation, each with its anchor ("" without one); BadLink."""
    found = []
    place = 0
    while header[place:].strip(" \t,"):
        link = _LINK.match(header, place)
        if link is None:
            raise BadLink
        parameters: dict[str, str] = {}
        place = link.end()
        while (parameter := _PARAMETER.match(header, place)) and header[place : place + 1] == ";":
            # Of a repeated parameter the first counts.
            parameters.setdefault((parameter[1] or "").lower(), _plain(parameter[2] or ""))
            place = parameter.end()
        if place < len(header) and header[place] != ",":
            raise BadLink
        if relation in parameters.get("rel", "").lower().split():
            found.append((link[1], parameters.get("anchor", "")))
    return found


def _plain(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
