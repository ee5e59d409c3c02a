"""`dataflow pipeline takeover`: takes over tables that another status store wrote."""

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
        "Takes over the tables of a pipeline from another status store, for a store that was recreated, "
        "restored from a backup or moved. The other store can no longer publish them. Changes no rows."
    )
    parser = words.add_parser("takeover", help="take over tables from another store", description=text)
    parser.add_argument("name", metavar="NAME", help="name of the class")
    add_yes_option(parser)
    parser.set_defaults(call=take_over)


def take_over(args: argparse.Namespace, context: Context) -> int:
    """Takes over the tables of a pipeline."""
    from dataflow.cli.pipeline import load

    definition = load(context).get(args.name)
    from dataflow.pipelines.declare.settings import PipelineSettings
    from dataflow.pipelines.run.targets import take_tables_over

    settings = PipelineSettings(context.config.project_dir, context.environ, context.passphrase)
    question = (
        f"Take over {definition.dataset} in {definition.target}? The other store can then no longer write it."
    )
    if not may_go_on(question, args.yes):
        return 1
    count = take_tables_over(context.store, definition, settings)
    if count:
        context.say(f"Took over {count} dataid{'s' * (count != 1)} of {definition.dataset}.")
    else:
        context.say(f"{definition.dataset}: nothing in {definition.target} belongs to another store.")
    return 0
