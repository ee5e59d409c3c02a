"""The words of `dataflow force JOB DATAID -- command…`."""

from __future__ import annotations

from dataflow.cli.main import Parser, parse_options
from dataflow.errors import UsageError


def parse_force(argv: list[str]) -> tuple[str | None, str, str, tuple[str, ...]]:
    """Store, job, dataid and command of a force."""
    before, dashes, command = argv, "", list[str]()
    if "--" in argv:
        at = argv.index("--")
        before, dashes, command = argv[:at], "--", argv[at + 1 :]
    parser = Parser(prog="dataflow force", usage="dataflow force JOB DATAID -- command [args…]")
    parser.description = "Runs a command for a dataid whatever its state: not ready, held, done or failed."
    parser.add_argument("--store", metavar="URL", help="sqlite:///path or postgresql://user@host/database")
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("dataid", metavar="DATAID")
    args = parse_options(parser, before)
    if not dashes or not command:
        raise UsageError(f"What shall be run? dataflow force {args.job} {args.dataid} -- ./script.sh")
    return args.store, args.job, args.dataid, tuple(command)
