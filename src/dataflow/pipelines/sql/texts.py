"""Text and array functions and operators that Spark computes like PostgreSQL; all others are our own."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.casting import call_function, cast, to_text, unify
from dataflow.pipelines.sql.catalogue import instead_of
from dataflow.pipelines.sql.comparison import COMPARISONS, compare
from dataflow.pipelines.sql.conditions import quantified
from dataflow.pipelines.sql.constants import write_array
from dataflow.pipelines.sql.numbers import WORDS, calculate
from dataflow.pipelines.sql.precedence import is_quantified
from dataflow.pipelines.sql.types import BOOLEAN, INTEGER, TEXT, SqlType, read_type
from dataflow.pipelines.sql.work import Handler, Typed, Work, fold, text_literal

_OPERATORS: dict[type, str] = {exp.RegexpLike: "~", exp.RegexpILike: "~*"}
# Types that can be called like functions.
_CASTS = ("date", "int2", "int4", "int8", "float4", "float8", "bool", "text", "timestamptz")
_PARAMETERS = {
    "make_interval": ("years", "months", "weeks", "days", "hours", "mins", "secs"),
    "make_date": ("year", "month", "day"),
    "make_timestamp": ("year", "month", "mday", "hour", "min", "sec"),
}


def _join(work: Work, node: exp.DPipe) -> Typed:
    left, right = work.expression(node.this), work.expression(node.expression)
    families = {left.type.family, right.type.family}
    if any(family.endswith("[]") for family in families):
        return _join_arrays(work, left, right, node)
    if "jsonb" in families and families <= {"jsonb", "unknown"}:
        return call_function(work, "||", [left, right], node)
    if not families & {"text", "unknown"}:
        work.refuse(node, f"joins {left.type.postgres} and {right.type.postgres}; cast one of them to text")
    return Typed(f"CONCAT({to_text(work, left, node).sql}, {to_text(work, right, node).sql})", TEXT)


def _join_arrays(work: Work, left: Typed, right: Typed, node: exp.Expr) -> Typed:
    """Concatenate arrays and elements. PostgreSQL ignores a NULL array."""
    element = left.type.element or right.type.element
    sides = []
    for each in (left, right):
        if each.type.name == "unknown" and each.constant is not None and not each.constant.startswith("{"):
            work.refuse(node, f"joins an array and {each.constant!r}, which is not an array; cast it")
        if each.type.name == "unknown":
            sides.append(cast(work, each, SqlType("array", element=element), node))
        elif each.type.element is None:
            sides.append(Typed(f"ARRAY({each.sql})", SqlType("array", element=each.type)))
        else:
            sides.append(each)
    sides = unify(work, sides, node)
    one, other = (side.sql for side in sides)
    return Typed(f"COALESCE(CONCAT({one}, {other}), {one}, {other})", sides[0].type)


def _normalized(work: Work, node: exp.Anonymous) -> Typed:
    """normalize(x, NFKC), whose form is a keyword, not a column."""
    values = [work.expression(each) for each in node.expressions[:1]]
    for each in node.expressions[1:]:
        form = fold(each.this) if isinstance(each, exp.Column) and not each.table else ""
        if form not in ("nfc", "nfd", "nfkc", "nfkd"):
            work.refuse(node, "needs NFC, NFD, NFKC or NFKD as its second argument")
        values.append(Typed(text_literal(form), TEXT, form))
    return call_function(work, "normalize", values, node)


def _concat(work: Work, node: exp.Anonymous) -> Typed:
    separator, rest = exp.Literal.string(""), node.expressions
    if node.name.lower() == "concat_ws":
        separator, *rest = node.expressions
    parts = [to_text(work, work.expression(separator), node).sql]
    parts += [_shown(work, part, node) for part in rest]
    return Typed(f"CONCAT_WS({', '.join(parts)})", TEXT)


def _shown(work: Work, part: exp.Expr, node: exp.Expr) -> str:
    value = work.expression(part)
    if value.type == BOOLEAN:
        return f"CASE WHEN {value.sql} THEN 't' WHEN NOT {value.sql} THEN 'f' END"
    return value.sql if value.type.name == "bpchar" else to_text(work, value, node).sql


def _like(work: Work, node: exp.Binary, mark: str = "\\") -> Typed:
    """LIKE by Spark if the pattern is a literal; ILIKE by our functions, because case mapping differs."""
    if is_quantified(node.expression):
        return _match_several(work, node, mark)
    left, right = _padded(work.expression(node.this)), work.expression(node.expression)
    if not isinstance(node, exp.ILike) and right.constant is not None and left.type.family == "text":
        pattern = _for_spark(work, right.constant, mark, node)
        found = Typed(f"({left.sql} LIKE {text_literal(pattern)})", BOOLEAN)
    else:
        if mark != "\\":
            right = call_function(work, "like_escape", [right, Typed(text_literal(mark), TEXT, mark)], node)
        found = call_function(work, "~~*" if isinstance(node, exp.ILike) else "~~", [left, right], node)
    return Typed(f"(NOT {found.sql})", BOOLEAN) if node.args.get("negate") else found


def _match_several(work: Work, node: exp.Binary, mark: str = "") -> Typed:
    """`x LIKE ANY (ARRAY[…])` and similar: tests each pattern."""
    every, operand = quantified(node.expression)
    patterns = operand.this if isinstance(operand, exp.Cast) else operand
    if not isinstance(patterns, exp.Array) or not patterns.expressions or isinstance(node.parent, exp.Not):
        work.refuse(node, "matches several patterns; write them as literals: x LIKE ANY (ARRAY['a%', 'b%'])")
    tests = []
    for pattern in patterns.expressions:
        one = node.copy()
        one.set("expression", pattern.copy())
        tests.append((_like(work, one, mark) if mark else _binary(work, one)).sql)
    return Typed(f"({(' AND ' if every else ' OR ').join(tests)})", BOOLEAN)


def _padded(value: Typed) -> Typed:
    """The text of a character(n) with its padding, which counts in patterns and byte lengths."""
    return Typed(value.sql, TEXT) if value.type.name == "bpchar" else value


def _for_spark(work: Work, pattern: str, mark: str, node: exp.Expr) -> str:
    """Rewrite a pattern with Spark's escapes: only before characters that have a meaning."""
    result, signs = "", iter(pattern)
    for sign in signs:
        if sign != mark:
            result += "\\\\" if sign == "\\" else sign
            continue
        escaped = next(signs, "")
        if not escaped:
            work.refuse(node, "has a pattern that ends with its escape character; double it")
        result += f"\\{escaped}" if escaped in "%_\\" else escaped
    return result


