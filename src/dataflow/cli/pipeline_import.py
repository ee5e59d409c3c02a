"""`dataflow pipeline import`: imports a project of the first Data Flow."""

from __future__ import annotations

import os
import sys

from dataflow.cli.output import add_json_option, as_text, paint, to_json
from dataflow.cli.terminal import wrap_for
from dataflow.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.pipelines.migration.new_project import NewProject

COLOURS = {"changed": "green", "left": "bold red", "note": "dim"}


def add_import(words: Any) -> None:
    """Adds `import` under `pipeline`."""
    text = (
        "Reads a project of the first Data Flow (pipelines for Airflow in dataflow/meta or dataflow/dags) "
        "and writes its pipelines, constants and connections into this project. Runs none of its code, "
        "reports every change and overwrites no file."
    )
    parser = words.add_parser("import", help="import a project of the first Data Flow", description=text)
    parser.add_argument("path", metavar="PATH", help="folder of that project")
    add_json_option(parser)
    parser.set_defaults(call=import_project)


def import_project(args: argparse.Namespace, context: Context) -> int:
    """Writes the new project; exits 78 if something is left for you to do."""
    from dataflow.cli.pipeline import load_packages

    load_packages()
    from dataflow.pipelines.declare.loader import FOLDER
    from dataflow.pipelines.declare.settings import PipelineSettings
    from dataflow.pipelines.migration.new_project import plan_project, write_project
    from dataflow.pipelines.migration.old_project import LEFT, read_old_project

    folder = context.config.project_dir
    old = read_old_project(os.path.join(context.cwd, args.path), os.path.join(folder, FOLDER))
    settings = PipelineSettings(folder, context.environ, context.passphrase)
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
    changes = [
        {name: getattr(one, name) for name in ("kind", "place", "what", "why")} for one in made.entries
    ]
    return {"files": files, "changes": changes}


def _show(made: NewProject) -> None:
    for one in made.files:
        origin = f" from {one.origin}" if one.origin else ""
        print(f"{'unchanged' if one.exists else 'written'}: {as_text(one.path + origin)}")
    for entry in made.entries:
        line = wrap_for(sys.stdout, as_text(f"{entry.kind}: {entry.place}: {entry.what}: {entry.why}"))
        print(f"{paint(entry.kind, COLOURS[entry.kind])}{line[len(entry.kind) :]}")
