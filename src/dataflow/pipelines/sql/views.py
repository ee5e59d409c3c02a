"""Builds the one SELECT of a view pipeline from its parts. Does not translate or run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from dataflow.errors import BadInput
from dataflow.model.wording import quoted
from dataflow.pipelines.handover.records import View
from dataflow.pipelines.shape.fields import LONGEST_NAME
from dataflow.pipelines.sql.macros import TemplateInterval
from dataflow.pipelines.sql.parsing import DIALECTS, list_tables, read_statement
from dataflow.pipelines.sql.templates import render
from dataflow.pipelines.sql.work import fold

Rendered = Callable[[str, str], str]
"""Renders a template for the interval, given its text and the attribute it comes from."""

_IN_WHERE = {"expressions", "from_", "where", "order"}
_IN_JOIN = {"expressions", "from_", "joins"}


def build_select(
    view: View, interval: TemplateInterval, constants: Mapping[str, object] | None = None
) -> str:
    """Return the view's SELECT for one interval, with templates rendered and each part checked.

    The text is generated from the parsed tree, so nothing can hide in a comment or a quote.
    """

    def rendered(text: str, name: str) -> str:
        return render(text, f"{view.pipeline}.{name}", interval, dict(view.params), constants)

    if view.query:
        statement = read_statement(rendered(view.query, "query"), view.dialect, f"{view.pipeline}.query")
        _check_names(view, statement)
    else:
        statement = _assemble(view, rendered)
    _refuse_others(view, statement)
    _rename(view, statement)
    return statement.sql(dialect=DIALECTS[view.dialect], comments=False)


def _assemble(view: View, rendered: Rendered) -> exp.Select:
    source = exp.Table(this=exp.to_identifier(view.datasets[0], quoted=True))
    statement = exp.Select(expressions=_read_fields(view, rendered))
    statement.set("from_", exp.From(this=source))
    join, where = (
        rendered(getattr(view, name), name).strip().removesuffix(";").strip()
        for name in ("join_clause", "where_clause")
    )
    if join:
        found = _read_clause(view, "join_clause", join, "", _IN_JOIN)
        statement.set("joins", found.args["joins"])
    if where:
        found = _read_clause(view, "where_clause", where, " WHERE", _IN_WHERE)
        statement.set("where", found.args["where"])
        statement.set("order", found.args.get("order"))
    return statement


def _refuse_others(view: View, statement: exp.Expr) -> None:
    """BadInput for a table that is not one of its datasets: it would not be pinned or waited for."""
    others: dict[str, None] = {}
    for table in list_tables(statement, view.dialect):
        name = ".".join(fold(part) for part in table.parts)
        if isinstance(table.this, exp.Func) or name in view.datasets:
            continue
        if view.dialect == "spark" and name.lower() in [dataset.lower() for dataset in view.datasets]:
            continue
        others[name] = None
    if others:
        plain = dict.fromkeys((*view.datasets, *(name.rpartition(".")[2] for name in others)))
        listed = ", ".join(f'"{name}"' for name in plain)
        raise BadInput(
            f"{view.pipeline} reads {' and '.join(map(quoted, others))}, which dataset_pipeline does not "
            f"list. List everything it reads, by dataset or class: dataset_pipeline = [{listed}]"
            + (", and remove schema names from the SQL" if "." in "".join(others) else "")
        )


def _rename(view: View, statement: exp.Expr) -> None:
    """Read each dataset from its actual table; the statement keeps the dataset's name."""
    for table in list_tables(statement, view.dialect):
        if called := view.tables.get(fold(table.this)):
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
            table.set("this", exp.to_identifier(called, quoted=True))


def _read_clause(view: View, attribute: str, text: str, before: str, allowed: set[str]) -> exp.Select:
    """Parse a clause in its position in a SELECT; BadInput if it contains more than that clause."""
    place = f"{view.pipeline}.{attribute}"
    table = exp.to_identifier(view.datasets[0], quoted=True).sql(dialect=DIALECTS[view.dialect])
    found = read_statement(text, view.dialect, place, f"SELECT 1 FROM {table}{before}")
    extra = [key for key, value in found.args.items() if value and key not in allowed]
    if not isinstance(found, exp.Select) or extra or len(found.expressions) != 1:
        what = extra[0].rstrip("_").upper() if isinstance(found, exp.Select) and extra else found.key.upper()
        wanted = "only joins" if attribute == "join_clause" else "one condition and an optional ORDER BY"
        raise BadInput(f"{place}: {what} is not allowed here. Write {wanted}. For a whole SELECT use query.")
    if "joins" in allowed and not found.args.get("joins"):
        raise BadInput(f"{place}: no JOIN in {quoted(text)}")
    return found


def _read_fields(view: View, rendered: Rendered) -> list[exp.Expr]:
    if view.fields is True:
        return [exp.Star()]
    is_list = isinstance(view.fields, Sequence) and not isinstance(view.fields, str)
    if not is_list or not view.fields or "__all__" in view.fields:
        raise BadInput(f"{view.pipeline}.fields: must be '__all__' or a list of (expression, alias) pairs")
    fields = [_read_field(view, number, field, rendered) for number, field in enumerate(view.fields, 1)]
    _refuse_doubles(view, [field.output_name for field in fields])
    return fields


def _read_field(view: View, number: int, field: Any, rendered: Rendered) -> exp.Expr:
    place = f"{view.pipeline}.fields[{number}]"
    template, alias = (field, None) if isinstance(field, str) else _read_pair(place, field)
    expression = rendered(template, f"fields[{number}]")
    found = read_statement(expression, view.dialect, place, "SELECT")
    extra = [key for key, value in found.args.items() if value and key != "expressions"]
    if not isinstance(found, exp.Select) or extra or len(found.expressions) != 1:
        raise BadInput(f"{place}: {quoted(expression)} is not one expression")
    value: exp.Expr = found.expressions[0]
    if alias is None:
        return value
    if isinstance(value, exp.Alias | exp.Star) or value.is_star:
        raise BadInput(
            f"{place}: {quoted(expression)} cannot be named {quoted(alias)}: it has a name or is several"
        )
    return exp.Alias(this=value, alias=exp.to_identifier(alias, quoted=True))


def _read_pair(place: str, field: Any) -> tuple[str, str]:
    if not isinstance(field, Sequence) or len(field) != 2 or not all(isinstance(each, str) for each in field):
        raise BadInput(f"{place}: {quoted(str(field))} is not a pair of strings (expression, alias)")
    _check_name(place, field[1])
    return field[0], field[1]


def _check_name(place: str, name: str) -> None:
    if not name or "\0" in name:
        raise BadInput(f"{place}: alias {quoted(name)} is empty or contains a NUL character")
    if len(name.encode()) > LONGEST_NAME:
        raise BadInput(
            f"{place}: alias {quoted(name)} is longer than PostgreSQL's limit of {LONGEST_NAME} bytes"
        )


def _check_names(view: View, statement: exp.Query) -> None:
    for name in statement.named_selects:
        if name != "*":
            _check_name(f"{view.pipeline}.query", name or "?column?")
    _refuse_doubles(view, [name for name in statement.named_selects if name not in ("", "*")])


def _refuse_doubles(view: View, names: list[str]) -> None:
    for name in names:
        if name and names.count(name) > 1:
            raise BadInput(
                f"{view.pipeline}: two columns are named {quoted(name)}. Give one of them another alias."
            )
