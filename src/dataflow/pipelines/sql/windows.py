"""Window functions: OVER, frames, and functions that need OVER."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from dataflow.pipelines.pg_functions.interval_text import parse as parse_interval
from dataflow.pipelines.pg_functions.intervals import DAY, show_clock
from dataflow.pipelines.sql.aggregates import is_aggregate
from dataflow.pipelines.sql.casting import cast, unify
from dataflow.pipelines.sql.catalogue import instead_of
from dataflow.pipelines.sql.comparison import sort_key
from dataflow.pipelines.sql.types import BIGINT, DATE, DOUBLE, INTEGER, SqlType, without_length
from dataflow.pipelines.sql.work import Handler, Typed, Work, fold


def direction(ordered: exp.Expr) -> str:
    """Write ASC or DESC and the position of NULLs explicitly."""
    nulls = "FIRST" if ordered.args.get("nulls_first") else "LAST"
    return f" {'DESC' if ordered.args.get('desc') else 'ASC'} NULLS {nulls}"


def _window(work: Work, node: exp.Window) -> Typed:
    inner = node.this
    function = inner.this if isinstance(inner, exp.Filter) else inner
    if not is_aggregate(function) and not _is_window_function(function):
        hint = instead_of(function.name.lower()) if isinstance(function, exp.Anonymous) else ""
        work.refuse(node, f"has OVER, but is not a window function that is supported on Spark{hint}")
    # Ranking functions, lag and lead ignore the frame.
    framed = not _is_window_function(function) or function.name.lower() in _FRAMED
    over = _specification(work, node, framed)
    # The FILTER handler passes the window on.
    with work.holding(over=f" OVER ({over})", surrounded=inner, over_order=_resolve(work, node).get("order")):
        return work.expression(inner)


def _is_window_function(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in WINDOW_FUNCTIONS


def _specification(work: Work, node: exp.Window, framed: bool) -> str:
    """Translate the contents of OVER (…), including the named window it extends."""
    parts = _resolve(work, node)
    text = []
    if partition := parts.get("partition_by"):
        keys = [sort_key(work, work.expression(each), node, sorting=False) for each in partition]
        text.append(f"PARTITION BY {', '.join(keys)}")
    if order := parts.get("order"):
        keys = [
            sort_key(work, work.expression(each.this), each) + direction(each) for each in order.expressions
        ]
        text.append(f"ORDER BY {', '.join(keys)}")
    if not framed and not parts.get("order"):
        work.refuse(node, "depends on the order of rows, but its window has no order; add ORDER BY")
    if spec := parts.get("spec"):
        frame = _frame(work, spec, parts.get("order"))
        text += [frame] if framed else []
    return " ".join(text)


def _resolve(work: Work, node: exp.Expr) -> dict[str, Any]:
    found = {key: node.args[key] for key in ("partition_by", "order", "spec") if node.args.get(key)}
    name = node.args.get("alias")
    if name is None:
        return found
    base = work.scope.windows.get(fold(name))
    if base is None:
        work.refuse(node, f"uses the window {fold(name)}, which is not defined; add WINDOW … AS (…)")
    return {**_resolve(work, base), **found}


def _frame(work: Work, spec: exp.Expr, order: exp.Expr | None) -> str:
    kind = str(spec.args.get("kind") or "").upper()
    bounds = [
        (spec.args.get("start"), spec.args.get("start_side")),
        (spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side")),
    ]
    offsets = [bound for bound, _ in bounds if isinstance(bound, exp.Expr)]
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude"):
        work.refuse(spec, "is a window frame that is not supported on Spark; use plain ROWS or RANGE instead")
    if kind == "RANGE" and offsets and (spans := _spans(work, spec, bounds, order)):
        return f"RANGE BETWEEN {spans[0]} AND {spans[1]}"
    if any(not each.is_int for each in offsets):
        work.refuse(
            spec, "is a window frame that is not supported on Spark; write its offsets as integer literals"
        )
    if kind == "RANGE" and offsets:
        keys = order.expressions if order is not None else []
        if len(keys) != 1 or not work.expression(keys[0].this).type.is_integer:
            work.refuse(spec, "is a RANGE frame with an offset, which needs a single integer key in ORDER BY")
    words = [f"{bound or 'CURRENT ROW'} {side or ''}".upper().strip() for bound, side in bounds]
    return f"{kind} BETWEEN {words[0]} AND {words[1]}"


def _spans(
    work: Work, spec: exp.Expr, bounds: list[tuple[Any, str | None]], order: exp.Expr | None
) -> list[str] | None:
    """Bounds of a RANGE frame over dates or times, as intervals; None for any other frame."""
    keys = order.expressions if order is not None else []
    kind = work.expression(keys[0].this).type if len(keys) == 1 else None
    if kind is None or not kind.is_time:
        return None
    spans = [f"{_span(work, spec, bound, kind)} {side or ''}".upper().strip() for bound, side in bounds]
    if len({" MONTH " in span for span in spans if "INTERVAL" in span}) > 1:
        work.refuse(
            spec, "is a RANGE frame in months and days, which is not supported on Spark; write both in days"
        )
    return spans


def _span(work: Work, spec: exp.Expr, bound: Any, kind: SqlType) -> str:
    if not isinstance(bound, exp.Expr):
        return bound or "CURRENT ROW"
    literal = bound.this if isinstance(bound, exp.Cast) else bound
    if not isinstance(literal, exp.Literal) or not literal.is_string:
        work.refuse(spec, "is a RANGE frame whose offset is not an interval literal; write interval '1 day'")
    try:
        months, days, micros = parse_interval(literal.name)
    except ValueError as error:
        work.refuse(spec, f"is an error in PostgreSQL: {error}")
    if min(months, days, micros) < 0 or (months and (days or micros)) or (kind == DATE and micros):
        work.refuse(
            spec, "is a RANGE frame with an offset that is not supported on Spark; write whole days or months"
        )
    if months:
        return f"INTERVAL '{months}' MONTH"
    if kind == DATE:
        return f"INTERVAL '{days}' DAY"
    # Spark accepts one literal with fewer than 24 hours.
    more, rest = divmod(micros, DAY)
    return f"INTERVAL '{days + more} {show_clock(rest)}' DAY TO SECOND"


def _ranking(work: Work, node: exp.Anonymous) -> Typed:
    name = node.name.lower()
    kind, count = _RANKINGS[name], 1 if name == "ntile" else 0
    if len(node.expressions) != count:
        work.refuse(node, "takes one argument" if count else "takes no arguments")
    arguments = [_written_out(work, work.expression(each), node) for each in node.expressions]
    call = f"{name.upper()}({', '.join(arguments)}){_over(work, node)}"
    return Typed(f"CAST({call} AS {kind.spark})", kind)


def _written_out(work: Work, value: Typed, node: exp.Expr) -> str:
    """A number that Spark requires to be the same for all rows."""
    found = cast(work, value, INTEGER, node)
    if found.constant is None:
        work.refuse(node, "has a number that is not a literal; on Spark it must be a literal")
    return found.sql


def _neighbour(work: Work, node: exp.Anonymous) -> Typed:
    least, most = _NEIGHBOURS[node.name.lower()]
    if not least <= len(node.expressions) <= most:
        work.refuse(node, f"has too {'few' if len(node.expressions) < least else 'many'} arguments")
    value, *rest = (work.aggregate_argument(each) for each in node.expressions)
    parts = [_written_out(work, each, node) for each in rest[:1]]
    value, *default = unify(work, [value, *rest[1:]], node)
    listed = ", ".join([value.sql, *parts, *(each.sql for each in default)])
    return Typed(f"{node.name.upper()}({listed}){_over(work, node)}", without_length(value.type))


def _over(work: Work, node: exp.Expr) -> str:
    if not work.over:
        work.refuse(node, "needs OVER (…)")
    return work.over


_FRAMED = ("first_value", "last_value", "nth_value")
_RANKINGS = dict.fromkeys(("row_number", "rank", "dense_rank"), BIGINT)
_RANKINGS |= {"ntile": INTEGER, "percent_rank": DOUBLE, "cume_dist": DOUBLE}
_NEIGHBOURS = dict.fromkeys(("lag", "lead"), (1, 3))  # the least and most arguments
_NEIGHBOURS |= {"first_value": (1, 1), "last_value": (1, 1), "nth_value": (2, 2)}
WINDOW_FUNCTIONS: dict[str, Handler] = {
    **dict.fromkeys(_RANKINGS, _ranking),
    **dict.fromkeys(_NEIGHBOURS, _neighbour),
}
HANDLERS: dict[type, Handler] = {exp.Window: _window}
FUNCTIONS: dict[str, Handler] = dict(WINDOW_FUNCTIONS)
