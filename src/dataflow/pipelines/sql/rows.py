"""Set-returning functions in FROM and SELECT: unnest, generate_series, jsonb_array_elements and similar."""

from __future__ import annotations

from sqlglot import exp

from dataflow.model.record import record
from dataflow.pipelines.sql.aggregates import is_aggregate
from dataflow.pipelines.sql.casting import call_function, cast
from dataflow.pipelines.sql.types import BIGINT, TEXT, SqlType
from dataflow.pipelines.sql.work import Columns, Handler, Scope, Typed, Work, fold, quote

_ROWS = "dataflow rows"

_PAIRS = ("jsonb_each", "jsonb_each_text")  # each row has a key and a value
_VALUE: tuple[str, ...] = ("jsonb_array_elements", "jsonb_array_elements_text")
_VALUE += ("json_array_elements", "json_array_elements_text")
SET_FUNCTIONS: tuple[str, ...] = ("unnest", "generate_series", *_VALUE)
SET_FUNCTIONS += ("jsonb_object_keys", "json_object_keys")
SET_FUNCTIONS += ("regexp_matches", "regexp_split_to_table", "string_to_table")


@record
class Rows:
    """A SELECT that returns the rows of a function, with its alias and columns."""

    sql: str
    alias: str
    columns: Columns


def rows_of(work: Work, node: exp.Expr) -> Rows | None:
    """The rows of a function in FROM; None if the node is something else."""
    call = _call_of(node)
    if call is None:
        return None
    name, arguments = call
    named = node.args.get("alias") or exp.TableAlias()
    alias, given = fold(named.this), [fold(column) for column in named.args.get("columns") or []]
    place = node.args.get("offset") or (
        node.this.args.get("offset") if isinstance(node, exp.Lateral) else None
    )
    ordinality = bool(place or node.args.get("ordinality"))
    if isinstance(place, exp.Identifier):
        given = [*given, fold(place)]  # the parser takes the last name out of the list
    arrays = array_of(work, name, arguments, node)
    kinds = [each.type.element or TEXT for each in arrays]
    if name in _PAIRS:
        usual = ["key", "value"]
    elif name in _VALUE:
        usual = ["value"]
    else:
        numbered = [f"{name}{number}" for number, _ in enumerate(kinds)]
        usual = [alias or (name if len(kinds) == 1 else numbered[0]), *numbered[1:]]
    names = [*given, *[*usual, "ordinality"][len(given) :]]
    columns = dict(zip(names, [*kinds, BIGINT] if ordinality else kinds, strict=False))
    return Rows(exploded(arrays, ordinality), alias or name, columns)


def exploded(arrays: list[Typed], ordinality: bool) -> str:
    """A SELECT of the elements of arrays, side by side, with their positions if requested."""
    if len(arrays) == 1 and not ordinality:
        return f"SELECT EXPLODE({arrays[0].sql})"
    if len(arrays) == 1:
        return f"SELECT i, CAST(n + 1 AS BIGINT) FROM (SELECT POSEXPLODE({arrays[0].sql}) AS (n, i))"
    fields = [f"f{number}: {(each.type.element or TEXT).spark}" for number, each in enumerate(arrays)]
    # Shorter arrays are padded with NULLs in both. The cast names the fields.
    filled = [f"COALESCE({each.sql}, CAST(ARRAY() AS {each.type.spark}))" for each in arrays]
    zipped = f"ARRAYS_ZIP({', '.join(filled)})"
    rows = f"CAST({zipped} AS ARRAY<STRUCT<{', '.join(fields)}>>)"
    listed = ", ".join(f"i.f{number}" for number, _ in enumerate(arrays))
    place = ", CAST(n + 1 AS BIGINT)" if ordinality else ""
    return f"SELECT {listed}{place} FROM (SELECT POSEXPLODE({rows}) AS (n, i))"


