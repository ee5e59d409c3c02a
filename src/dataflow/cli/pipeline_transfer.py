"""`dataflow pipeline import` and `takeover`: pipelines of an old project, tables of another store."""

from __future__ import annotations

import os
import sys

from dataflow.cli.asking import may_go_on
from dataflow.cli.options import Commands
from dataflow.cli.output import as_text, paint, to_json
from dataflow.cli.pipeline_settings import get_settings, load_catalog
from dataflow.cli.terminal import wrap_for
from dataflow.errors import ConfigError
from dataflow.model.record import pick
from dataflow.model.wording import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from dataflow.cli.context import Context
    from dataflow.pipelines.migration.new_project import NewProject

COLOURS = {"changed": "green", "left": "bold red", "note": "dim"}


def add_parsers(words: Commands) -> None:
    """Adds `import` and `takeover` under `pipeline`."""
    parser = words.add("import", import_project, "json", line="import a project of the first Data Flow")
    parser.add_argument("path", metavar="PATH", help="folder of that project")
    words.add("takeover", take_over, "NAME", "yes", line="take over tables from another store")


def import_project(args: argparse.Namespace, context: Context) -> int:
    """Reads a project of the first Data Flow (pipelines for Airflow in dataflow/meta or dataflow/dags)
    and writes its pipelines, constants and connections into this project. Runs none of its code,
    reports every change and overwrites no file.
    """
    settings = get_settings(context)
    from dataflow.pipelines.declare.loader import FOLDER
    from dataflow.pipelines.migration.new_project import plan_project, write_project
    from dataflow.pipelines.migration.old_project import LEFT, read_old_project

    folder = context.config.project_dir
    old = read_old_project(os.path.join(context.cwd, args.path), os.path.join(folder, FOLDER))
    made = plan_project(old, folder, settings.list_connections())
    write_project(made)
    if args.json:
        print(to_json(_record(made), indent=2))
    else:
        _show(made)
    left = sum(entry.kind == LEFT for entry in made.entries)
    context.say(f"{left} left for you to do. " * bool(left) + "Next: dataflow pipeline list")
    return ConfigError.exit_code if left else 0


def _record(made: NewProject) -> dict[str, object]:
    files = [{"path": one.path, "from": one.origin, "written": not one.exists} for one in made.files]
    changes = [pick(one, "kind", "place", "what", "why") for one in made.entries]
    return {"files": files, "changes": changes}


def _show(made: NewProject) -> None:
    for one in made.files:
        origin = f" from {one.origin}" if one.origin else ""
        print(f"{'unchanged' if one.exists else 'written'}: {as_text(one.path + origin)}")
    for entry in made.entries:
        line = wrap_for(sys.stdout, as_text(f"{entry.kind}: {entry.place}: {entry.what}: {entry.why}"))
        print(f"{paint(entry.kind, COLOURS[entry.kind])}{line[len(entry.kind) :]}")


def take_over(args: argparse.Namespace, context: Context) -> int:
    """Takes over the tables of a pipeline from another status store, for a store that was recreated,
    restored from a backup or moved. The other store can no longer publish them. Changes no rows.
    """
    definition = load_catalog(context).get(args.name)
    from dataflow.pipelines.run.targets import take_tables_over

    question = (
        f"Take over {definition.dataset} in {definition.target}? The other store can then no longer write it."
    )
    if not may_go_on(question, args.yes):
        return 1
    count = take_tables_over(context.store, definition, get_settings(context))
    if count:
        context.say(f"Took over {counted(count, 'dataid')} of {definition.dataset}.")
    else:
        context.say(f"{definition.dataset}: nothing in {definition.target} belongs to another store.")
    return 0
