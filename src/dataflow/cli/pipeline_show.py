"""`dataflow pipeline show|plan|preview`: shows a definition, what it would do, and its first rows."""

from __future__ import annotations

import sys
from textwrap import dedent

from dataflow.cli.layout import PROSE, make_columns
from dataflow.cli.options import Commands, count
from dataflow.cli.output import as_text, paint, show_object
from dataflow.cli.pipeline_settings import get_settings, load_catalog
from dataflow.cli.sql import plain
from dataflow.cli.tables import data_columns, show_rows
from dataflow.cli.terminal import wrap_for, write_line
from dataflow.errors import BadInput
from dataflow.model.record import pick, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.pipelines.declare.catalog import Definition
    from dataflow.pipelines.run.facilities import Facilities
    from dataflow.pipelines.show.plan import Outlook
    from dataflow.pipelines.show.preview import Preview
    from dataflow.store.store import Store

ROWS = 10
SHOWN_REJECTS = 5
SQL_KEYS = ("select", "spark_sql", "ddl")
CLAUSES = ("query", "join_clause", "where_clause")


def add_parsers(words: Commands) -> None:
    """Adds `show`, `plan` and `preview` under `pipeline`."""
    shared = ("NAME", "wide", "json")
    words.add("show", show_pipeline, *shared, line="show the definition of a pipeline")
    line = "show which intervals would run, why, and what they would do"
    plan = words.add("plan", plan_pipeline, *shared, line=line)
    preview = words.add("preview", preview_pipeline, *shared, line="show the first rows of one interval")
    help_text = f"number of rows (default: {ROWS})"
    preview.add_argument("--rows", type=count, default=ROWS, metavar="N", help=help_text)
    for command in (plan, preview):
        help_text = "this interval, due or not (default: the next that is due)"
        command.add_argument("--dataid", metavar="D", help=help_text)


def show_pipeline(args: argparse.Namespace, context: Context) -> None:
    """Shows the definition of a pipeline, with its file and line."""
    definition, settings = load_catalog(context).get(args.name), get_settings(context)
    from dataflow.pipelines.show.description import describe, over_note

    with settings.secrets.hidden_in_errors():
        found = settings.secrets.redact_all(describe(definition, settings))
    if args.json:
        show_object(found, True)
        return
    del found["schedule"]["is_over"]  # said in words
    found["note"] = over_note(definition)
    mapping, texts = found.pop("mapping", None), {key: found.pop(key, "") for key in CLAUSES}
    for name in ("source", "schedule"):
        if name in found:
            found[name] = _without_empty(found[name])
    show_object(_without_empty(found), False)
    if mapping:
        print()
        columns = make_columns(source=(0, PROSE), column=0, type=(1, PROSE))
        show_rows(mapping, columns, False, wide=args.wide)
    for key, text in _without_empty(texts).items():
        print(f"\n-- {key}\n{dedent(text).strip()}")


def plan_pipeline(args: argparse.Namespace, context: Context) -> None:
    """Shows which intervals would run and why, and what one of them would do: its exact SQL, the DDL of
    its table, its first request. Changes nothing.
    """
    definition, facilities, outlook = _look_ahead(args, context)
    from dataflow.pipelines.show.plan import describe_outlook
    from dataflow.pipelines.show.statements import describe_interval

    secrets = facilities.settings.secrets
    with secrets.hidden_in_errors():
        detail = describe_interval(outlook.plan, facilities) if outlook.plan else None
    detail = secrets.redact_all(detail)
    if args.json:
        show_object(describe_outlook(definition, outlook, detail), True)
        return
    _print_outlook(definition, outlook, args.wide)
    if args.dataid is None:
        _say_hidden(context, outlook)
    if detail:
        _print_detail(detail)


def preview_pipeline(args: argparse.Namespace, context: Context) -> None:
    """Shows the first rows of one interval as they would be published, and its rejects. Publishes nothing."""
    definition, facilities, outlook = _look_ahead(args, context)
    if not outlook.dataid:
        raise BadInput(
            f"{definition.job} has no interval yet. "
            f"Name one: dataflow pipeline preview {definition.job} --dataid D"
        )
    from dataflow.pipelines.show.preview import preview

    secrets = facilities.settings.secrets
    with secrets.hidden_in_errors():
        try:
            found = preview(outlook, facilities, args.rows)
        finally:
            facilities.spark.shared.stop()
    found = replace(found, rejects=tuple(secrets.redact_all(found.rejects)))
    _print_preview(context, found, args.json, args.wide)


