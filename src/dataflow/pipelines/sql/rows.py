"""Set-returning functions in FROM: unnest, generate_series, jsonb_array_elements and similar."""

from __future__ import annotations

from sqlglot import exp

from dataflow.model.record import record
from dataflow.pipelines.sql.casting import call_function, cast
from dataflow.pipelines.sql.types import BIGINT, TEXT, SqlType
from dataflow.pipelines.sql.work import Columns, Typed, Work, fold

_PAIRS = ("jsonb_each", "jsonb_each_text")  # each row has a key and a value
_VALUE = (
    "jsonb_array_elements",
    "jsonb_array_elements_text",
    "json_array_elements",
    "json_array_elements_text",
)
SET_FUNCTIONS = (
    "unnest",
    "generate_series",
    *_VALUE,
    "jsonb_object_keys",
    "json_object_keys",
    "regexp_matches",
    "regexp_split_to_table",
    "string_to_table",
)


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
    alias, given = _alias(node)
    place = node.args.get("offset") or (
        node.this.args.get("offset") if isinstance(node, exp.Lateral) else None
    )
    ordinality = bool(place or node.args.get("ordinality"))
    if isinstance(place, exp.Identifier):
        given = [*given, fold(place)]  # the parser takes the last name out of the list
    arrays = array_of(work, name, arguments, node)
    kinds = [each.type.element or TEXT for each in arrays]
    if name in _PAIRS:
        columns = dict(zip([*given, *("key", "value")[len(given) :]], kinds, strict=False))
        return Rows(exploded(arrays, ordinality), alias or name, columns | _last(ordinality, given[2:]))
    usual = (
        [_column_name(name)] if len(kinds) == 1 else [f"{_column_name(name)}{n}" for n, _ in enumerate(kinds)]
    )
    names = (given + (usual[len(given) :] if given else [alias or usual[0], *usual[1:]]))[
        : len(kinds) + ordinality
    ]
    if not given and _column_name(name) == "value":
        names = ["value"]
    columns = dict(zip(names, kinds, strict=False))
    if ordinality:
        columns[names[len(kinds)] if len(names) > len(kinds) else "ordinality"] = BIGINT
    return Rows(exploded(arrays, ordinality), alias or name, columns)


def _last(ordinality: bool, given: list[str]) -> dict[str, SqlType]:
    """The column of WITH ORDINALITY, if requested."""
    return {(given or ["ordinality"])[0]: BIGINT} if ordinality else {}


def exploded(arrays: list[Typed], ordinality: bool) -> str:
    """A SELECT of the elements of arrays, side by side, with their positions if requested."""
    if len(arrays) == 1:
        item = f"POSEXPLODE({arrays[0].sql}) AS (n, i)"
        return (
            f"SELECT i, CAST(n + 1 AS BIGINT) FROM (SELECT {item})"
            if ordinality
            else f"SELECT EXPLODE({arrays[0].sql})"
        )
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


def _alias(node: exp.Expr) -> tuple[str, list[str]]:
    alias = node.args.get("alias")
    if alias is None:
        return "", []
    if isinstance(alias, exp.TableAlias):
        name = fold(alias.this) if alias.this is not None else ""
        return name, [fold(column) for column in alias.args.get("columns") or []]
    return fold(alias), []


def _column_name(name: str) -> str:
    return "value" if name in _VALUE else name
