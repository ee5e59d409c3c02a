"""Casts and calls to PostgreSQL's functions. Constants are computed here, not by Spark."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from dataflow.errors import BadInput
from dataflow.pipelines.pg_functions.numeric import parse as parse_numeric
from dataflow.pipelines.pg_functions.signatures import Signature
from dataflow.pipelines.sql.calls import convert_items, function_of, guarded, receive, send
from dataflow.pipelines.sql.catalogue import Match, find_cast, find_function, instead_of
from dataflow.pipelines.sql.constants import (
    constant_value,
    fold_call,
    is_null,
    number_constant,
    try_constants,
    why,
)
from dataflow.pipelines.sql.postgres_text import write
from dataflow.pipelines.sql.types import (
    DOUBLE,
    FLOATS,
    INTEGERS,
    NUMERIC,
    TEXT,
    TEXTS,
    TIMES,
    UNKNOWN,
    SqlType,
    as_numeric,
    exact_numeric,
    find_common,
    read_type,
    type_of,
    without_length,
)
from dataflow.pipelines.sql.work import Typed, Work, text_literal

_PLAIN = {(source, target) for source in INTEGERS for target in (*INTEGERS, *FLOATS)}
_PLAIN |= {("real", "double"), ("integer", "boolean"), ("boolean", "integer")}
_PLAIN |= {(source, target) for source in TIMES for target in TIMES}
_HINTS = {
    "timestamp": "; to drop fractions of a second, write date_trunc('second', …)",
    "time": "; write to_char(…, 'HH24:MI:SS'), or interval '10:00' to add it",
    "money": "; write numeric(12,2)",
    "name": "; write text",
    '"char"': "; write text",
}
# With literals after the first argument, these accept any text.
_SAFE = (
    *("~", "~*", "!~", "!~*", "~~", "~~*", "lower", "upper", "initcap", "btrim", "ltrim", "rtrim"),
    *("left", "right", "replace", "reverse", "translate", "strpos", "starts_with", "^@", "md5"),
)
# A cast to real that fails on overflow and underflow, as in PostgreSQL.
_IN_REAL = "CASE WHEN {lost} THEN RAISE_ERROR('value out of range: overflow or underflow') ELSE {real} END"


def cast_node(work: Work, node: exp.Cast) -> Typed:
    """`x::type` and `cast(x as type)`."""
    target = node.args["to"]
    written = write(target)
    try:
        kind = read_type(written)
    except BadInput as error:
        hint = next((hint for name, hint in _HINTS.items() if written.lower().startswith(name)), "")
        work.refuse(node, f"cannot be cast: {error}{hint}")
    if written.upper().startswith("INTERVAL ") or (kind.name == "interval" and target.expressions):
        work.refuse(node, "casts to an interval with restricted fields; write interval without them")
    if kind.element and isinstance(node.this, exp.Array) and not node.this.expressions:
        return Typed(f"CAST(ARRAY() AS {kind.spark})", kind, "{}")
    return cast(work, work.expression(node.this), kind, node)


def cast(work: Work, value: Typed, target: SqlType, node: exp.Expr) -> Typed:
    """Cast a value by PostgreSQL's rules; BadInput if PostgreSQL has no such cast."""
    if value.type == target:
        return value
    if value.type.name == "unknown" and value.constant is None:
        return Typed(f"CAST(NULL AS {target.spark})", target)
    if value.type.name == target.name == "bpchar" and not target.length:
        return Typed(value.sql, target)  # with its padding
    if target.name in TEXTS:
        text = to_text(work, value, node)
        if not target.length:
            return Typed(text.sql, target, text.constant)
        cut = f"SUBSTRING({text.sql}, 1, {target.length})"
        return Typed(f"RPAD({cut}, {target.length}, ' ')" if target.name == "bpchar" else cut, target)
    if target.name == "numeric":
        return _to_numeric(work, value, target, node)
    if value.type.element and target.element:
        return _recast_items(work, value, (value.type.element, target.element), node)
    if value.type.family == target.family:
        return Typed(value.sql, target)
    if native := _natively(value, target):
        return Typed(native, target, value.constant if target.is_integer else None)
    return _by_catalogue(work, value, target, node)


def _natively(value: Typed, target: SqlType) -> str:
    """A cast that Spark does like PostgreSQL; empty if there is none."""
    sql, plain = value.sql, f"CAST({value.sql} AS {target.spark})"
    if (value.type.name, target.name) in _PLAIN or (value.type.is_decimal and target == DOUBLE):
        return plain
    if value.type.is_decimal and target.is_integer:
        return f"CAST(ROUND({sql}, 0) AS {target.spark})"
    if value.type.is_float and target.is_integer:
        return f"CAST(RINT({sql}) AS {target.spark})"
    if value.type == DOUBLE and target.name == "real":
        # PostgreSQL raises an error for overflow and underflow; Spark returns infinity or zero.
        infinite = "ABS({}) = DOUBLE('Infinity')"
        lost = f"({infinite.format(plain)} AND NOT {infinite.format(sql)}) OR ({plain} = 0 AND {sql} <> 0)"
        return _IN_REAL.format(lost=lost, real=plain)
    return ""


