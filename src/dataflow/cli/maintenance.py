"""`dataflow doctor`, `db` and `purge`: check everything, upgrade the schema, delete old history."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from dataflow.actions.doctor import (
    OK,
    PROBLEM,
    WARNING,
    Finding,
    examine,
    examine_machine,
    repair,
    upgrade_schema,
)
from dataflow.actions.incidents import list_unmatched
from dataflow.actions.purge import purge, retain
from dataflow.cli.asking import may_go_on
from dataflow.cli.context import Context
from dataflow.cli.layout import PROSE, make_columns
from dataflow.cli.options import Commands, add_switches
from dataflow.cli.output import show_object
from dataflow.cli.pipeline_settings import get_settings
from dataflow.cli.progress import Progress
from dataflow.cli.tables import show_rows
from dataflow.config.durations import parse_option
from dataflow.config.packages import installed_packages
from dataflow.config.project import PROJECT_FILE
from dataflow.errors import BadInput, DataFlowError, SchemaMismatch, StoreMissing, UsageError
from dataflow.model.record import pick, replace
from dataflow.model.url_text import masked_url
from dataflow.model.wording import counted
from dataflow.runjob.lock import remove_dead
from dataflow.store.queries import SCHEMA_VERSION

COLUMNS = make_columns(check=0, level=0, text=(0, PROSE), next=(1, PROSE))


def add_parser(commands: Commands) -> None:
    """Adds `doctor`, `db` and `purge`."""
    parser = commands.add("doctor", doctor, "wide", "json")
    add_switches(parser, repair="correct wrong days and recompute wrong input counts")
    add_switches(parser, spark="also check Spark, with a task on every executor")
    words = commands.add_group("db", "Upgrades or shows the schema of the store.")
    parser = words.add("upgrade", upgrade, line="upgrade the schema", makes_store=True)
    help_text = "print the SQL for a DBA and change nothing"
    parser.add_argument("--print", dest="only_print", action="store_true", help=help_text)
    words.add("version", show_version, "json", line="show the schema version")
    parser = commands.add("purge", purge_history, "yes")
    parser.add_argument("--older-than", required=True, metavar="DURATION", help="age, such as 90d")


def doctor(args: argparse.Namespace, context: Context) -> int:
    """Checks readiness, leases, clocks and permissions. Exits with 1 if it finds a problem."""
    if args.repair:
        repaired = repair(context.store)
        context.say(
            f"Recomputed: {', '.join(repaired)}"
            if repaired
            else "Nothing to repair: all days and counts are right."
        )
    findings = list(list_findings(context))
    if args.spark:
        findings += list_spark_findings(context)
    rows = [pick(found, *COLUMNS) for found in findings]
    show_rows(rows, COLUMNS, args.json, wide=args.wide)
    return 1 if any(found.level == PROBLEM for found in findings) else 0


def list_findings(context: Context) -> Iterator[Finding]:
    """All findings; a store that does not answer is one of them."""
    config = context.config
    try:
        store = context.store
        store.read.get_now()
    except DataFlowError as error:
        yield from examine_machine(config, context.is_gone)
        yield Finding("store", PROBLEM, str(error), "dataflow init" if config.is_outside else _way_out(error))
        return
    yield from examine(store, config, context.is_gone, lambda name: remove_dead(config.lock_dir, name))
    yield from list_channel_findings(context)


def list_channel_findings(context: Context) -> Iterator[Finding]:
    """What is wrong with the channels of this machine, and notifications that nobody got."""
    from dataflow.cli.incidents import list_problems  # start-up: only this check needs it
    from dataflow.config.channels import find_channels

    problems = list_problems(context)
    for problem in problems:
        yield Finding("channels", PROBLEM, problem, f"correct {PROJECT_FILE}, then: dataflow notify")
    found = find_channels(context.config.project_dir).channels
    unmatched = list_unmatched(context.store, found)
    for text in unmatched:
        yield Finding("channels", WARNING, text, f"correct {PROJECT_FILE}")
    failing = context.store.watching.list_failed()
    for failed in failing:
        did = "gave up telling" if failed.state == "failed" else f"failed (attempt {failed.attempts}) to tell"
        text = f"channel {failed.channel} {did} of incident {failed.incident_id}: {failed.error}"
        yield Finding("channels", PROBLEM, text, "dataflow incidents --all")
    if found and not problems and not unmatched and not failing:
        yield Finding("channels", OK, f"{counted(len(found), 'channel')}: settings are right", "")


def list_spark_findings(context: Context) -> Iterator[Finding]:
    """The findings about Spark; missing packages are one of them."""
    try:
        with installed_packages("Pipelines"):
            from dataflow.pipelines.show.spark_doctor import examine_spark
        settings = get_settings(context)
    except DataFlowError as error:
        yield Finding("spark", PROBLEM, str(error), "dataflow doctor --spark")
        return
    for finding in examine_spark(context.config, settings, context.environ):
        yield replace(finding, text=settings.secrets.redact_text(finding.text))


def _way_out(error: DataFlowError) -> str:
    if isinstance(error, StoreMissing):
        return "dataflow dataset add NAME"
    return "dataflow db upgrade" if isinstance(error, SchemaMismatch) else "dataflow doctor --store URL"


def upgrade(args: argparse.Namespace, context: Context) -> int:
    """Upgrades the store's schema to the version that this DataFlow needs."""
    if args.only_print:
        return _print_schema(context)
    applied = upgrade_schema(context.store)
    found = context.store.database.schema_version()
    context.say(
        f"Applied {', '.join(applied)}." if applied else f"The store has schema {found}; nothing to do."
    )
    return 0


