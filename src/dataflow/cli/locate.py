"""`dataflow locate`: prints the current files of a dataset in the lake."""

from __future__ import annotations

from dataflow.cli.output import add_json_option, to_json
from dataflow.errors import Conflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.pipelines.lake.published_files import LakeChunk, Located

MOST_NAMED = 10
TEXT = (
    "Prints the current files of a dataset in the lake, one per line, for DuckDB, Trino, pandas and others. "
    "Exits with 75 if it leaves chunks out because they are STALE, or finds none."
)


def add_parser(subparsers: Any) -> None:
    """Adds `locate`."""
    parser = subparsers.add_parser("locate", help="print the current files of a dataset", description=TEXT)
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("dataid", metavar="DATAID", nargs="?", help="only this chunk, STALE or not")
    parser.add_argument(
        "--stale", action="store_true", help="include STALE chunks (an input has a newer version)"
    )
    add_json_option(parser)
    parser.set_defaults(call=locate_files)


def locate_files(args: argparse.Namespace, context: Context) -> int:
    """Prints one path per line, or each chunk as JSON; exits 75 if it leaves chunks out or finds none."""
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
        chunks = "1 STALE chunk" if len(found.stale) == 1 else f"{len(found.stale):,} STALE chunks"
        context.say(
            f"{dataset}: left out {chunks} (an input has a newer version): {named}. To include: "
            f"dataflow locate {dataset} --stale"
        )
    elif not found.chunks:
        context.say(f"{dataset} has no ready chunk. See: dataflow chunks {dataset}")
    return Conflict.exit_code if found.stale or not found.chunks else 0


def as_record(chunk: LakeChunk) -> dict[str, Any]:
    """A chunk as `--json` shows it."""
    return {
        "dataset": chunk.dataset,
        "dataid": chunk.dataid,
        "version": chunk.version,
        "manifest": chunk.path,
        "files": list(chunk.files),
        "rows": chunk.manifest.rows,
        "size": chunk.manifest.size,
        "columns": [{"name": name, "type": kind} for name, kind in chunk.manifest.columns],
    }
