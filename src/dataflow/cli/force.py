"""The command line of `dataflow force JOB DATAID -- command…`."""

from __future__ import annotations

from dataflow.cli.main import Parser, parse_options
from dataflow.errors import UsageError
from dataflow.model.record import record


@record
class Forced:
    """A command to run for one dataid, whatever its state."""

    store: str | None
    job: str
    dataid: str
    argv: tuple[str, ...]


def parse_force(argv: list[str]) -> Forced:
    """Read the command line."""
    before, dashes, command = argv, "", list[str]()
    if "--" in argv:
        at = argv.index("--")
        before, dashes, command = argv[:at], "--", argv[at + 1 :]
    parser = Parser(prog="dataflow force", usage="dataflow force JOB DATAID -- command [args…]")
    parser.description = "Runs a command for a dataid in any state: not ready, held, done or failed."
    parser.add_argument("--store", metavar="URL", help="sqlite:///path or postgresql://user@host/database")
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("dataid", metavar="DATAID")
    args = parse_options(parser, before)
    if not dashes or not command:
        raise UsageError(f"No command given. Usage: dataflow force {args.job} {args.dataid} -- COMMAND")
    return Forced(args.store, args.job, args.dataid, tuple(command))