def show_version(args: argparse.Namespace, context: Context) -> None:
    """Shows the schema version of the store and the one that this DataFlow needs."""
    database = context.store.database
    found = database.schema_version()
    show_object({"store": masked_url(database.url), "schema": found, "needed": SCHEMA_VERSION}, args.json)


def _print_schema(context: Context) -> int:
    if context.config.store_url.startswith("sqlite:"):
        raise UsageError("--print is for PostgreSQL: a SQLite store creates its own schema. Leave it out.")
    from dataflow.store.postgres import PostgresDatabase

    database = context.store.database
    assert isinstance(database, PostgresDatabase)
    print(database.migrations_text())
    return 0


def purge_history(args: argparse.Namespace, context: Context) -> int:
    """Deletes ended runs, journal entries, logs and context files that are older than DURATION, and, in
    the lake, versions that were replaced longer ago and files that ended runs left. Keeps the last run
    of each work, and everything that is published or that a run reads or writes.
    """
    seconds = parse_option("--older-than", args.older_than)
    if args.older_than.strip().isdecimal() and seconds:
        days, short = f"{args.older_than.strip()}d", f"{args.older_than.strip()}s"
        raise BadInput(
            f"--older-than {args.older_than} has no unit. Write {days} for days, or {short} for seconds."
        )
    question = f"Delete all history, logs and replaced versions in the lake older than {args.older_than}?"
    if not may_go_on(question, args.yes):
        return 1
    config = context.config
    retained = retain(context.store, seconds, config.project_dir, config.log_dir)
    with Progress("runs and journal entries deleted") as progress:
        result = purge(context.store, seconds, config.log_dir, config.context_dir, progress)
    rows = counted(result.rows, "run or journal entry", "runs and journal entries")
    logs = counted(result.logs + retained.logs, "log")
    context.say(f"Deleted {rows}, {logs} and {counted(result.contexts, 'context file')}.")
    if retained.versions or retained.folders:
        folders = counted(retained.folders, "folder")
        context.say(f"Deleted {counted(retained.versions, 'replaced version')} and {folders} of ended runs.")
    return 0
