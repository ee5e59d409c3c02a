"""JSON bytes to Python values and back, fast or digit for digit.

`parse_quickly` turns fractions into floats; `parse_exactly` keeps the text of each such number as a Number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

import orjson
import pyarrow as pa
import pyarrow.compute as pc

BOM = b"\xef\xbb\xbf"
_INT64_DIGITS = 18  # any number with this many digits fits in 64 bits
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.:@-]+")
# A number whose text may change through a float: long, small, ending in 0, or with an exponent.
_CHANGING = r"[:,\[]\s*-?(?:[0-9.]{17}|0[.]0000|[0-9]+[.][0-9]+0[\s,\]}]|[0-9]+(?:[.][0-9]+)?[eE])"
# Numbers that become 0 only as a float have an exponent of three digits, or very many zeros.
_SMALL = r"[eE]-[0-9]{3,}[\s,\]}]"
_NOUGHTS = b"." + b"0" * 200


class Number(str):
    """The text of a JSON number that a 64-bit integer cannot hold exactly."""

    __slots__ = ()


class NotJson(ValueError):
    """The text is not JSON; the message says where."""


def parse_quickly(text: bytes) -> Any:
    """The value, with fractions as floats; raises ValueError for some texts that parse_exactly accepts."""
    return orjson.loads(text.removeprefix(BOM))


def parse_exactly(text: bytes, constant: Callable[[str], Any] | None = None) -> Any:
    """The value with fractions, exponents and long integers as Number; the last of duplicate keys counts.

    `constant` converts NaN, Infinity and -Infinity; without it they are rejected.
    """
    try:
        return json.loads(
            text.removeprefix(BOM).decode(),
            parse_float=Number,
            parse_int=_integer,
            parse_constant=constant or _refuse,
        )
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise NotJson(f"byte {error.start + 1} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at line {error.lineno}, column {error.colno}") from None


def to_json(value: object) -> bytes:
    """The value as compact JSON, Numbers with their own digits; raises TypeError for lone surrogates."""
    return orjson.dumps(value, _fragment, orjson.OPT_PASSTHROUGH_SUBCLASS)


def keeps_digits(text: bytes, key: str, with_zeros: bool = False) -> bool:
    """True if every number under this key, anywhere in the JSON text, survives conversion to a float.

    A decimal of at most 15 digits without exponent survives the round trip through double precision;
    `with_zeros` also requires its trailing zeros to survive. False means not proven, for example because a
    key may be written with escapes.
    """
    if not _PLAIN_KEY.fullmatch(key):
        return False
    # 15 digits and a point are 16 characters. Without the key's first quote the search is twice as fast;
    # matching a longer key as well only makes the result more conservative. Arrow's expressions (RE2)
    # run several times faster over a page than Python's.
    changing = r"[0-9.]{17}|[0-9.]*[eE]" + (r"|[0-9]+[.][0-9]*0[\s,\]}]" if with_zeros else "")
    long_number = key.replace(".", "[.]") + rf'"\s*:\s*-?(?:{changing})'
    page = pa.array([text], pa.binary())
    return not any(
        pc.match_substring_regex(page, pattern)[0].as_py() for pattern in (long_number, r"\\u00[2-7]")
    )


def keeps_texts(text: bytes) -> bool:
    """True if to_json would write all fractions in the JSON text exactly as they are.

    False means not proven, for example because a string looks like a list of numbers.
    """
    return not pc.match_substring_regex(pa.array([text], pa.binary()), _CHANGING)[0].as_py()


def keeps_zeros(text: bytes) -> bool:
    """True if every float that is 0 is also 0 in the JSON text. False means not proven."""
    has_small = pc.match_substring_regex(pa.array([text], pa.binary()), _SMALL)[0].as_py()
    return not has_small and _NOUGHTS not in text  # one expression for both is forty times slower


def _integer(text: str) -> int | Number:
    return int(text) if len(text) <= _INT64_DIGITS else Number(text)


def _refuse(text: str) -> NoReturn:
    raise NotJson(f"{text} is not a JSON value")


def _fragment(value: object) -> orjson.Fragment:
    if isinstance(value, Number):
        return orjson.Fragment(value.encode())
    raise TypeError(f"{type(value).__name__} is not JSON")
