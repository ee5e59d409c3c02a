"""`dataflow versions`, `rollback`, `compact` and `locate`: the versions of a chunk and their files."""

from __future__ import annotations

from dataflow.actions.descriptions import describe_version
from dataflow.actions.locations import is_local
from dataflow.actions.versions import list_versions, roll_back
from dataflow.cli.layout import TIME, make_columns
from dataflow.cli.options import Commands, add_switches, count
from dataflow.cli.output import to_json
from dataflow.cli.tables import show_rows
from dataflow.config.packages import installed_packages
from dataflow.errors import Conflict
from dataflow.model.record import pick
from dataflow.model.wording import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.pipelines.lake.published_files import LakeChunk, Located

MOST_NAMED = 10
COLUMNS = make_columns(version=0, run_id=3, rows=1, size=2, published_at=(0, TIME), current=0, location=4)


def add_parser(commands: Commands) -> None:
    """Adds the four commands."""
    commands.add("versions", show_versions, "DATASET", "DATAID", "wide", "json")
    parser = commands.add("rollback", roll_back_chunk, "DATASET", "DATAID", "why")
    help_text = "version to publish (default: the previous one)"
    parser.add_argument("--version", type=count, metavar="N", help=help_text)
    commands.add("compact", compact_chunk, "DATASET", "DATAID", "why")
    parser = commands.add("locate", locate_files, "DATASET", "[DATAID]", "json")
    add_switches(parser, stale="include STALE chunks (an input has a newer version)")


def show_versions(args: argparse.Namespace, context: Context) -> None:
    """Lists the versions of a chunk that still exist, oldest first."""
    found = list_versions(context.store, args.dataset, args.dataid, context.config.project_dir)
    shown = [version for version in found if version.current or not version.missing]
    rows = [describe_version(one) for one in shown]
    empty = f"No version of {args.dataset}/{args.dataid} is on this machine."
    show_rows(rows, COLUMNS, args.json, empty, args.wide)
    for version in found:
        if version.current and version.missing and is_local(version.location):  # tables are not checked
            context.say(
                f"Version {version.version} is current, but {version.missing} is not on this machine."
            )


def roll_back_chunk(args: argparse.Namespace, context: Context) -> None:
    """Publishes an older version of a chunk as its newest version."""
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


def compact_chunk(args: argparse.Namespace, context: Context) -> None:
    """Merges the files of a chunk in the lake into fewer, larger ones with the same rows."""
    with installed_packages("Compaction"):
        from dataflow.pipelines.lake.compaction import compact
    done = compact(context.store, (args.dataset, args.dataid), context.config.project_dir, args.why)
    name = f"{args.dataset}/{args.dataid}"
    if done.files_after == done.files_before:
        context.say(f"{name}: nothing to merge in {counted(done.files_before, 'file')}.")
    else:
        context.say(
            f"{name}: merged {done.files_before:,} files into {done.files_after:,}; still version "
            f"{done.version}. To delete the old files later: dataflow purge"
        )


def locate_files(args: argparse.Namespace, context: Context) -> int:
    """Prints the current files of a dataset in the lake, one per line, for DuckDB, Trino, pandas and
    others. Exits with 75 if it leaves out STALE chunks, or if no chunk is ready.
    """
    # start-up: only this command and those of pipelines know the lake
    from dataflow.pipelines.lake.published_files import Located, locate, locate_chunk

    project_dir = context.config.project_dir
    if args.dataid is None:
        found = locate(context.store, args.dataset, project_dir, with_stale=args.stale)
    else:
        chunk, is_stale = locate_chunk(context.store, args.dataset, args.dataid, project_dir)
        found = Located((chunk,))
        if is_stale:
            context.say(f"{chunk.dataset}/{chunk.dataid} is STALE: an input has a newer version.")
    if args.json:
        records = [as_record(chunk) for chunk in found.chunks]
        print(to_json(records if args.dataid is None else records[0], indent=2))
    else:
        for chunk in found.chunks:
            for path in chunk.files:
                print(path)
    return _report_left_out(context, args.dataset, found)


def _report_left_out(context: Context, dataset: str, found: Located) -> int:
    """Says what is not among the files; the exit code keeps a script from taking a part for the whole."""
    if found.stale:
        named = ", ".join(found.stale[:MOST_NAMED]) + (" …" if len(found.stale) > MOST_NAMED else "")
        context.say(
            f"{dataset}: left out {counted(len(found.stale), 'STALE chunk')} (an input has a newer version): "
            f"{named}. To include: dataflow locate {dataset} --stale"
        )
    elif not found.chunks:
        context.say(f"{dataset} has no ready chunk. See: dataflow chunks {dataset}")
    return Conflict.exit_code if found.stale or not found.chunks else 0


def as_record(chunk: LakeChunk) -> dict[str, Any]:
    """A chunk as `--json` shows it."""
    columns = [{"name": name, "type": kind} for name, kind in chunk.manifest.columns]
    record = pick(chunk, "dataset", "dataid", "version") | {"manifest": chunk.path, "files": chunk.files}
    return record | pick(chunk.manifest, "rows", "size") | {"columns": columns}