def _look_ahead(args: argparse.Namespace, context: Context) -> tuple[Definition, Facilities, Outlook]:
    """A pipeline, what it runs with, and the intervals that would run now."""
    catalog = load_catalog(context)
    definition = catalog.get(args.name)
    from dataflow.cli.progress import PipelineProgress
    from dataflow.pipelines.run.facilities import Facilities
    from dataflow.pipelines.show.plan import Scene, look_ahead

    config, settings = context.config, get_settings(context)
    scene = Scene(catalog, settings, config, context.is_gone)
    facilities = Facilities(config, _store(context), settings, catalog.constants, PipelineProgress())
    with settings.secrets.hidden_in_errors():
        return definition, facilities, look_ahead(facilities.store, definition, scene, args.dataid)


def _store(context: Context) -> Store:
    """The project's store, or an empty one in memory if the project has none yet."""
    from dataflow.store.opener import find_missing, open_store

    if find_missing(context.config.store_url):
        return open_store("sqlite:///:memory:", context.config.actor)
    return context.store


def _without_empty(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value not in ("", [], {}, None)}


def _print_outlook(definition: Definition, outlook: Outlook, wide: bool) -> None:
    rows = [pick(one, "dataid", "state", "why") for one in outlook.intervals]
    empty = f"No interval of {definition.job} has ended yet. To run one anyway: --dataid"
    if definition.timing.is_over:
        empty = (
            f"{definition.job} starts after its end ({definition.place}). To run an interval anyway: --dataid"
        )
    columns = make_columns(dataid=0, state=0, why=(1, PROSE))
    show_rows(rows, columns, False, empty, wide)


def _say_hidden(context: Context, outlook: Outlook) -> None:
    hidden = sum(outlook.counts.values()) - len(outlook.intervals)
    if hidden > 0:
        counted = ", ".join(f"{count} {state}" for state, count in outlook.counts.items())
        context.say(f"{hidden} more not shown. Total: {counted}.")


def _print_detail(detail: dict[str, Any]) -> None:
    print()
    plain = {name: value for name, value in detail.items() if name not in SQL_KEYS}
    show_object({"interval": plain.pop("dataid")} | plain, False)
    for key in SQL_KEYS:
        if key in detail:
            print(f"\n-- {key}")
            statements = detail[key] if isinstance(detail[key], list) else [detail[key]]
            print("\n".join(f"{statement};" for statement in statements))


def _print_preview(context: Context, found: Preview, as_json: bool, wide: bool) -> None:
    if as_json:
        record = pick(found, "dataid", "read", "columns", "rows", "rejects", "drift", "refused")
        show_object(record | {"columns": dict(found.columns)}, True)
        return
    context.say(f"{found.dataid}, from {found.read}; nothing was published.")
    columns = data_columns([name for name, _ in found.columns])
    rows = [{name: plain(value) for name, value in row.items()} for row in found.rows]
    show_rows(rows, columns, False, "No rows fit.", wide)
    for one in found.rejects[:SHOWN_REJECTS]:
        where = f" {one['field']}={one['value']!r}" if one["field"] else f" {one['value']!r}"
        _print_line("reject", f"row {one['row']}{as_text(where)}: {as_text(one['reason'])}")
    if len(found.rejects) > SHOWN_REJECTS:
        print(f"and {len(found.rejects) - SHOWN_REJECTS} more rejects; see --json")
    for line in found.refused[:SHOWN_REJECTS]:
        _print_line("refused", as_text(line))
    if len(found.refused) > SHOWN_REJECTS:
        print(f"and {len(found.refused) - SHOWN_REJECTS} more columns; see --json")
    for line in found.drift:
        write_line(f"drift: {as_text(line)}")


def _print_line(word: str, text: str) -> None:
    line = wrap_for(sys.stdout, f"{word}: {text}")
    print(f"{paint(word, 'bold red')}{line[len(word) :]}")