def array_of(work: Work, name: str, arguments: list[exp.Expr], node: exp.Expr) -> list[Typed]:
    """The rows of a function as one array, or several side by side."""
    values = [work.expression(each) for each in arguments]
    if name == "unnest":
        if not values:
            work.refuse(node, "is missing an argument")
        for number, value in enumerate(values):
            if value.type.name == "unknown":
                values[number] = cast(work, value, SqlType("array", element=TEXT), node)
            if values[number].type.element is None:
                work.refuse(node, f"needs arrays, got {value.type.postgres}")
        return values
    if name in _PAIRS:
        return [call_function(work, each, values, node) for each in ("jsonb_object_keys", f"{name} values")]
    return [call_function(work, name, values, node)]


def _call_of(node: exp.Expr) -> tuple[str, list[exp.Expr]] | None:
    if isinstance(node, exp.Lateral):
        return _call_of(node.this)
    if isinstance(node, exp.Unnest):
        return "unnest", list(node.expressions)
    inner = node.this if isinstance(node, exp.Table) else node
    if isinstance(inner, exp.Anonymous) and inner.name.lower() in (*SET_FUNCTIONS, *_PAIRS):
        return inner.name.lower(), list(inner.expressions)
    return None


def rows_beside(work: Work, node: exp.Select, source: str) -> str:
    """The FROM item that returns one row per element; several functions advance in step."""
    calls = [each for item in node.expressions for each in _find_calls(item)]
    if not calls:
        return ""
    if node.args.get("group") or node.args.get("distinct"):
        work.refuse(node, "has a set-returning function with GROUP BY or DISTINCT; move it to a subquery")
    for call in calls:
        if _is_in_condition(call):
            work.refuse(
                call, "returns rows in a condition, which PostgreSQL does not support; move it to FROM"
            )
    if any(is_aggregate(each) for call in calls for each in call.walk()):
        work.refuse(node, "has a set-returning function of an aggregate; compute the aggregate in a subquery")
    # They are LATERAL to FROM.
    with work.holding(scope=Scope(work.scope, is_level=True) if source else work.scope):
        arrays = [array_of(work, each.name.lower(), list(each.expressions), each)[0] for each in calls]
    names = [f"c{number}" for number, _ in enumerate(arrays)]
    for each, array, name in zip(calls, arrays, names, strict=True):
        work.scope.rows[id(each)] = Typed(f"{quote(_ROWS)}.{name}", array.type.element or TEXT)
    start = " CROSS JOIN" if source else " FROM"
    return f"{start} LATERAL ({exploded(arrays, False)}) AS {quote(_ROWS)}({', '.join(names)})"


def _find_calls(node: exp.Expr) -> list[exp.Anonymous]:
    if isinstance(node, exp.Query | exp.Subquery):
        return []
    if isinstance(node, exp.Anonymous) and node.name.lower() in SET_FUNCTIONS:
        return [node]
    return [found for child in node.iter_expressions() for found in _find_calls(child)]


def _is_in_condition(call: exp.Expr) -> bool:
    """Whether its rows would be the operand of a condition or of COALESCE."""
    around = call.parent
    while around is not None and not isinstance(around, exp.Query):
        coalesced = isinstance(around, exp.Anonymous) and around.name.lower() == "coalesce"
        # An IN with several constants compares with an array.
        listed = isinstance(around, exp.In) and (
            len(around.expressions) < 2 or any(item.find(exp.Column) for item in around.expressions)
        )
        if coalesced or listed or isinstance(around, exp.Connector | exp.Not | exp.Between | exp.Case):
            return True
        around = around.parent
    return False


def _column(work: Work, node: exp.Anonymous) -> Typed:
    found = work.scope.rows.get(id(node))
    if found is None:
        work.refuse(node, "returns a set of rows, which is not supported here; move it to FROM")
    return found


FUNCTIONS: dict[str, Handler] = dict.fromkeys(SET_FUNCTIONS, _column)
