"""`dataflow why`: why a job's work is where it is, in five answers, and the next command."""

from __future__ import annotations

from dataflow.actions.why import why as explain
from dataflow.cli.output import STYLES, add_json_option, as_text, paint, show_object
from dataflow.runjob.lock import is_dead

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.model.answers import Why


def add_parser(subparsers: Any) -> None:
    """Adds `why`."""
    parser = subparsers.add_parser("why", help="why work is where it is", description=__doc__)
    parser.add_argument("job", metavar="JOB")
    parser.add_argument(
        "dataid", metavar="DATAID", nargs="?", help="without it: the work that is next or stuck"
    )
    add_json_option(parser)
    parser.set_defaults(call=why)


def why(args: argparse.Namespace, context: Context) -> int:
    """Explains one work of a job, or the one that is next."""
    plan, lock_dir = context.get_plan(args.job), context.config.lock_dir
    found = explain(context.store, context.config, plan, args.dataid, lambda name: is_dead(lock_dir, name))
    if args.json:
        show_object(as_record(found), True)
    else:
        print(in_words(found))
    return 0


def as_record(found: Why) -> dict[str, Any]:
    """The explanation as JSON carries it."""
    answers = [answer.as_dict() for answer in found.answers]
    head = {"job": found.job, "dataid": found.dataid, "verdict": found.verdict}
    return head | {"answers": answers, "next": found.next}


def in_words(found: Why) -> str:
    """The explanation as a person reads it: verdict, answers, next command."""
    status, _, rest = as_text(found.verdict).partition(": ")
    lines = [f"{found.job} {as_text(found.dataid)}".rstrip(), f"{paint(status)}: {rest}", ""]
    for answer in found.answers:
        verdict = paint(f"{answer.answer:<11}", STYLES[answer.answer])
        lines.append(f"  {answer.question:<8} {verdict}  {as_text(answer.evidence)}")
    return "\n".join([*lines, "", f"next: {as_text(found.next)}"])