def _by_catalogue(work: Work, value: Typed, target: SqlType, node: exp.Expr) -> Typed:
    source = "text" if value.type.name == "unknown" else value.type.family
    signature = find_cast(source, target.family)
    if source == "text" and target.element is not None and value.constant is not None:
        # Element by element.
        element = target.element
        element = NUMERIC if element.name == "numeric" and not element.declared else element
        kind = SqlType("array", element=element)
        items = ", ".join(item.sql for item in list_items(work, Typed("", kind, value.constant), node))
        return Typed(f"CAST(ARRAY({items}) AS {kind.spark})", kind, value.constant)
    if signature is None:
        work.refuse(
            node, f"casts {value.type.postgres} to {target.postgres}, which is not supported on Spark"
        )
    found = call(work, Match(signature, (source,), target.family), [value], node)
    constant = value.constant if found.constant is None and source == "text" else found.constant
    return Typed(found.sql, target, constant)


def list_items(work: Work, array: Typed, node: exp.Expr) -> list[Typed]:
    """The elements of an array that is a constant."""
    element = array.type.element or TEXT
    try:
        texts = constant_value(array, "text[]")
    except ValueError as error:
        work.refuse(node, f"{why(error)}: {error}")
    items = [cast(work, Typed(text_literal(item or ""), UNKNOWN, item), element, node) for item in texts]
    return [exact_text(item) for item in items] if element.is_exact_text else items


def _recast_items(work: Work, value: Typed, elements: tuple[SqlType, SqlType], node: exp.Expr) -> Typed:
    """Cast an array to another element type: in Spark as far as it supports that, else in Python."""
    used, (source, wanted), target = dict(work.used), elements, SqlType("array", element=elements[1])
    item = cast(work, Typed("e", source), wanted, node)
    if not item.calls_python:
        return Typed(f"TRANSFORM({value.sql}, e -> {item.sql})" if item.sql != "e" else value.sql, target)
    # Spark does not call Python per element, so it gets the whole array.
    work.used = used
    if source.is_decimal:
        value = Typed(f"TRANSFORM({value.sql}, e -> CAST(e AS STRING))", SqlType("array", element=NUMERIC))
    signature = find_cast(source.family, wanted.family)
    if signature is None or wanted.declared:
        work.refuse(node, f"casts {value.type.postgres} to {target.postgres}; cast each element instead")
    takes, gives = f"{source.family}[]", f"{wanted.family}[]"
    every = Signature("cast items", (takes,), gives, partial(convert_items, signature.call))
    return Typed(call(work, Match(every, (takes,), gives), [value], node).sql, target)


def to_text(work: Work, value: Typed, node: exp.Expr) -> Typed:
    """Format a value as PostgreSQL does."""
    name = value.type.name
    if name == "bpchar":
        return Typed(f"TRIM(TRAILING ' ' FROM {value.sql})", TEXT)
    if name in ("text", "varchar", "unknown", "uuid", "json", "jsonb") or value.type.is_exact_text:
        return Typed(value.sql, TEXT, value.constant if name in ("text", "unknown") else None)
    if name in INTEGERS or name == "boolean" or value.type.is_decimal:
        return Typed(f"CAST({value.sql} AS STRING)", TEXT)
    if value.type.element is not None and find_cast(value.type.family, "text") is None:
        value = cast(work, value, SqlType("array", element=TEXT), node)
    return _by_catalogue(work, value, TEXT, node)


def exact_text(value: Typed) -> Typed:
    """Format a numeric or integer as PostgreSQL does."""
    if value.type.is_exact_text:
        return value
    return Typed(f"CAST({value.sql} AS STRING)", exact_numeric(value.type.digits_after), value.constant)


def _to_numeric(work: Work, value: Typed, target: SqlType, node: exp.Expr) -> Typed:
    found = value
    if not value.type.is_exact:
        if value.constant is not None and value.type.name == "unknown":
            try:
                found = number_constant(parse_numeric(value.constant))
            except (ValueError, ArithmeticError) as error:
                work.refuse(node, f"contains {value.constant!r}: {error}")
        else:
            found = _by_catalogue(work, value, NUMERIC, node)
    elif value.type.is_integer:
        kind = as_numeric(value.type)
        found = Typed(f"CAST({value.sql} AS {kind.spark})", kind, value.constant)
    if target.is_exact_text:
        # Without precision the cast has no effect in PostgreSQL: the source's digits stay.
        return Typed(found.sql, without_length(found.type), found.constant)
    return Typed(f"CAST({found.sql} AS {target.spark})", target)


