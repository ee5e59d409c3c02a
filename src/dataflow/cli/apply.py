"""`dataflow apply` and `dataflow export`: datasets and jobs as TOML files."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Mapping

from dataflow.actions.apply import apply_changes, export_declarations, plan_changes, plan_first_changes
from dataflow.actions.differences import ADDED, CHANGED, UNCHANGED, Change
from dataflow.actions.job_graph import find_open_chain
from dataflow.actions.next_commands import shell
from dataflow.cli.asking import is_terminal, may_go_on
from dataflow.cli.context import Context
from dataflow.cli.job import say_how_it_begins, say_if_no_start, say_what_stays
from dataflow.cli.options import Commands, add_switches
from dataflow.cli.output import as_text
from dataflow.cli.terminal import write_line
from dataflow.config.declarations import read_declarations
from dataflow.config.project import PROJECT_FILE
from dataflow.errors import FilesFailed, UsageError
from dataflow.model.records import SCRIPT
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.config.declarations import Declarations

SHOWN = 5
SIGNS = {ADDED: "+", CHANGED: "~"}


def add_parser(commands: Commands) -> None:
    """Adds `apply` and `export`."""
    parser = commands.add("apply", apply, "yes", makes_store=True)
    help_text = f"a TOML file (default: the project's {PROJECT_FILE})"
    parser.add_argument("files", nargs="*", default=[], metavar="FILE", help=help_text)
    add_switches(commands.add("export", export_all), with_secrets="include passwords, encrypted")


def apply(args: argparse.Namespace, context: Context) -> int:
    """Registers the datasets and jobs declared in TOML files. Shows the changes and asks first.

    Datasets and jobs that no file names stay as they are; in those it names, a missing key returns to its
    default (the password stays).
    """
    for path in args.files:
        if not os.path.exists(path):
            raise FilesFailed(f"{quoted(path)} does not exist. Name another file.")
        if not os.access(path, os.R_OK):
            raise FilesFailed(
                f"{quoted(path)} cannot be read: permission denied. Check: ls -l {quoted(path)}"
            )
    declarations = read_declarations(args.files or [_project_file(context)])
    if context.is_store_missing:
        planned = plan_first_changes(declarations)
    else:
        planned = plan_changes(context.store, declarations)
    show_changes(planned, declarations.checks)
    if not args.files and not context.is_store_missing:
        _say_undeclared(context, declarations)
    if all(change.what == UNCHANGED for change in planned):
        context.say("Nothing to change.")
        return 0
    if not args.yes and not is_terminal():
        command = shell("dataflow", "apply", *args.files, "--yes")
        raise UsageError(f"Nothing changed: there is no terminal to ask on. Do not ask: {command}")
    if not may_go_on("Apply these changes?", args.yes):
        return 1
    changes = apply_changes(context.store, declarations)
    counts = Counter([change.what for change in changes])
    context.say(
        ", ".join([f"{counts[what]} {what}" for what in (ADDED, CHANGED, UNCHANGED) if counts[what]]) + "."
    )
    declared = {job.name: job for job in declarations.jobs}
    for change in changes:
        if change.kind == "job" and change.what != UNCHANGED and change.name in declared:
            # The file is asked first: with thousands of jobs, queries to the store would be slow.
            if find_open_chain(declared[change.name]):
                say_how_it_begins(context, change.name)
            say_if_no_start(context, declared[change.name])
            say_what_stays(context, change)
    return 0


def _say_undeclared(context: Context, declarations: Declarations) -> None:
    """Names the jobs that are registered and that the project's file does not declare."""
    declared = {job.name for job in declarations.jobs}
    registered = [job.job for job in context.store.read.list_job_holds() if job.kind in ("", SCRIPT)]
    others = [name for name in registered if name not in declared]
    if others:
        more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        remove = shell("dataflow", "job", "remove", others[0])
        context.say(f"Not declared here: {', '.join(others[:SHOWN])}{more}. To remove a job: {remove}")


def export_all(args: argparse.Namespace, context: Context) -> None:
    """Prints all datasets and jobs as a TOML file that `dataflow apply` reads."""
    print(export_declarations(context.store, args.with_secrets), end="")
    if context.config.checks:
        context.say(f"Checks are not exported: they are only in the {PROJECT_FILE} of each machine.")


def show_changes(changes: Iterable[Change], checks: Mapping[str, tuple[str, ...]]) -> None:
    """Writes each change with its fields, and all checks, which are not kept in the store."""
    unchanged, other_checks = 0, dict(checks)
    for change in changes:
        if change.what == UNCHANGED:
            unchanged += 1
            continue
        print(f"{SIGNS[change.what]} {change.kind} {change.name}")
        for difference in change.differences:
            write_line(f"    {as_text(str(difference))}")
        if change.kind == "dataset" and (check := other_checks.pop(change.name, None)):
            write_line(f"    check: {as_text(shell(*check))}")
    if unchanged:
        print(f"= {unchanged} unchanged")
    for name, check in other_checks.items():
        write_line(f"    check of {name}: {as_text(shell(*check))}")


def _project_file(context: Context) -> str:
    path = os.path.join(context.config.project_dir, PROJECT_FILE)
    if not os.path.exists(path):
        raise UsageError(
            f"No {PROJECT_FILE} in {context.config.project_dir}. Name a file, go to the project's folder, "
            "or create a project: dataflow init"
        )
    return path
