"""ORDER BY, LIMIT and DISTINCT ON."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from dataflow.pipelines.sql.comparison import sort_key
from dataflow.pipelines.sql.types import SqlType
from dataflow.pipelines.sql.windows import direction
from dataflow.pipelines.sql.work import Typed, Work, fold, quote

Outputs = list[tuple[str, Typed]]
_RANK, _KEY = "dataflow rank", "dataflow key"


def _limits(work: Work, node: exp.Expr) -> str:
    text = ""
    for key, word in (("limit", "LIMIT"), ("offset", "OFFSET")):
        if clause := node.args.get(key):
            count = clause.args.get("count") if isinstance(clause, exp.Fetch) else clause.expression
            options = clause.args.get("limit_options") or exp.LimitOptions()
            if options.args.get("percent") or options.args.get("with_ties"):
                work.refuse(node, "has WITH TIES; write rank() OVER (ORDER BY …) <= … in an outer query")
            if isinstance(clause, exp.Fetch) and count is None:
                count = exp.Literal.number(1)  # FETCH FIRST ROW ONLY
            if _is_all(count):
                continue
            if not isinstance(count, exp.Literal) or not count.is_int or count.is_string:
                work.refuse(node, f"has a {word} that is not a literal number; write it as a literal")
            text += f" {word} {count.name}"
    return text


def _is_all(count: exp.Expr | None) -> bool:
    """LIMIT ALL and LIMIT NULL, which have no effect."""
    return isinstance(count, exp.Null) or (
        isinstance(count, exp.Column | exp.Var)
        and count.name.lower() == "all"
        and not count.args.get("table")
    )


def sorted_rows(work: Work, node: exp.Expr, sql: str, columns: tuple[tuple[str, SqlType], ...]) -> str:
    """Sort and limit the rows of a query by its own columns only."""
    order, limits = node.args.get("order"), _limits(work, node)
    if order is None:
        return sql + limits
    names = [f"c{number}" for number, _ in enumerate(columns)]
    keys = []
    for each in order.expressions:
        place = _named_output(each.this, [name for name, _ in columns])
        if place is not None and isinstance(each.this.unnest(), exp.Column):
            _refuse_several(work, each, [name for name, _ in columns if name == columns[place][0]])
        if place is None:
            work.refuse(each, "sorts by an expression that is not a column of the result; add it to SELECT")
        keys.append(sort_key(work, Typed(names[place], columns[place][1]), each) + direction(each))
    listed = ", ".join(f"{name} AS {quote(given)}" for name, (given, _) in zip(names, columns, strict=True))
    return f"SELECT {listed} FROM ({sql}) AS s({', '.join(names)}) ORDER BY {', '.join(keys)}{limits}"


def sorted_select(work: Work, node: exp.Select, outputs: Outputs, rest: str) -> str:
    """A SELECT sorted by any ORDER BY expressions, using hidden columns."""
    order, limits = node.args.get("order"), _limits(work, node)
    plain = f"SELECT {select_list(outputs)}"
    if order is None:
        return f"{plain}{rest}{limits}"
    keys = [_sort_value(work, each.this, outputs) for each in order.expressions]
    texts = [sort_key(work, value, each) for value, each in zip(keys, order.expressions, strict=True)]
    hidden = [f"k{number}" for number, _ in enumerate(texts)]
    names = [f"c{number}" for number, _ in enumerate(outputs)]
    inner = ", ".join(
        [select_list(outputs), *(f"{text} AS {name}" for text, name in zip(texts, hidden, strict=True))]
    )
    listed = ", ".join(f"{name} AS {quote(given)}" for name, (given, _) in zip(names, outputs, strict=True))
    sorting = ", ".join(name + direction(each) for name, each in zip(hidden, order.expressions, strict=True))
    called = ", ".join([*names, *hidden])
    return f"SELECT {listed} FROM (SELECT {inner}{rest}) AS s({called}) ORDER BY {sorting}{limits}"


def _sort_value(work: Work, node: exp.Expr, outputs: Outputs) -> Typed:
    place = _named_output(node, [name for name, _ in outputs])
    if place is not None:
        if isinstance(node.unnest(), exp.Column):
            _refuse_several(work, node, {value.sql for name, value in outputs if name == outputs[place][0]})
        return outputs[place][1]
    if work.scope.totals:
        work.refuse(
            node, "sorts grouping sets by an expression that is not a column of the result; add it to SELECT"
        )
    inner = node.unnest()
    if isinstance(inner.this if isinstance(inner, exp.Neg) else inner, exp.Literal):
        work.refuse(node, f"is not a valid output column number; there are {len(outputs)}")
    return work.expression(node)


def _refuse_several(work: Work, node: exp.Expr, found: Collection[str]) -> None:
    if len(found) > 1:
        work.refuse(node, "is ambiguous in ORDER BY: several outputs have that name; rename them")


def distinct_on(work: Work, node: exp.Select, outputs: Outputs, rest: str) -> str:
    """A SELECT of the first row of each group of DISTINCT ON."""
    order, on = node.args.get("order"), node.args["distinct"].args["on"]
    if order is None or node.args.get("group"):
        work.refuse(node, "uses DISTINCT ON with GROUP BY or without ORDER BY")
    named = [*(each.this for each in order.expressions), *(on.expressions or [on])]
    texts = [sort_key(work, _sort_value(work, each, outputs), each) for each in named]
    keys, parts = texts[: len(order.expressions)], dict.fromkeys(texts[len(order.expressions) :])
    if set(list(dict.fromkeys(keys))[: len(parts)]) - set(parts):
        work.refuse(node, "has an ORDER BY that does not start with the DISTINCT ON expressions")
    directions = [direction(each) for each in order.expressions]
    sorting = [key + each for key, each in zip(keys, directions, strict=True)]
    window = f"PARTITION BY {', '.join(parts)} ORDER BY {', '.join(sorting)}"
    rank = f"ROW_NUMBER() OVER ({window}) AS {quote(_RANK)}"
    hidden = [quote(f"{_KEY} {number}") for number, _ in enumerate(keys)]
    kept = ", ".join(f"{key} AS {name}" for key, name in zip(keys, hidden, strict=True))
    names = ", ".join(quote(name) for name, _ in outputs)
    again = ", ".join(name + each for name, each in zip(hidden, directions, strict=True))
    inner = f"SELECT {select_list(outputs)}, {rank}, {kept}{rest}"
    limits = _limits(work, node)
    return f"SELECT {names} FROM ({inner}) WHERE {quote(_RANK)} = 1 ORDER BY {again}{limits}"


def select_list(outputs: Outputs) -> str:
    """The list of a SELECT."""
    return ", ".join(f"{value.sql} AS {quote(name)}" for name, value in outputs)


def _named_output(node: exp.Expr, names: list[str]) -> int | None:
    """The output that an ORDER BY key names by number or name; None if it is an expression."""
    node = node.unnest()
    if isinstance(node, exp.Literal) and node.is_int:
        return int(node.name) - 1 if 1 <= int(node.name) <= len(names) else None
    if isinstance(node, exp.Column) and not node.table and fold(node.this) in names:
        return names.index(fold(node.this))
    return None
