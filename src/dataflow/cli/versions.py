"""`dataflow versions`, `rollback` and `compact`: the versions of a chunk, and which is read."""

from __future__ import annotations

from dataflow.actions.locations import is_local
from dataflow.actions.versions import list_versions, roll_back
from dataflow.cli.chunks import count
from dataflow.cli.layout import TIME, Column
from dataflow.cli.operate import add_why_option
from dataflow.cli.output import add_json_option
from dataflow.cli.tables import add_wide_option, show_rows
from dataflow.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context

COLUMNS = (
    Column("version"),
    Column("run_id", 3),
    Column("rows", 1),
    Column("size", 2),
    Column("published_at", 0, TIME),
    Column("current"),
    Column("location", 4),
)


def add_parser(subparsers: Any) -> None:
    """Adds the three words."""
    parser = subparsers.add_parser(
        "versions", description="The versions of a chunk that are still there, oldest first."
    )
    _add_chunk(parser)
    add_wide_option(parser)
    add_json_option(parser)
    parser.set_defaults(call=show_versions)
    parser = subparsers.add_parser(
        "rollback", description="Publishes an older version of a chunk again, as its newest version."
    )
    _add_chunk(parser)
    parser.add_argument("--version", type=count, metavar="N", help="this one, instead of the one before")
    add_why_option(parser)
    parser.set_defaults(call=roll_back_chunk)
    parser = subparsers.add_parser(
        "compact", description="Rewrites a chunk of the lake into fewer, larger files with the same rows."
    )
    _add_chunk(parser)
    add_why_option(parser)
    parser.set_defaults(call=compact_chunk)


def _add_chunk(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("dataid", metavar="DATAID")


def show_versions(args: argparse.Namespace, context: Context) -> int:
    """Lists the versions whose files are all there."""
    found = list_versions(context.store, args.dataset, args.dataid, context.config.project_dir)
    rows = [
        {name: getattr(version, name) for name in COLUMNS}
        for version in found
        if version.current or not version.missing
    ]
    empty = f"No version of {args.dataset}/{args.dataid} is on this machine."
    show_rows(rows, COLUMNS, args.json, empty, args.wide)
    for version in found:
        if version.current and version.missing and is_local(version.location):  # a table is not looked for
            context.say(
                f"Version {version.version} is current, but {version.missing} is not on this machine."
            )
    return 0


def roll_back_chunk(args: argparse.Namespace, context: Context) -> int:
    """Goes back to an older version."""
    project_dir = context.config.project_dir
    done = roll_back(context.store, (args.dataset, args.dataid), args.version, project_dir, args.why)
    context.say(
        f"{args.dataset}/{args.dataid}: version {done.version} is current again, as version "
        f"{done.as_version}. What was made from the one before is done again by the ordinary command."
    )
    if done.work_state in ("WAITING", "CLAIMABLE"):
        context.say(
            f"{done.job}/{args.dataid} is {done.work_state}: its next run publishes over it. "
            f"To keep it: dataflow hold {done.job} {args.dataid}"
        )
    return 0


def compact_chunk(args: argparse.Namespace, context: Context) -> int:
    """Compacts the current version of a chunk."""
    try:
        from dataflow.pipelines.lake.compaction import compact
    except ImportError as error:
        raise ConfigError(
            f"Compaction needs packages that are not installed ({error}). Install them: "
            "pip install '.[spark]' in the DataFlow checkout"
        ) from error
    done = compact(context.store, (args.dataset, args.dataid), context.config.project_dir, args.why)
    name = f"{args.dataset}/{args.dataid}"
    if done.files_after == done.files_before:
        context.say(f"{name}: {done.files_before:,} files, which are large enough; nothing was changed.")
    else:
        context.say(
            f"{name}: {done.files_before:,} files are now {done.files_after:,}, with the same rows, as "
            f"version {done.version} still. The old ones go with: dataflow purge"
        )
    return 0
