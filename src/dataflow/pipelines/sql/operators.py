"""Literals, and expressions that choose a value: CASE, COALESCE, GREATEST, NULLIF."""

from __future__ import annotations

import re

from sqlglot import exp

from dataflow.pipelines.sql.casting import cast_node, read_beside, to_common, to_text, unify
from dataflow.pipelines.sql.comparison import compare, compares_plainly, sort_key
from dataflow.pipelines.sql.conditions import condition
from dataflow.pipelines.sql.constants import is_null, number_literal
from dataflow.pipelines.sql.types import INTEGER, UNKNOWN, without_length
from dataflow.pipelines.sql.work import Handler, Typed, Work, text_literal


def _literal(work: Work, node: exp.Literal | exp.RawString | exp.ByteString) -> Typed:
    if isinstance(node, exp.Literal) and not node.is_string:
        return number_literal(node.this)
    return Typed(text_literal(node.this), UNKNOWN, node.this)


def _unicode_text(work: Work, node: exp.UnicodeString) -> Typed:
    """U&'…': code points after a backslash, or after the UESCAPE character."""
    given = node.args.get("escape")
    mark = re.escape(given.name if given else "\\")
    code = rf"{mark}(?:({mark})|([0-9a-fA-F]{{4}})|\+([0-9a-fA-F]{{6}}))"
    if re.search(mark, re.sub(code, "", node.this)):
        work.refuse(node, "has an escape that is not followed by 4 hex digits, or by + and 6 hex digits")
    text = re.sub(code, lambda found: found[1] or chr(int(found[2] or found[3], 16)), node.this)
    if re.search(r"[\ud800-\udfff\0]", text):
        work.refuse(node, "contains half of a surrogate pair; write the character itself")
    return Typed(text_literal(text), UNKNOWN, text)


def _paren(work: Work, node: exp.Paren) -> Typed:
    inner = work.expression(node.this)
    # A NULL stays recognizable: PostgreSQL does not compute what is called with it.
    if inner.sql.startswith("(") or is_null(inner):
        return inner
    return Typed(f"({inner.sql})", inner.type, inner.constant)


def _collate(work: Work, node: exp.Collate) -> Typed:
    if node.expression.name not in ("C", "C.UTF-8", "ucs_basic", "pg_c_utf8"):
        work.refuse(node, 'uses a collation that is not supported on Spark; write COLLATE "C" instead')
    value = work.expression(node.this)
    if (value.type.element or value.type).family not in ("text", "unknown"):
        work.refuse(node, f"has a collation for {value.type.postgres}; only text has a collation")
    return value


def _case(work: Work, node: exp.Case) -> Typed:
    tests: list[str] = []
    values: list[Typed] = []
    for branch in node.args["ifs"]:
        earlier = [f"NOT COALESCE({test}, FALSE)" for test in tests]
        with work.holding(guards=[*work.guards, *earlier]):
            test = branch.this
            if node.this is not None:
                test = exp.EQ(this=node.this.copy(), expression=test.copy())
            tests.append(condition(work, test))
        values.append(work.guarded(branch.args["true"], [*earlier, tests[-1]]))
    otherwise = [f"NOT COALESCE({test}, FALSE)" for test in tests]
    values.append(work.guarded(node.args.get("default") or exp.Null(), otherwise))
    # PostgreSQL looks at ELSE first to determine the type.
    last, *values = unify(work, [values[-1], *values[:-1]], node)
    branches = " ".join(f"WHEN {test} THEN {value.sql}" for test, value in zip(tests, values, strict=True))
    return Typed(f"CASE {branches} ELSE {last.sql} END", last.type)


def _coalesce(work: Work, node: exp.Anonymous) -> Typed:
    found: list[Typed] = []
    for part in node.expressions:
        found.append(work.guarded(part, [f"{each.sql} IS NULL" for each in found]))
    values = unify(work, found, node)
    if len(values) == 1:
        return values[0]
    return Typed(f"COALESCE({', '.join(value.sql for value in values)})", values[0].type)


def _extreme(work: Work, node: exp.Anonymous) -> Typed:
    word = node.name.upper()
    values = unify(work, [work.expression(part) for part in node.expressions], node)
    kind = values[0].type
    if len(values) == 1:
        return values[0]
    if compares_plainly(kind):
        return Typed(f"{word}({', '.join(value.sql for value in values)})", kind)
    # Spark compares the text of numbers byte by byte. PostgreSQL takes the first of equal values.
    places = [number if word == "LEAST" else -number for number, _ in enumerate(values)]
    keyed = [
        f"CASE WHEN {value.sql} IS NOT NULL THEN NAMED_STRUCT('k', {sort_key(work, value, node)}, "
        f"'n', {place}, 'v', {value.sql}) END"
        for place, value in zip(places, values, strict=True)
    ]
    return Typed(f"{word}({', '.join(keyed)}).v", kind)


def _nullif(work: Work, node: exp.Anonymous) -> Typed:
    if len(node.expressions) != 2:
        work.refuse(node, "needs two arguments")
    value, other = (work.expression(each) for each in node.expressions)
    value = read_beside(work, value, other.type, node)
    test = compare(work, "=", [value, other], node)
    if value.type.name in ("unknown", "varchar") or (
        value.type.name == "bpchar" and other.type.name not in ("bpchar", "unknown")
    ):
        value = to_text(work, value, node)  # because its = compares text
    elif (value.type.is_integer and other.type.name == "numeric") or (
        value.type.is_exact and other.type.is_float
    ):
        value = to_common(work, value, without_length(unify(work, [value, other], node)[0].type), node)
    return Typed(f"CASE WHEN {test.sql} THEN NULL ELSE {value.sql} END", value.type)


def _count_nulls(work: Work, node: exp.Anonymous) -> Typed:
    word = "NULL" if node.name.lower() == "num_nulls" else "NOT NULL"
    values = [work.expression(each).sql for each in node.expressions]
    if not values:
        work.refuse(node, "needs at least one argument")
    return Typed(f"({' + '.join(f'INT({each} IS {word})' for each in values)})", INTEGER)


HANDLERS: dict[type, Handler] = {
    **dict.fromkeys((exp.Literal, exp.RawString, exp.ByteString), _literal),
    exp.UnicodeString: _unicode_text,
    exp.Null: lambda work, node: Typed("NULL", UNKNOWN),
    exp.Paren: _paren,
    exp.Collate: _collate,
    exp.Column: Work.column,
    exp.Cast: cast_node,
    exp.Case: _case,
}
FUNCTIONS: dict[str, Handler] = {
    "coalesce": _coalesce,
    **dict.fromkeys(("greatest", "least"), _extreme),
    "nullif": _nullif,
    **dict.fromkeys(("num_nulls", "num_nonnulls"), _count_nulls),
}
