"""`dataflow versions`, `rollback` and `compact`: work with the versions of a chunk."""

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
    """Adds the three commands."""
    parser = subparsers.add_parser(
        "versions", description="Lists the versions of a chunk that still exist, oldest first."
    )
    _add_chunk(parser)
    add_wide_option(parser)
    add_json_option(parser)
    parser.set_defaults(call=show_versions)
    parser = subparsers.add_parser(
        "rollback", description="Publishes an older version of a chunk as its newest version."
    )
    _add_chunk(parser)
    parser.add_argument(
        "--version", type=count, metavar="N", help="version to publish (default: the previous one)"
    )
    add_why_option(parser)
    parser.set_defaults(call=roll_back_chunk)
    parser = subparsers.add_parser(
        "compact",
        description="Merges the files of a chunk in the lake into fewer, larger ones with the same rows.",
    )
    _add_chunk(parser)
    add_why_option(parser)
    parser.set_defaults(call=compact_chunk)


def _add_chunk(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("dataid", metavar="DATAID")


def show_versions(args: argparse.Namespace, context: Context) -> int:
    """Lists the versions whose files all exist."""
    found = list_versions(context.store, args.dataset, args.dataid, context.config.project_dir)
    rows = [
        {str(name): getattr(version, name) for name in COLUMNS}
        for version in found
        if version.current or not version.missing
    ]
    empty = f"No version of {args.dataset}/{args.dataid} is on this machine."
    show_rows(rows, COLUMNS, args.json, empty, args.wide)
    for version in found:
        if version.current and version.missing and is_local(version.location):  # tables are not checked
            context.say(
                f"Version {version.version} is current, but {version.missing} is not on this machine."
            )
    return 0


def roll_back_chunk(args: argparse.Namespace, context: Context) -> int:
    """Publishes an older version again."""
    project_dir = context.config.project_dir
    done = roll_back(context.store, (args.dataset, args.dataid), args.version, project_dir, args.why)
    context.say(
        f"{args.dataset}/{args.dataid}: published version {done.version} again as version "
        f"{done.as_version}. Work that reads it runs again with the next ordinary command."
    )
    if done.work_state in ("WAITING", "CLAIMABLE"):
        context.say(
            f"{done.job}/{args.dataid} is {done.work_state}: its next run replaces this version. "
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
        files = "1 file" if done.files_before == 1 else f"{done.files_before:,} files"
        context.say(f"{name}: nothing to merge in {files}.")
    else:
        context.say(
            f"{name}: merged {done.files_before:,} files into {done.files_after:,}; still version "
            f"{done.version}. To delete the old files later: dataflow purge"
        )
    return 0