def _escape(work: Work, node: exp.Escape) -> Typed:
    mark = work.expression(node.expression).constant
    if mark is None or len(mark) > 1:
        work.refuse(node, "needs at most one character after ESCAPE")
    inner = node.this
    if isinstance(inner, exp.SimilarTo):
        return _similar(work, inner, Typed(text_literal(mark), TEXT, mark))
    if not isinstance(inner, exp.Like | exp.ILike):
        work.refuse(node, "has ESCAPE without LIKE")
    return _like(work, inner, mark)


def _binary(work: Work, node: exp.Binary) -> Typed:
    if is_quantified(node.expression):
        return _match_several(work, node)
    values = [_padded(work.expression(node.this)), work.expression(node.expression)]
    return call_function(work, _OPERATORS[type(node)], values, node)


def _format(work: Work, node: exp.Anonymous) -> Typed:
    if any(isinstance(each, exp.Variadic) for each in node.expressions):
        work.refuse(node, "is not supported on Spark with VARIADIC; list its arguments instead")
    template, *rest = node.expressions
    values = [work.expression(template), *(Typed(_shown(work, each, node), TEXT) for each in rest)]
    return call_function(work, "format", values, node)


def _convert(work: Work, node: exp.Anonymous) -> Typed:
    """convert_to and convert_from, for UTF8 only, the encoding of every database here."""
    values = [work.expression(each) for each in node.expressions]
    if len(values) != 2 or (values[1].constant or "").lower().replace("-", "") not in ("utf8", "unicode"):
        work.refuse(node, "needs the encoding as the literal 'UTF8'")
    return call_function(work, f"{node.name.lower()} utf8", values[:1], node)


def _operator(work: Work, node: exp.Operator) -> Typed:
    word = str(node.args["operator"])
    left, right = work.expression(node.this), work.expression(node.expression)
    if word in WORDS.values():
        return calculate(work, word, left, right, node)
    if word in COMPARISONS.values() and word != "<=>":
        return compare(work, word, [left, right], node)
    return call_function(work, word, [left, right], node)


