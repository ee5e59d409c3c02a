"""`dataflow pipeline takeover`: a table that another status store wrote is this one's from now on."""

from __future__ import annotations

from dataflow.cli.asking import add_yes_option, may_go_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context


def add_word(words: Any) -> None:
    """Adds `takeover` under `pipeline`."""
    text = (
        "Makes a pipeline's tables in a database this status store's: for a store that was made anew, "
        "restored from a backup or moved. The store that wrote them before can publish them no more. No row "
        "is changed."
    )
    parser = words.add_parser("takeover", help="write a table that another store wrote", description=text)
    parser.add_argument("name", metavar="NAME", help="the name of the class")
    add_yes_option(parser)
    parser.set_defaults(call=take_over)


def take_over(args: argparse.Namespace, context: Context) -> int:
    """Takes the tables of a pipeline over."""
    from dataflow.cli.pipeline import load

    definition = load(context).get(args.name)
    from dataflow.pipelines.declare.settings import PipelineSettings
    from dataflow.pipelines.run.targets import take_tables_over

    settings = PipelineSettings(context.config.project_dir, context.environ, context.passphrase)
    question = f"Shall only this store's runs write {definition.dataset} in {definition.target} from now on?"
    if not may_go_on(question, args.yes):
        return 1
    count = take_tables_over(context.store, definition, settings)
    if count:
        context.say(f"{definition.dataset}: {count} dataids of another store are this one's now.")
    else:
        context.say(f"{definition.dataset}: nothing in {definition.target} is another store's.")
    return 0
