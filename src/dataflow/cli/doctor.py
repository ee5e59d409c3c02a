"""`dataflow doctor`: checks readiness, leases, clocks and permissions; exits 1 on a problem."""

from __future__ import annotations

from dataflow.actions.doctor import PROBLEM, Finding, examine, examine_machine, repair
from dataflow.cli.layout import PROSE, Column
from dataflow.cli.output import add_json_option
from dataflow.cli.tables import add_wide_option, show_rows
from dataflow.errors import DataFlowError, SchemaMismatch, StoreMissing
from dataflow.model.record import replace
from dataflow.runjob.lock import is_claimant_name, is_dead, remove_dead

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

    from dataflow.cli.context import Context

TEXT = "Checks readiness, leases, clocks and permissions. Exits with 1 if it finds a problem."
COLUMNS = (Column("check"), Column("level"), Column("text", 0, PROSE), Column("next", 1, PROSE))


def add_parser(subparsers: Any) -> None:
    """Adds `doctor`."""
    parser = subparsers.add_parser("doctor", help="check everything", description=TEXT)
    parser.add_argument("--repair", action="store_true", help="recompute wrong input counts")
    parser.add_argument(
        "--spark", action="store_true", help="also check Spark, with a task on every executor"
    )
    add_wide_option(parser)
    add_json_option(parser)
    parser.set_defaults(call=doctor)


def doctor(args: argparse.Namespace, context: Context) -> int:
    """Examines the store and this machine."""
    if args.repair:
        repaired = repair(context.store)
        context.say(
            f"Recomputed: {', '.join(repaired)}" if repaired else "Nothing to repair: all counts are right."
        )
    findings = list(list_findings(context))
    if args.spark:
        findings += list_spark_findings(context)
    rows = [{str(name): getattr(found, name) for name in COLUMNS} for found in findings]
    show_rows(rows, COLUMNS, args.json, wide=args.wide)
    return 1 if any(found.level == PROBLEM for found in findings) else 0


def list_findings(context: Context) -> Iterator[Finding]:
    """All findings; a store that does not answer is one of them."""
    config = context.config

    def is_gone(name: str) -> bool:
        return is_claimant_name(name) and is_dead(config.lock_dir, name)

    try:
        store = context.store
        store.read.get_now()
    except DataFlowError as error:
        yield from examine_machine(config, is_gone)
        yield Finding("store", PROBLEM, str(error), _way_out(error))
        return
    yield from examine(store, config, is_gone, lambda name: remove_dead(config.lock_dir, name))


def list_spark_findings(context: Context) -> Iterator[Finding]:
    """The findings about Spark; missing packages are one of them."""
    try:
        from dataflow.pipelines.declare.settings import PipelineSettings
        from dataflow.pipelines.show.spark_doctor import examine_spark
    except ImportError as error:
        text = f"Pipelines need packages that are not installed ({error})"
        yield Finding("spark", PROBLEM, text, "pip install '.[spark]' in the DataFlow checkout")
        return
    config = context.config
    try:
        settings = PipelineSettings(config.project_dir, context.environ, context.passphrase)
    except DataFlowError as error:
        yield Finding("spark", PROBLEM, str(error), "dataflow doctor --spark")
        return
    for finding in examine_spark(config, settings, context.environ):
        yield replace(finding, text=settings.secrets.redact_text(finding.text))


def _way_out(error: DataFlowError) -> str:
    if isinstance(error, StoreMissing):
        return "dataflow dataset add NAME"
    return "dataflow db upgrade" if isinstance(error, SchemaMismatch) else "dataflow doctor --store URL"
