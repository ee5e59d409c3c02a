"""The forms of a secret in a program's output: as it is, or encoded by a common tool.

Pure. Imported only when there are secrets to hide, so the encoders may be imported at the top.
"""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from json import dumps
from urllib.parse import quote, quote_plus

# A shorter line or form would match innocent text; only a whole secret may be shorter.
SHORTEST_FORM = 8
# Line lengths of PEM and of MIME and `base64`.
_WRAPS = (64, 76)
# Python's two variants, two of its users', then JavaScript's encodeURIComponent and encodeURI.
_URL_SAFE_SETS = ("", "/", "@", ":/@", "!'()*", "!'()*;,/?:@&=+$#")
# What Go and Gson write as \u escapes although JSON does not require it.
_JSON_HTML_SETS = ("<>&", "<>&='")


def list_forms(secret: str) -> set[bytes]:
    """Return every form to search for: of the secret and of each of its lines of at least 8 bytes."""
    whole = secret.encode("utf-8", "surrogateescape")
    if not whole:
        return set()
    lines = [line for line in whole.splitlines() if len(line) >= SHORTEST_FORM]
    encoded = {form for part in (whole, *lines) for form in _encoded(part) if len(form) >= SHORTEST_FORM}
    return encoded | {whole, *lines}


def _encoded(part: bytes) -> Iterator[bytes]:
    yield from _base64_forms(part)
    yield from _wrapped_base64_forms(part)
    yield from _url_forms(part)
    text = part.decode("utf-8", "surrogateescape")
    for ascii_only in (True, False):
        written = dumps(text, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "surrogateescape")
        if written != part:
            yield from _base64_forms(written)
    yield from _json_forms(text)
    yield from _markup_forms(text)
    yield from _python_forms(text)
    yield from _python_bytes_forms(part)
    yield from _quoted_forms(part)


def _base64_forms(part: bytes) -> Iterator[bytes]:
    """Return the base64 forms of the part inside a longer text, for each of the three offsets.

    Characters shared with neighbouring bytes are unknown and stay (a few bits of the first and the last
    byte), except at the end of the text, where they are known.
    """
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):
            text = encode(b"\0" * before + part)
            first = (before * 8 + 5) // 6
            yield text[first : (before + len(part)) * 8 // 6]
            yield text[first:].rstrip(b"=")
            yield text[first:]


def _wrapped_base64_forms(part: bytes) -> Iterator[bytes]:
    text = b64encode(part)
    for width in _WRAPS:
        lines = [text[at : at + width] for at in range(0, len(text), width)]
        yield from lines
        yield b"\n".join(lines)


def _url_forms(part: bytes) -> Iterator[bytes]:
    quoted = [quote(part, safe=safe) for safe in _URL_SAFE_SETS]
    # Java's URLEncoder leaves the star and quotes the tilde.
    quoted += [quote_plus(part), quote_plus(part, safe="*").replace("~", "%7E")]
    for form in quoted:
        yield form.encode()
        yield re.sub(r"%..", lambda hexadecimal: hexadecimal[0].lower(), form).encode()


def _json_forms(text: str) -> Iterator[bytes]:
    plain = {dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    escaped = plain | {_escape(form, characters) for form in plain for characters in _JSON_HTML_SETS}
    slashed = escaped | {form.replace("/", "\\/") for form in escaped}
    for form in slashed:
        yield form.encode("utf-8", "surrogateescape")
        upper = _UNICODE_ESCAPE.sub(lambda escape: escape[0].upper().replace("U", "u", 1), form)
        yield upper.encode("utf-8", "surrogateescape")


def _markup_forms(text: str) -> Iterator[bytes]:
    """Return the HTML and XML forms, quotes escaped or not."""
    apostrophes = [{'"': "&quot;", "'": mark} for mark in ("&#x27;", "&#39;", "&#039;", "&apos;")]
    for marks in ({}, {'"': "&quot;"}, {'"': "&#34;", "'": "&#39;"}, *apostrophes):
        table = {ord(mark): name for mark, name in ({"&": "&amp;", "<": "&lt;", ">": "&gt;"} | marks).items()}
        form = text.translate(table)
        yield form.encode("utf-8", "surrogateescape")
        yield form.encode("ascii", "xmlcharrefreplace")


def _python_forms(text: str) -> Iterator[bytes]:
    """Return the forms in Python exceptions, in either kind of quotes, and in JSON inside JSON."""
    for show in (repr, ascii):
        shown = show(text + '"')[1:-2]  # then the other quotes are around it, and escaped in it
        yield shown.encode("utf-8", "surrogateescape")
        yield shown.replace("\\'", "'").encode("utf-8", "surrogateescape")
    yield dumps(dumps(text)[1:-1])[1:-1].encode()


def _python_bytes_forms(part: bytes) -> Iterator[bytes]:
    """Return the forms of Python bytes, also inside JSON, and with a shell's octal escapes."""
    shown = repr(part + b'"')[2:-2]
    for form in (shown, shown.replace("\\'", "'")):
        yield form.encode()
        yield dumps(form)[1:-1].encode()
    yield re.sub(rb"[\x80-\xff]", lambda byte: b"\\%03o" % ord(byte[0]), part)


def _quoted_forms(part: bytes) -> Iterator[bytes]:
    """Return the forms in quotes of a shell, of SQL and of CSV."""
    yield part.replace(b"'", b"'\\''")
    yield part.replace(b"'", b"'\"'\"'")
    yield re.sub(rb'[$`"\\]', rb"\\\g<0>", part)  # `export -p`
    yield re.sub(rb"[\x20-\x7e](?<![\w%+./:=@~-])", rb"\\\g<0>", part)  # `printf %q`
    yield part.replace(b"'", b"''")
    yield part.replace(b"\\", b"\\\\").replace(b"'", b"''")  # E'…'
    yield part.replace(b'"', b'""')


# Match an escaped backslash first, so the `u` after it is not read as an escape.
_UNICODE_ESCAPE = re.compile(r"\\\\|\\u[0-9a-f]{4}")


def _escape(form: str, characters: str) -> str:
    return "".join(f"\\u{ord(each):04x}" if each in characters else each for each in form)
