"""Resolves calls to PostgreSQL's functions: its overload rules, applied to our signatures.

What has no signature gets a replacement, for the message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from dataflow.model.record import record
from dataflow.model.wording import did_you_mean
from dataflow.pipelines import pg_functions
from dataflow.pipelines.pg_functions.signatures import ANY, ANY_ARRAY, Signature, list_overloads
from dataflow.pipelines.sql.types import NUMBERS, TIMES

_PREFERRED = ("double", "text", "timestamptz", "boolean", "interval")
_TO_RECORD = ("json_populate_record", "json_to_record", "jsonb_populate_record", "jsonb_to_record")
_TO_RECORDS = ("json_populate_recordset", "jsonb_populate_recordset", "jsonb_to_recordset")
_INSTEAD = {
    "any_value": "write min(…)",
    "array_fill": "write array[…], or string_to_array(repeat(…), …)",
    "bit_xor": "compute it from the single bits",
    "clock_timestamp": "write now()",
    "crosstab": "write sum(…) FILTER (WHERE …) for each column",
    "digest": "write sha256(convert_to(…, 'UTF8')), or md5(…)",
    "json_each": "write jsonb_each(…::jsonb)",
    "json_each_text": "write jsonb_each_text(…::jsonb)",
    "json_object_agg": "write jsonb_object_agg(…)",
    "json_to_recordset": "write (x ->> 'column')::type over jsonb_array_elements(…::jsonb) AS x",
    "row": "list its columns instead",
    "row_to_json": "write to_jsonb(…)",
    "soundex": "compare lower(…), or regexp_replace(…)",
    "to_tsvector": "write ~* with a regular expression",
    "unaccent": "write regexp_replace(normalize(…, NFD), U&'[\\0300-\\036F]', '', 'g')",
    **dict.fromkeys(("crc32", "hashtext"), "write md5(…)"),
    **dict.fromkeys(("current_time", "localtime"), "write to_char(now(), 'HH24:MI:SS')"),
    **dict.fromkeys(("json_object", "jsonb_object"), "write jsonb_build_object(…)"),
    **dict.fromkeys(("quote_literal", "quote_nullable"), "cast its argument to text"),
    **dict.fromkeys(_TO_RECORD, "write (x ->> 'column')::type for each column"),
    **dict.fromkeys(_TO_RECORDS, "write (x ->> 'column')::type over jsonb_array_elements(…) AS x"),
}


@record
class Match:
    """A signature with the types to cast its arguments to, and its return type: an array for a set."""

    signature: Signature
    takes: tuple[str, ...]
    gives: str


@cache
def _signatures() -> dict[str, tuple[Signature, ...]]:
    found: dict[str, list[Signature]] = defaultdict(list)
    for module in iter_modules(pg_functions.__path__, f"{pg_functions.__name__}."):
        for signature in list_overloads(getattr(import_module(module.name), "SIGNATURES", {})):
            found[signature.name].append(signature)
    return {name: tuple(each) for name, each in found.items()}


def list_functions() -> tuple[str, ...]:
    """The names of all functions, without operators."""
    return tuple(sorted(name for name in _signatures() if name[0].isalpha() and name != "cast"))


def instead_of(name: str) -> str:
    """What to write instead of that function or operator, after a semicolon; may be empty."""
    if name.startswith("jsonb_path_") or name in ("@?", "@@"):
        return "; write ->, ->> and jsonb_array_elements instead of a path"
    if name in _INSTEAD:
        return f"; {_INSTEAD[name]}"
    near = "" if name in list_functions() else did_you_mean(name, list_functions())
    return f"; {near.strip()[0].lower()}{near.strip()[1:-1]}" if near else ""


def find_cast(source: str, target: str) -> Signature | None:
    """The cast between two types, by their names in signatures."""
    casts = _signatures().get("cast", ())
    return next((each for each in casts if each.takes == (source,) and each.gives == target), None)


def find_function(name: str, given: tuple[str, ...]) -> Match | None:
    """Return the overload that PostgreSQL would call with these types; None if there is none or several.

    `unknown` is the type of a string literal or a literal NULL.
    """
    best = [
        Match(each, takes, _result(each, takes))
        for each in _signatures().get(name, ())
        if (takes := _fill_in(each, given)) is not None and all(map(is_implied, given, takes))
    ]
    best = _most(best, given, lambda one, other: one == other)
    best = _most(best, given, lambda one, other: one == other or other in _PREFERRED)
    return next(iter(_by_category(best, given)), None)


def _fill_in(signature: Signature, given: tuple[str, ...]) -> tuple[str, ...] | None:
    """A signature's types for that many arguments, `any` replaced; None if they conflict."""
    takes = signature.takes
    if signature.variadic and len(given) >= len(takes):
        takes += (takes[-1],) * (len(given) - len(takes))
    if len(takes) != len(given):
        return None
    if not {ANY, ANY_ARRAY} & set(takes):
        return takes
    element = _find_element(takes, given)
    if element is None:
        return None
    return tuple({ANY: element, ANY_ARRAY: f"{element}[]"}.get(each, each) for each in takes)


def _find_element(takes: tuple[str, ...], given: tuple[str, ...]) -> str | None:
    elements = [
        have.removesuffix("[]") if want == ANY_ARRAY else have
        for want, have in zip(takes, given, strict=True)
        if want in (ANY, ANY_ARRAY) and have != "unknown"
    ]
    if not elements:
        return "text" if ANY in takes and ANY_ARRAY not in takes else None
    widest = elements[0]
    for each in elements[1:]:
        if is_implied(widest, each):
            widest = each
        elif not is_implied(each, widest):
            return None
    arrays = [have for want, have in zip(takes, given, strict=True) if want == ANY_ARRAY]
    return widest if all(have in ("unknown", f"{widest}[]") for have in arrays) else None


def _result(signature: Signature, takes: tuple[str, ...]) -> str:
    gives = signature.gives
    if gives in (ANY, ANY_ARRAY):
        place = next(number for number, each in enumerate(signature.takes) if each in (ANY, ANY_ARRAY))
        gives = gives.replace(ANY, takes[place].removesuffix("[]"))
    return f"{gives}[]" if signature.is_set else gives


def is_implied(source: str, target: str) -> bool:
    """Whether PostgreSQL casts one type to the other implicitly."""
    if source in (target, "unknown"):
        return True
    if source.endswith("[]") and target.endswith("[]"):
        return is_implied(source[:-2], target[:-2])
    for ladder in (NUMBERS, TIMES):
        if source in ladder and target in ladder:
            return ladder.index(source) < ladder.index(target)
    return False


def _most(candidates: list[Match], given: tuple[str, ...], counts: Callable[[str, str], bool]) -> list[Match]:
    scores = [
        sum(have != "unknown" and counts(have, want) for have, want in zip(given, each.takes, strict=True))
        for each in candidates
    ]
    return [each for each, score in zip(candidates, scores, strict=True) if score == max(scores)]


def _by_category(candidates: list[Match], given: tuple[str, ...]) -> list[Match]:
    """For a string literal PostgreSQL prefers the type of the other arguments, then text."""
    for place in (place for place, have in enumerate(given) if have == "unknown"):
        for preferred in (given, ("text",), _PREFERRED):
            if found := [each for each in candidates if each.takes[place] in preferred]:
                candidates = found
                break
    return candidates