def unify(work: Work, values: list[Typed], node: exp.Expr) -> list[Typed]:
    """Cast all values to the common type that PostgreSQL would choose."""
    known = find_common([value.type for value in values])
    if known is not None:
        # A string literal becomes a numeric with all of its digits, whatever the other column's scale.
        values = [read_beside(work, value, known, node) for value in values]
    common = find_common([value.type for value in values])
    if common is None:
        kinds = ", ".join(dict.fromkeys(value.type.postgres for value in values))
        work.refuse(node, f"mixes types that PostgreSQL cannot combine ({kinds}); add a cast")
    return [to_common(work, value, common, node) for value in values]


def to_common(work: Work, value: Typed, common: SqlType, node: exp.Expr) -> Typed:
    """Cast a value to the type that `find_common` found, as Spark represents it."""
    if common.is_exact_text and value.type.is_exact:
        return Typed(exact_text(value).sql, common, value.constant)
    return cast(work, value, common, node)


def read_beside(work: Work, value: Typed, other: SqlType, node: exp.Expr) -> Typed:
    """Read a string literal next to a value of another type as that type; return anything else unchanged."""
    if value.type.name != "unknown" or other.name == "unknown":
        return value
    if value.constant is None:
        return cast(work, value, other, node)
    return cast(work, value, NUMERIC if other.name == "numeric" else without_length(other), node)


def call_function(work: Work, name: str, values: list[Typed], node: exp.Expr) -> Typed:
    """Return the function or operator that PostgreSQL would choose; BadInput if it is not supported."""
    match = find_function(name, tuple(value.type.family for value in values))
    if match is None:
        kinds = ", ".join(value.type.postgres for value in values)
        work.refuse(node, f"is not supported on Spark for these types ({kinds}){instead_of(name)}")
    return call(work, match, values, node)


def call(work: Work, match: Match, values: list[Typed], node: exp.Expr) -> Typed:
    """Call one of our functions; computed now if all arguments are constants."""
    values = [_argument(work, value, take, node) for value, take in zip(values, match.takes, strict=True)]
    if match.signature.strict and not match.signature.is_set and any(map(is_null, values)):
        return Typed(f"CAST(NULL AS {type_of(match.gives).spark})", type_of(match.gives))
    if not match.signature.is_set and all(value.constant is not None for value in values):
        return fold_call(work, match, values, node)
    try_constants(work, match, values, node)
    arguments = [send(value.sql, take) for value, take in zip(values, match.takes, strict=True)]
    is_safe = _is_safe(work, match, values)
    sql = "" if is_safe else _find_computed(work, match, arguments)
    if not sql:
        sql = _write_call(work, match, arguments, [] if is_safe else work.guards)
    if is_safe:
        work.safe.add(sql)
    work.calls.append((len(work.guards), sql))
    return Typed(receive(sql, match.gives), type_of(match.gives))


def _find_computed(work: Work, match: Match, arguments: list[str]) -> str:
    """The same call in an earlier condition, if it has been computed whenever this one is; else ""."""
    written = (
        (_write_call(work, match, arguments, work.guards[:given]), calls) for given, calls in work.computed
    )
    return next((sql for sql, calls in written if sql in calls), "")


def _write_call(work: Work, match: Match, arguments: list[str], guards: list[str]) -> str:
    """The call, made only for rows that pass the guards.

    Spark computes the arguments and calls Python even for rows that a CASE excludes.
    """
    function = function_of(match)
    if guards:
        test = " AND ".join(guards)
        strict = match.signature.strict and bool(arguments)  # not called if its first argument is NULL
        arguments = [
            f"CASE WHEN {test} THEN {each} END" if "(" in each or (strict and number == 0) else each
            for number, each in enumerate(arguments)
        ]
        if not strict:
            function, arguments = guarded(function), [f"({test})", *arguments]
    work.used[function.name] = function
    return f"{function.name}({', '.join(arguments)})"


def _is_safe(work: Work, match: Match, values: list[Typed]) -> bool:
    """Whether the call succeeds for every row: functions of text whose other arguments are literals."""
    if match.signature.name not in _SAFE:
        return False
    first, *rest = values
    ready = "(" not in first.sql or first.sql in work.safe
    return ready and all(each.constant is not None and not each.constant.endswith("\\") for each in rest)


def _argument(work: Work, value: Typed, family: str, node: exp.Expr) -> Typed:
    kind = type_of(family)
    if kind.is_exact_text and value.type.is_exact:
        return exact_text(value)
    if value.type.family == family and not (value.type.name == "bpchar" or kind.element):
        return value
    found = cast(work, value, kind, node)
    return exact_text(found) if kind.is_exact_text else found
