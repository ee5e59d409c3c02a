"""`dataflow why`: explains the state of work in five answers, with the next command."""

from __future__ import annotations

import re
import sys

from dataflow.actions.descriptions import describe_why
from dataflow.actions.next_commands import plan_command
from dataflow.actions.why import why as explain
from dataflow.cli.options import Commands
from dataflow.cli.output import STYLES, as_text, paint, show_object
from dataflow.cli.terminal import find_width, short_time, wrap_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from dataflow.cli.context import Context
    from dataflow.model.answers import Why


TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


def add_parser(commands: Commands) -> None:
    """Adds `why`."""
    parser = commands.add("why", why, "JOB", "json")
    help_text = "dataid of the work (default: the work that is next or stuck)"
    parser.add_argument("dataid", metavar="DATAID", nargs="?", help=help_text)


def why(args: argparse.Namespace, context: Context) -> None:
    """Explains the state of a job's work in five answers and names the next command."""
    plan = context.get_plan(args.job)
    found = explain(context.store, context.config, plan, args.dataid, context.is_gone)
    if args.json:
        show_object(describe_why(found, plan), True)
        return
    print(in_words(found, find_width(sys.stdout)))
    if cited := plan_command(plan, found.dataid):
        print(f"plan: {cited}")


def in_words(found: Why, width: int | None = None) -> str:
    """The explanation as a person reads it: verdict, answers, next command; wrapped to a terminal's width."""
    status, _, rest = as_text(found.verdict).partition(": ")
    lines = [f"{found.job} {as_text(found.dataid)}".rstrip()]
    lines += _indented(status, paint(status), f": {rest}", 0, width)
    lines.append("")
    for answer in found.answers:
        head = f"  {answer.question:<8} {answer.answer:<11}"
        painted = f"  {answer.question:<8} {paint(f'{answer.answer:<11}', STYLES[answer.answer])}"
        lines += _indented(head, painted, f"  {as_text(answer.evidence)}", len(head) + 2, width)
    following = as_text(found.next) or "nothing to do"
    return "\n".join([*lines, "", *_indented("next", "next", f": {following}", 6, width)])


def _indented(head: str, painted: str, rest: str, indent: int, width: int | None) -> list[str]:
    """A line that begins with a painted head; on a terminal the rest has short times and wraps at words."""
    if width is None:
        return [f"{painted}{rest}"]
    rest = TIME.sub(lambda time: short_time(time[0]), rest)
    room = width - indent
    if max(map(len, rest.split(" "))) > room:
        indent, room = 4, width - 4
    text = f"{head}{rest}"
    if len(text) <= width:
        return [f"{painted}{rest}"]
    first, *others = wrap_line(text, width, indent).split("\n")
    return [painted + first[len(head) :], *others]