def _similar(work: Work, node: exp.SimilarTo, *mark: Typed) -> Typed:
    values = [_padded(work.expression(node.this)), work.expression(node.expression), *mark]
    return call_function(work, "similar_to", values, node)


def _length(work: Work, node: exp.Anonymous) -> Typed:
    value = work.expression(node.expressions[0])
    if len(node.expressions) != 1 or value.type.family not in ("text", "unknown"):
        return call_function(work, "length", [value], node)
    return Typed(f"LENGTH({to_text(work, value, node).sql})", INTEGER)


def _substr(work: Work, node: exp.Anonymous) -> Typed:
    values = _values(work, *node.expressions)
    return _cut(work, values, node) if len(values) > 1 else call_function(work, "substr", values, node)


def _values(work: Work, *parts: exp.Expr | None) -> list[Typed]:
    return [work.expression(part) for part in parts if part is not None]


def _cut(work: Work, values: list[Typed], node: exp.Expr) -> Typed:
    text, start, *length = values
    if text.type.family not in ("text", "unknown") or any(
        not each.type.is_integer for each in (start, *length)
    ):
        return call_function(work, "substring", values, node)
    text, start = to_text(work, text, node), cast(work, start, INTEGER, node)
    # Not GREATEST, which ignores NULL.
    first = f"CASE WHEN {start.sql} < 1 THEN 1 ELSE {start.sql} END"
    if not length:
        return Typed(f"SUBSTRING({text.sql}, {first})", TEXT)
    size = cast(work, length[0], INTEGER, node)
    # Positions before the first count as empty: substring('abc', 0, 2) is 'a'.
    end = f"(CAST({start.sql} AS BIGINT) + {size.sql})"
    kept = f"SUBSTRING({text.sql}, {first}, CAST(CASE WHEN {end} < 1 THEN 1 ELSE {end} END - {first} AS INT))"
    if size.constant is not None and not size.constant.startswith("-"):
        return Typed(kept, TEXT)
    error = "RAISE_ERROR('negative substring length not allowed')"
    return Typed(f"CASE WHEN {size.sql} < 0 THEN {error} ELSE {kept} END", TEXT)


def _position(work: Work, node: exp.StrPosition) -> Typed:
    text, part = work.expression(node.this), work.expression(node.args["substr"])
    return Typed(f"LOCATE({to_text(work, part, node).sql}, {to_text(work, text, node).sql})", INTEGER)


def _trim(work: Work, node: exp.Trim) -> Typed:
    side = (node.args.get("position") or "BOTH").upper()
    name = {"BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim"}[side]
    return call_function(work, name, _values(work, node.this, node.args.get("expression")), node)


def _array(work: Work, node: exp.Array) -> Typed:
    if not node.expressions:
        work.refuse(node, "is an empty array without a type; write '{}'::text[] instead")
    items = unify(work, [work.expression(item) for item in node.expressions], node)
    if items[0].type.element is not None:
        work.refuse(
            node, "is an array of arrays, which a dataset cannot store; write jsonb_build_array(…) or use ||"
        )
    kind = SqlType("array", element=items[0].type)
    return Typed(f"ARRAY({', '.join(item.sql for item in items)})", kind, write_array(items))


def _item(work: Work, node: exp.Bracket) -> Typed:
    value = work.expression(node.this)
    if value.type.name == "jsonb" and len(node.expressions) == 1:
        return call_function(work, "->", [value, work.expression(node.expressions[0])], node)
    if value.type.element is None or len(node.expressions) != 1:
        work.refuse(node, "needs a one-dimensional array")
    place = node.expressions[0]
    if isinstance(place, exp.Slice):
        return _slice(work, value, place, node)
    index = cast(work, work.expression(place), INTEGER, node)
    found = f"TRY_ELEMENT_AT({value.sql}, {index.sql})"
    # Spark counts negative indexes from the end and refuses zero. PostgreSQL returns NULL for both.
    return Typed(f"CASE WHEN {index.sql} > 0 THEN {found} END", value.type.element)


