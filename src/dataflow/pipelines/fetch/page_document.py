"""The JSON document of a page: measured before parsing, parsed, and searched by dotted keys."""

from __future__ import annotations

import re
from typing import Any

from dataflow.errors import FetchError
from dataflow.model.record import record
from dataflow.pipelines.fetch.address import Address
from dataflow.pipelines.fetch.client import HttpAnswer
from dataflow.pipelines.shape.json_text import NotJson, parse_exactly, parse_quickly

_LONGEST_SHOWN_KEY = 50
# Approximate memory of an object, a list, and a value after a comma; and the maximum for one byte.
_OBJECT_BYTES, _LIST_BYTES, _VALUE_BYTES = 200, 100, 100
_MOST_FOR_A_BYTE = 101  # `{},`
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
# A character above U+FFFF: in UTF-8, or the first half of it as an escape.
_EMOJI = re.compile(rb"[\xf0-\xf4]|\\u[dD][89abAB]")
_CONTINUATION = bytes(range(0x80, 0xC0))
_CONSTANT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|-?Infinity|NaN', re.DOTALL)


class _Constant(str):
    """NaN, Infinity or -Infinity: not JSON, but written by some sources."""

    __slots__ = ()


@record
class Reading:
    """How pages are read: where the rows are, how much memory they may take, and how NaN is handled."""

    results: str
    memory_bytes: int
    nan: str = ""  # "null": NULL; otherwise it is rejected


def parse_document(answer: HttpAnswer, reading: Reading) -> tuple[Any, bytes]:
    """The document, and its text without NaN; FetchError when it is not JSON."""
    body = answer.body.data
    try:
        return parse_quickly(body), body
    except ValueError as wrong:
        return _parse_slowly(answer, reading, str(wrong))


def get_value(document: Any, dotted: str, address: Address, may_be_missing: bool = False) -> Any:
    """The value under a dotted key; the empty key is the whole document.

    If the key is missing: None if it may be, otherwise FetchError.
    """
    value = document
    for key in dotted.split(".") if dotted else ():
        if not isinstance(value, dict) or key not in value:
            if may_be_missing:
                return None
            raise FetchError(f"The page at {address} has no {dotted!r}: {_found(value)}.")
        value = value[key]
    return value


def kind_of(value: Any) -> str:
    """JSON's name for the type of a value."""
    kinds = {dict: "JSON object", list: "list", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")


def check_memory(body: bytes, address: Address, most: int) -> None:
    """Raise FetchError for a page that needs too much memory: 260 kB of gzip can become gigabytes.

    Characters inside strings count as well, so the bytes need not be parsed.
    """
    if len(body) * _MOST_FOR_A_BYTE <= most:
        return
    lists = body.count(b"[") * _LIST_BYTES
    needed = len(body) + lists + body.count(b"{") * _OBJECT_BYTES + body.count(b",") * _VALUE_BYTES
    if needed <= most < needed + 3 * len(body):
        needed += _count_wide_bytes(body)
    if needed > most:
        raise FetchError(
            f"The page at {address} would take about {needed >> 20:,} MiB of memory, more than the limit of "
            f"{most >> 20:,} MiB: it has {body.count(b'{'):,} objects. Request fewer rows per page, or "
            "raise the source's page_memory_bytes."
        )


def _count_wide_bytes(body: bytes) -> int:
    """Memory of strings beyond their bytes: in a string with an emoji every character takes four."""
    if not _EMOJI.search(body):
        return 0
    texts = (found[0] for found in _TEXT.finditer(body) if _EMOJI.search(found[0]))
    return sum(max(0, 4 * len(text.translate(None, _CONTINUATION)) - len(text)) for text in texts)


def _parse_slowly(answer: HttpAnswer, reading: Reading, reason: str) -> tuple[Any, bytes]:
    """Parse what the fast parser refuses, such as very large numbers; FetchError says why it fails."""
    address, body = answer.address, answer.body.data
    if body.lstrip()[:1] == b"<":
        raise FetchError(
            f"{address} returned HTML instead of JSON, with status 200: perhaps a login or "
            "maintenance page. Open it in a browser, or check the source's URL and credentials."
        )
    _check_encoding(answer)
    constants: list[str] = []

    def keep(name: str) -> _Constant:
        constants.append(name)
        return _Constant(name)

    try:
        document = parse_exactly(body, keep)
        if constants and reading.nan == "null":
            body = _CONSTANT.sub(lambda found: found[0] if found[0][:1] == b'"' else b"null", body)
            document = parse_exactly(body)
    except NotJson:
        raise FetchError(
            f"The page at {address} ({len(body):,} bytes) is not a complete JSON document: {reason}."
        ) from None
    if constants and reading.nan != "null":
        where = _locate(document, reading.results, address)
        raise FetchError(
            f"The page at {address} has {constants[0]}{where}, which is not JSON. To load such values as "
            'NULL set nan="null" on the source, or have it write null.'
        )
    return document, body


def _check_encoding(answer: HttpAnswer) -> None:
    """Raise FetchError for a page that is not UTF-8, naming its encoding if known."""
    body = answer.body.data
    advice = (
        'JSON must be UTF-8: ask the source for it, for example with headers={"Accept-Charset": "utf-8"}.'
    )
    if body[:2] in (b"\xff\xfe", b"\xfe\xff") or 0 in body[:4]:
        is_wide = body[:4].count(0) == 3 or body[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
        name = "UTF-32" if is_wide else "UTF-16"
        raise FetchError(f"The page at {answer.address} is {name}, not UTF-8. {advice}")
    try:
        body.decode()
    except UnicodeDecodeError as wrong:
        named = re.search(r"charset\s*=\s*\"?([\w.:-]+)", answer.content_type, re.IGNORECASE)
        told = f"its Content-Type says {named[1]}" if named else "perhaps it is Latin-1 or Windows-1252"
        raise FetchError(
            f"The page at {answer.address} is not UTF-8: its byte {wrong.start + 1:,} is "
            f"0x{body[wrong.start]:02X}; {told}. {advice}"
        ) from None


def _locate(document: Any, results: str, address: Address) -> str:
    """Location of the first such constant, if it is in a row: ` in row 3, field "price"`."""
    rows = get_value(document, results, address, may_be_missing=True)
    for number, row in enumerate(rows if isinstance(rows, list) else (), start=1):
        fields = row.items() if isinstance(row, dict) else [("", row)]
        for name, value in fields:
            if _holds_constant(value):
                return f" in row {number}" + (f", field {name!r}" if name else "")
    return ""


def _holds_constant(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_constant, value.values() if isinstance(value, dict) else value))
    return isinstance(value, _Constant)


def _found(value: Any) -> str:
    if not isinstance(value, dict):
        return f"found a {kind_of(value)}"
    # A long key is not shortened: part of a secret would not be recognised as one.
    names = ", ".join(
        repr(key) if len(key) <= _LONGEST_SHOWN_KEY else f"a key of {len(key):,} characters"
        for key in list(value)[:10]
    )
    return f"its keys are {names}" if names else "it is an empty object"
