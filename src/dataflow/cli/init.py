"""`dataflow init`: a project folder to start from, with --example one that runs at once."""

from __future__ import annotations

import os

from dataflow.cli import init_texts
from dataflow.config.project import PROJECT_FILE
from dataflow.errors import BadInput, Conflict
from dataflow.private_files import STATE_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context

GITIGNORE = ".gitignore"
STEPS = "dataflow dataset add NAME (or write it into that file, and: dataflow apply)"
EXAMPLE_STEPS = "dataflow apply --yes && dataflow ready numbers --from 1 --to 3 && RunJob --drain ./square.sh"
PIPELINE_STEPS = "dataflow run OrdersDatasetPipeline && dataflow run MonthlyTotalsViewPipeline --drain"


def add_parser(subparsers: Any) -> None:
    """Adds `init`."""
    text = f"Writes a commented {PROJECT_FILE} into a folder; nothing that is there is overwritten."
    parser = subparsers.add_parser("init", help="make a project", description=text)
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="this folder unless told")
    parser.add_argument(
        "--example", action="store_true", help="with two datasets, a job and a script that run at once"
    )
    parser.add_argument(
        "--pipelines",
        action="store_true",
        help="with a dataset pipeline and a view that run at once on Spark",
    )
    parser.set_defaults(call=init)


def init(args: argparse.Namespace, context: Context) -> int:
    """Writes the project's files."""
    folder = os.path.normpath(os.path.join(context.cwd, args.folder))
    files = list_files(args.example, args.pipelines)
    _refuse_existing(folder, files)
    try:
        for name, text in files.items():
            _write(os.path.join(folder, name), text, executable=name.endswith(".sh"))
        ignored = [STATE_FOLDER, *(["lake"] if args.pipelines else [])]
        written = [*files, *([GITIGNORE] if _ignore(os.path.join(folder, GITIGNORE), ignored) else [])]
    except OSError as error:
        raise BadInput(f"{error.filename or folder} cannot be written: {error.strerror}.") from error
    are = "is" if len(written) == 1 else "are"
    context.say(f"{', '.join(os.path.join(folder, name) for name in written)} {are} written.")
    enter = "" if os.path.samefile(folder, context.cwd) else f"cd {args.folder} && "
    steps = [EXAMPLE_STEPS] * args.example + [PIPELINE_STEPS] * args.pipelines
    context.say(f"Next: {enter}{' && '.join(steps) or STEPS}")
    return 0


def list_files(example: bool, pipelines: bool) -> dict[str, str]:
    """The files of a new project with their texts."""
    files = {PROJECT_FILE: init_texts.SETTINGS + (init_texts.EXAMPLE if example else init_texts.EMPTY)}
    if example:
        files["square.sh"] = init_texts.SCRIPT
        for name, text in init_texts.NUMBERS.items():
            files[os.path.join("data", "numbers", f"{name}.txt")] = text
    if pipelines:
        files[os.path.join("pipelines", "orders.py")] = init_texts.PIPELINES
        files[os.path.join("data", "orders.jsonl")] = init_texts.ORDERS
    return files


def _refuse_existing(folder: str, files: dict[str, str]) -> None:
    for name in files:
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            way_out = "Edit it, or name another folder: dataflow init DIR"
            raise Conflict(f"{path} is there already; nothing was written. {way_out}")


def _write(path: str, text: str, executable: bool) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
    if executable:
        os.chmod(path, 0o755)


def _ignore(path: str, folders: list[str]) -> bool:
    """Adds these folders to those that git leaves out; True if any was not there."""
    known = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            known = file.read()
    new = [folder for folder in folders if folder not in known]
    if not new:
        return False
    with open(path, "a", encoding="utf-8") as file:
        file.write("\n" if known and not known.endswith("\n") else "")
        file.writelines(f"{folder}/\n" for folder in new)
    return True
