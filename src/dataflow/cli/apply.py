"""`dataflow apply` and `dataflow export`: datasets and jobs as TOML files."""

from __future__ import annotations

import os
from collections import Counter

from dataflow.actions.apply import apply_changes, export_declarations, plan_changes
from dataflow.actions.differences import ADDED, CHANGED, UNCHANGED
from dataflow.actions.job_graph import find_open_chain
from dataflow.actions.next_commands import shell
from dataflow.cli.asking import add_yes_option, is_terminal, may_go_on
from dataflow.cli.job import say_how_it_begins, say_what_stays
from dataflow.cli.output import as_text
from dataflow.config.declarations import read_declarations
from dataflow.config.project import PROJECT_FILE
from dataflow.errors import ConfigError, UsageError
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping
    from typing import Any

    from dataflow.actions.differences import Change
    from dataflow.cli.context import Context

SIGNS = {ADDED: "+", CHANGED: "~"}


def add_parser(subparsers: Any) -> None:
    """Adds `apply` and `export`."""
    text = (
        "Registers the datasets and jobs that TOML files declare, showing the difference first. "
        "What the files do not name stays as it is."
    )
    parser = subparsers.add_parser("apply", help="register what files declare", description=text)
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"the project's {PROJECT_FILE} unless told")
    add_yes_option(parser)
    parser.set_defaults(call=apply, makes_store=True)
    text = "Writes all datasets and jobs as a TOML file that `dataflow apply` reads back, on stdout."
    export = subparsers.add_parser("export", help="write such a file", description=text)
    export.add_argument("--with-secrets", action="store_true", help="passwords too, in their encrypted form")
    export.set_defaults(call=export_all)


def apply(args: argparse.Namespace, context: Context) -> int:
    """Shows what would change, asks, and changes it."""
    for path in args.files:
        if not os.path.exists(path):
            raise ConfigError(f"{quoted(path)} cannot be read: there is no such file. Name another.")
    declarations = read_declarations(args.files or [_project_file(context)])
    planned = plan_changes(context.store, declarations)
    show_changes(planned, declarations.checks)
    if all(change.what == UNCHANGED for change in planned):
        context.say("Nothing to change.")
        return 0
    if not args.yes and not is_terminal():
        raise UsageError("nothing was changed: there is nobody to ask. To change it: dataflow apply --yes …")
    if not may_go_on("Change this?", args.yes):
        return 1
    changes = apply_changes(context.store, declarations)
    counts = Counter([change.what for change in changes])
    context.say(
        ", ".join([f"{counts[what]} {what}" for what in (ADDED, CHANGED, UNCHANGED) if counts[what]]) + "."
    )
    declared = {job.name: job for job in declarations.jobs}
    for change in changes:
        if change.kind == "job" and change.what != UNCHANGED:
            # Asked of the file first: with thousands of jobs each question to the store would be felt.
            if find_open_chain(declared[change.name]):
                say_how_it_begins(context, change.name)
            say_what_stays(context, change)
    return 0


def export_all(args: argparse.Namespace, context: Context) -> int:
    """Writes the declarations."""
    print(export_declarations(context.store, args.with_secrets), end="")
    return 0


def show_changes(changes: Iterable[Change], checks: Mapping[str, tuple[str, ...]]) -> None:
    """Writes each change with its fields, and the check of each dataset, which is not kept in the store."""
    changes = list(changes)
    unchanged = 0
    for change in changes:
        if change.what == UNCHANGED:
            unchanged += 1
            continue
        print(f"{SIGNS[change.what]} {change.kind} {change.name}")
        for difference in change.differences:
            print(f"    {as_text(str(difference))}")
        if change.kind == "dataset" and change.name in checks:
            print(f"    check: {as_text(shell(*checks[change.name]))}")
    if unchanged:
        print(f"= {unchanged} unchanged")
    for change in changes:
        if change.kind == "dataset" and change.what == UNCHANGED and change.name in checks:
            print(f"    check of {change.name}: {as_text(shell(*checks[change.name]))}")


def _project_file(context: Context) -> str:
    path = os.path.join(context.config.project_dir, PROJECT_FILE)
    if not os.path.exists(path):
        raise UsageError(f"there is no {PROJECT_FILE} here. Name a file, or make a project: dataflow init")
    return path
