"""Functions and operators on text and arrays."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.casting import cast, to_text, unify
from dataflow.pipelines.sql.patterns import translate_pattern
from dataflow.pipelines.sql.types import BOOLEAN, INTEGER, INTEGERS, TEXT, SqlType
from dataflow.pipelines.sql.work import Handler, Typed, Work, text_literal


def text_of(work: Work, node: exp.Expr | None, parent: exp.Expr) -> Typed:
    """An operand that must be text."""
    if node is None:
        work.refuse(parent, "lacks an operand")
    value = work.expression(node)
    if value.type.name not in ("text", "unknown"):
        work.refuse(parent, f"needs text, not {value.type.postgres}; add ::text")
    return cast(work, value, TEXT, parent)


def integer_of(work: Work, node: exp.Expr | None, parent: exp.Expr) -> Typed:
    """An operand that must be an integer."""
    value = work.expression(node) if node is not None else None
    if value is None or value.type.name not in INTEGERS:
        work.refuse(parent, "needs an integer")
    return cast(work, value, INTEGER, parent)


def _join(work: Work, node: exp.DPipe) -> Typed:
    left, right = work.expression(node.this), work.expression(node.expression)
    if not {left.type.name, right.type.name} & {"text", "unknown"} or "array" in (
        left.type.name,
        right.type.name,
    ):
        work.refuse(node, f"joins {left.type.postgres} and {right.type.postgres}; cast one to text")
    return Typed(f"CONCAT({to_text(work, left, node).sql}, {to_text(work, right, node).sql})", TEXT)


def _concat(work: Work, node: exp.Concat) -> Typed:
    parts = [_shown(work, part, node) for part in node.expressions]
    return Typed(f"CONCAT_WS('', {', '.join(parts)})", TEXT)


def _concat_with(work: Work, node: exp.ConcatWs) -> Typed:
    separator, *rest = node.expressions
    parts = [text_of(work, separator, node).sql, *(_shown(work, part, node) for part in rest)]
    return Typed(f"CONCAT_WS({', '.join(parts)})", TEXT)


def _shown(work: Work, part: exp.Expr, node: exp.Expr) -> str:
    value = work.expression(part)
    if value.type == BOOLEAN:
        return f"CASE WHEN {value.sql} THEN 't' WHEN NOT {value.sql} THEN 'f' END"
    return to_text(work, value, node).sql


def _like(word: str) -> Handler:
    def handle(work: Work, node: exp.Like) -> Typed:
        left, right = text_of(work, node.this, node), text_of(work, node.expression, node)
        negation = "NOT " if node.args.get("negate") else ""
        return Typed(f"({left.sql} {negation}{word} {right.sql})", BOOLEAN)

    return handle


def _escape(work: Work, node: exp.Escape) -> Typed:
    mark = work.expression(node.expression).constant
    if mark is None or len(mark) != 1 or not isinstance(node.this, exp.Like | exp.ILike):
        work.refuse(node, "needs LIKE and one character after ESCAPE")
    if isinstance(node.this, exp.ILike) and mark.isalpha():
        work.refuse(node, "escapes with a letter, which has no case here; take another character")
    inner = work.expression(node.this)
    return Typed(f"{inner.sql[:-1]} ESCAPE {text_literal(mark)})", BOOLEAN)


def _matches(flags: str) -> Handler:
    def handle(work: Work, node: exp.Binary) -> Typed:
        pattern = text_of(work, node.expression, node).constant
        if pattern is None or node.args.get("flag"):
            work.refuse(node, "matches a pattern that is not written out")
        translated = translate_pattern(pattern)
        if translated is None:
            work.refuse(node, "uses a pattern that means something else in Spark")
        text = text_of(work, node.this, node)
        return Typed(f"({text.sql} RLIKE {text_literal(flags + translated)})", BOOLEAN)

    return handle


def _replace_pattern(work: Work, node: exp.RegexpReplace) -> Typed:
    flags = node.args.get("modifiers")
    if flags is None or flags.name != "g" or node.args.get("position") or node.args.get("occurrence"):
        work.refuse(node, "replaces the first match only; add the flag 'g'")
    pattern = text_of(work, node.expression, node).constant
    replacement = text_of(work, node.args["replacement"], node).constant
    translated = translate_pattern(pattern, only_boolean=False) if pattern else None
    if translated is None or replacement is None or "\\" in replacement or "$" in replacement:
        work.refuse(node, "uses a pattern or replacement that means something else in Spark")
    text = text_of(work, node.this, node)
    return Typed(
        f"REGEXP_REPLACE({text.sql}, {text_literal('(?s)' + translated)}, {text_literal(replacement)})", TEXT
    )


def _plain(word: str, result: SqlType = TEXT) -> Handler:
    def handle(work: Work, node: exp.Func) -> Typed:
        return Typed(f"{word}({text_of(work, node.this, node).sql})", result)

    return handle


def _cased(word: str) -> Handler:
    """upper and lower, character by character: Java makes SS of one ß, and looks at what is around a Σ."""

    def handle(work: Work, node: exp.Func) -> Typed:
        text = text_of(work, node.this, node).sql
        one = f"CASE WHEN LENGTH({word}(c)) = 1 THEN {word}(c) ELSE c END"
        each = f"ARRAY_JOIN(TRANSFORM(SPLIT({text}, ''), c -> {one}), '')"
        other = text_literal("[^\\x00-\\x7F]")
        return Typed(f"CASE WHEN {text} RLIKE {other} THEN {each} ELSE {word}({text}) END", TEXT)

    return handle


def _substring(work: Work, node: exp.Substring) -> Typed:
    text, start = text_of(work, node.this, node), integer_of(work, node.args.get("start"), node)
    # Not GREATEST, which passes over NULL.
    first = f"CASE WHEN {start.sql} < 1 THEN 1 ELSE {start.sql} END"
    if node.args.get("length") is None:
        return Typed(f"SUBSTRING({text.sql}, {first})", TEXT)
    length = integer_of(work, node.args["length"], node)
    # Positions before the first count, with nothing there: substring('abc', 0, 2) is 'a'.
    end = f"{start.sql} + {length.sql}"
    kept = f"SUBSTRING({text.sql}, {first}, CASE WHEN {end} < 1 THEN 1 ELSE {end} END - {first})"
    if length.constant is not None and not length.constant.startswith("-"):
        return Typed(kept, TEXT)
    error = "RAISE_ERROR('negative substring length not allowed')"
    return Typed(f"CASE WHEN {length.sql} < 0 THEN {error} ELSE {kept} END", TEXT)


def _position(work: Work, node: exp.StrPosition) -> Typed:
    if node.args.get("position") or node.args.get("occurrence"):
        work.refuse(node, "searches from a position")
    text, part = text_of(work, node.this, node), text_of(work, node.args["substr"], node)
    return Typed(f"LOCATE({part.sql}, {text.sql})", INTEGER)


def _left(work: Work, node: exp.Left) -> Typed:
    text, count = text_of(work, node.this, node), integer_of(work, node.expression, node)
    length = (
        f"CASE WHEN {count.sql} < 0 THEN GREATEST(LENGTH({text.sql}) + {count.sql}, 0) ELSE {count.sql} END"
    )
    return Typed(f"SUBSTRING({text.sql}, 1, {length})", TEXT)


def _right(work: Work, node: exp.Right) -> Typed:
    text, count = text_of(work, node.this, node), integer_of(work, node.expression, node)
    skipped = (
        f"CASE WHEN {count.sql} < 0 THEN - {count.sql} WHEN {count.sql} > LENGTH({text.sql}) THEN 0 "
        f"ELSE LENGTH({text.sql}) - {count.sql} END"
    )
    return Typed(f"SUBSTRING({text.sql}, ({skipped}) + 1)", TEXT)


def _replace(work: Work, node: exp.Replace) -> Typed:
    parts = [text_of(work, node.args.get(key), node).sql for key in ("this", "expression", "replacement")]
    return Typed(f"REPLACE({', '.join(parts)})", TEXT)


def _split_part(work: Work, node: exp.SplitPart) -> Typed:
    text, mark = text_of(work, node.this, node), text_of(work, node.args["delimiter"], node)
    index = integer_of(work, node.args["part_index"], node)
    return Typed(f"SPLIT_PART({text.sql}, {mark.sql}, {index.sql})", TEXT)


def _pad(work: Work, node: exp.Pad) -> Typed:
    text, length = text_of(work, node.this, node), integer_of(work, node.expression, node)
    filling = node.args.get("fill_pattern")
    fill = text_of(work, filling, node) if filling is not None else Typed("' '", TEXT, " ")
    if not fill.constant:
        work.refuse(node, "pads with a text that is not written out")
    return Typed(
        f"{'LPAD' if node.args.get('is_left') else 'RPAD'}({text.sql}, {length.sql}, {fill.sql})", TEXT
    )


def _trim(work: Work, node: exp.Trim) -> Typed:
    side = (node.args.get("position") or "BOTH").upper()
    text = text_of(work, node.this, node)
    marks = text_of(work, node.expression, node).sql if node.args.get("expression") is not None else "' '"
    return Typed(f"TRIM({side} {marks} FROM {text.sql})", TEXT)


def _starts_with(work: Work, node: exp.StartsWith) -> Typed:
    return Typed(
        f"STARTSWITH({text_of(work, node.this, node).sql}, {text_of(work, node.expression, node).sql})",
        BOOLEAN,
    )


def _array(work: Work, node: exp.Array) -> Typed:
    if not node.expressions:
        work.refuse(node, "is an empty array without a type; write '{}'::text[]")
    items = unify(work, [work.expression(item) for item in node.expressions], node)
    return Typed(f"ARRAY({', '.join(item.sql for item in items)})", SqlType("array", element=items[0].type))


def _array_of(work: Work, node: exp.Expr | None, parent: exp.Expr) -> tuple[Typed, SqlType]:
    value = work.expression(node) if node is not None else None
    if value is None or value.type.element is None:
        work.refuse(parent, "needs an array")
    return value, value.type.element


def _item(work: Work, node: exp.Bracket) -> Typed:
    value, element = _array_of(work, node.this, node)
    index = node.expressions[0]
    # The tree counts from 0, whatever the dialect.
    if len(node.expressions) != 1 or not index.is_int or int(index.name) < 0:
        work.refuse(node, "takes an item at a place that is not written out")
    return Typed(f"TRY_ELEMENT_AT({value.sql}, {int(index.name) + 1})", element)


def _array_length(work: Work, node: exp.ArraySize) -> Typed:
    value, _ = _array_of(work, node.this, node)
    if node.args.get("expression") is not None and node.expression.name != "1":
        work.refuse(node, "asks for another dimension than 1")
    return Typed(f"NULLIF(ARRAY_SIZE({value.sql}), 0)", INTEGER)


def _cardinality(work: Work, node: exp.Anonymous) -> Typed:
    value, _ = _array_of(work, node.expressions[0], node)
    return Typed(f"ARRAY_SIZE({value.sql})", INTEGER)


def _array_to_text(work: Work, node: exp.ArrayToString) -> Typed:
    value, element = _array_of(work, node.this, node)
    if element != TEXT:
        work.refuse(node, f"joins {value.type.postgres}; only text[] is translated")
    parts = [value.sql, text_of(work, node.expression, node).sql]
    if node.args.get("null") is not None and not isinstance(node.args["null"], exp.Null):
        shown = text_of(work, node.args["null"], node)
        if shown.constant is None:
            work.refuse(node, "shows NULLs as a text that is not written out")
        parts.append(shown.sql)
    return Typed(f"ARRAY_JOIN({', '.join(parts)})", TEXT)


HANDLERS: dict[type, Handler] = {
    exp.DPipe: _join,
    exp.Concat: _concat,
    exp.ConcatWs: _concat_with,
    exp.Like: _like("LIKE"),
    exp.ILike: _like("ILIKE"),
    exp.Escape: _escape,
    exp.RegexpLike: _matches("(?s)"),
    exp.RegexpILike: _matches("(?si)"),
    exp.RegexpReplace: _replace_pattern,
    exp.Lower: _cased("LOWER"),
    exp.Upper: _cased("UPPER"),
    exp.Length: _plain("LENGTH", INTEGER),
    exp.Reverse: _plain("REVERSE"),
    exp.MD5: _plain("MD5"),
    exp.Substring: _substring,
    exp.StrPosition: _position,
    exp.Left: _left,
    exp.Right: _right,
    exp.Replace: _replace,
    exp.SplitPart: _split_part,
    exp.Pad: _pad,
    exp.Trim: _trim,
    exp.StartsWith: _starts_with,
    exp.Array: _array,
    exp.Bracket: _item,
    exp.ArraySize: _array_length,
    exp.ArrayToString: _array_to_text,
}
FUNCTIONS: dict[str, Handler] = {"cardinality": _cardinality}