def _slice(work: Work, value: Typed, place: exp.Slice, node: exp.Expr) -> Typed:
    low = work.expression(place.this) if place.this is not None else Typed("1", INTEGER, "1")
    size = f"ARRAY_SIZE({value.sql})"
    high = work.expression(place.expression) if place.expression is not None else Typed(size, INTEGER)
    first, last = cast(work, low, INTEGER, node).sql, cast(work, high, INTEGER, node).sql
    start = f"CASE WHEN {first} < 1 THEN 1 ELSE {first} END"
    count = f"CASE WHEN {last} < {start} THEN 0 ELSE {last} - ({start}) + 1 END"
    whole = f"{value.sql} IS NULL OR {first} IS NULL OR {last} IS NULL"
    return Typed(f"CASE WHEN {whole} THEN NULL ELSE SLICE({value.sql}, {start}, {count}) END", value.type)


def _array_to_text(work: Work, node: exp.Anonymous) -> Typed:
    """array_to_string; Spark writes the elements where it formats them like PostgreSQL."""
    values = [work.expression(each) for each in node.expressions]
    element = values[0].type.element if values else None
    if element is not None and element.name == "bpchar":
        values[0] = Typed(values[0].sql, SqlType("array", element=TEXT))  # with its padding
    elif element is not None and values[0].type.family != "text[]":
        values[0] = cast(work, values[0], SqlType("array", element=TEXT), node)
    return call_function(work, "array_to_string", values, node)


def _cardinality(work: Work, node: exp.Anonymous) -> Typed:
    value = work.expression(node.expressions[0])
    if value.type.element is None:
        work.refuse(node, "needs an array")
    return Typed(f"ARRAY_SIZE({value.sql})", INTEGER)


def ours(work: Work, node: exp.Anonymous) -> Typed:
    """Call any other function by name."""
    name = node.name.lower()
    if name in _CASTS and len(node.expressions) == 1:
        return cast(work, work.expression(node.expressions[0]), read_type(name), node)
    arguments = _in_place(work, node) if any(map(_is_named, node.expressions)) else node.expressions
    for each in arguments:
        if isinstance(each, exp.Variadic | exp.Star | exp.Distinct | exp.Order):
            work.refuse(node, f"is not supported on Spark with this argument{instead_of(name)}")
    return call_function(work, name, [work.expression(each) for each in arguments], node)


def _is_named(node: exp.Expr) -> bool:
    return isinstance(node, exp.Kwarg | exp.PropertyEQ)


def _in_place(work: Work, node: exp.Anonymous) -> list[exp.Expr]:
    """Put named arguments, `days => 3`, in PostgreSQL's positional order."""
    names = _PARAMETERS.get(node.name.lower(), ())
    first = [each for each in node.expressions if not _is_named(each)]
    given = {each.this.name.lower(): each.expression for each in node.expressions[len(first) :]}
    rest = names[len(first) :]
    if not names or set(given) - set(rest) or len(given) + len(first) != len(node.expressions):
        listed = f": {', '.join(names)}" if names else ""
        work.refuse(node, f"has arguments by name; write them in order instead{listed}")
    missing = [name for name in rest if name not in given]
    if missing and node.name.lower() != "make_interval":
        work.refuse(node, f"is missing the argument {missing[0]}")
    return [*first, *(given.get(name, exp.Literal.number(0)) for name in rest)]


HANDLERS: dict[type, Handler] = {
    exp.DPipe: _join,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.SimilarTo: _similar,
    **dict.fromkeys(_OPERATORS, _binary),
    exp.Operator: _operator,
    exp.Substring: lambda work, node: _cut(
        work, _values(work, *map(node.args.get, ("this", "start", "length"))), node
    ),
    exp.StrPosition: _position,
    exp.Trim: _trim,
    exp.Overlay: lambda work, node: call_function(
        work, "overlay", _values(work, *map(node.args.get, ("this", "expression", "from_", "for_"))), node
    ),
    exp.Array: _array,
    exp.Bracket: _item,
    exp.Anonymous: ours,
}
FUNCTIONS: dict[str, Handler] = {
    **dict.fromkeys(("concat", "concat_ws"), _concat),
    **dict.fromkeys(("length", "char_length", "character_length"), _length),
    "octet_length": lambda work, node: call_function(
        work, "octet_length", [_padded(each) for each in _values(work, *node.expressions)], node
    ),
    "normalize": _normalized,
    "substr": _substr,
    "format": _format,
    **dict.fromkeys(("convert_to", "convert_from"), _convert),
    "array_to_string": _array_to_text,
    "cardinality": _cardinality,
}
