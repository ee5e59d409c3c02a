"""`dataflow locate`: the current files of a dataset in the lake, for DuckDB, Trino, pandas and others."""

from __future__ import annotations

from dataflow.cli.output import add_json_option, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.pipelines.lake.published_files import LakeChunk


def add_parser(subparsers: Any) -> None:
    """Adds `locate`."""
    parser = subparsers.add_parser("locate", help="the current files of a dataset", description=__doc__)
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("dataid", metavar="DATAID", nargs="?", help="only this chunk")
    add_json_option(parser)
    parser.set_defaults(call=locate_files)


def locate_files(args: argparse.Namespace, context: Context) -> int:
    """Prints one path per line, or what is known of each chunk as JSON."""
    # start-up: only this command and those of pipelines know the lake
    from dataflow.pipelines.lake.published_files import Located, locate, locate_chunk

    project_dir = context.config.project_dir
    if args.dataid is None:
        found = locate(context.store, args.dataset, project_dir)
    else:
        chunk, is_stale = locate_chunk(context.store, args.dataset, args.dataid, project_dir)
        found = Located((chunk,))
        if is_stale:
            context.say(f"{chunk.dataset}/{chunk.dataid} is STALE: an input has a newer version.")
    if found.stale:
        context.say(f"Left out, because an input has a newer version (STALE): {', '.join(found.stale)}")
    if args.json:
        records = [as_record(chunk) for chunk in found.chunks]
        print(to_json(records if args.dataid is None else records[0], indent=2))
        return 0
    for chunk in found.chunks:
        for path in chunk.files:
            print(path)
    if not found.chunks:
        context.say(f"{args.dataset} has no ready chunk. See: dataflow chunks {args.dataset}")
    return 0


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
