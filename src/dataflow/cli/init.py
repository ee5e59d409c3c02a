"""`dataflow init`: creates a project folder; with --example, one that runs."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from dataflow.cli.context import Context
from dataflow.cli.options import Commands, add_switches
from dataflow.config.project import PROJECT_FILE, find_project_dir
from dataflow.errors import Conflict, FilesFailed
from dataflow.private_files import STATE_FOLDER

GITIGNORE = ".gitignore"
TEMPLATES = os.path.join(os.path.dirname(__file__), "project_files")
"""Folders with the parts of a project. `.py-tpl` is a Python file that is not a module of ours."""
STEPS = "dataflow dataset add NAME (or declare it in that file, then: dataflow apply)"
EXAMPLE_STEPS = "dataflow apply --yes && dataflow ready numbers --from 1 --to 3 && RunJob --drain ./square.sh"
SYSTEMD_STEPS = "edit systemd/dataflow-worker.service; its first lines say how to enable it"
PIPELINE_STEPS = "dataflow run OrdersDatasetPipeline && dataflow run MonthlyTotalsViewPipeline --drain"


def add_parser(commands: Commands) -> None:
    """Adds `init`."""
    parser = commands.add("init", init)
    help_text = "folder of the project (default: the current folder)"
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help=help_text)
    add_switches(parser, example="add two datasets, a job and a script that run")
    add_switches(parser, pipelines="add a dataset pipeline and a view that run on Spark")
    add_switches(
        parser, systemd="add units for systemd that keep the project running; also to an existing one"
    )


def init(args: argparse.Namespace, context: Context) -> None:
    """Writes a commented dataflow.toml into a folder. Overwrites nothing."""
    folder = os.path.normpath(os.path.join(context.cwd, args.folder))
    only_units = args.systemd and os.path.lexists(os.path.join(folder, PROJECT_FILE))
    files = {} if only_units else list_files(args.example, args.pipelines)
    if args.systemd:
        files |= list_units(folder)
    _refuse_existing(folder, files)
    try:
        for name, text in files.items():
            _write(os.path.join(folder, name), text, executable=name.endswith(".sh"))
        ignored = [STATE_FOLDER, *(["lake"] if args.pipelines else [])]
        written = [*files, *([GITIGNORE] if _ignore(os.path.join(folder, GITIGNORE), ignored) else [])]
    except OSError as error:
        raise FilesFailed(f"Cannot write {error.filename or folder}: {error.strerror}.") from error
    context.say(f"Wrote {', '.join(os.path.join(folder, name) for name in written)}")
    if above := find_project_dir(os.path.dirname(folder)):
        context.say(f"This project is inside another one, {above}; commands here use this one.")
    enter = "" if os.path.samefile(folder, context.cwd) else f"cd {args.folder} && "
    steps = [EXAMPLE_STEPS] * args.example + [PIPELINE_STEPS] * args.pipelines
    if args.systemd and not steps:
        steps = [SYSTEMD_STEPS]
    context.say(f"Next: {enter}{' && '.join(steps) or STEPS}")


def list_files(example: bool, pipelines: bool) -> dict[str, str]:
    """The files of a new project and their contents; parts of the same file follow each other."""
    return _read_parts(["common", "example" if example else "empty", *["pipelines"] * pipelines])


def list_units(folder: str) -> dict[str, str]:
    """The units for systemd, with the project's folder and the path of this command."""
    texts = _read_parts(["systemd"])
    # A % is special to systemd, and a command with spaces needs quotes.
    place, command = folder.replace("%", "%%"), _find_command().replace("%", "%%")
    return {
        name: text.replace("@FOLDER@", place).replace("@COMMAND@", command) for name, text in texts.items()
    }


def _find_command() -> str:
    """The path of this command, as a unit runs it."""
    found = os.path.abspath(sys.argv[0])
    if os.path.basename(found) != "dataflow" or not os.access(found, os.X_OK):
        found = shutil.which("dataflow") or ""
    words = [found] if found else [sys.executable, "-m", "dataflow.cli.main"]
    return " ".join(f'"{word}"' if " " in word else word for word in words)


def _read_parts(parts: list[str]) -> dict[str, str]:
    files: dict[str, str] = {}
    for part in parts:
        top = os.path.join(TEMPLATES, part)
        for folder, subfolders, names in os.walk(top):
            subfolders.sort()
            for name in sorted(names):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    path = os.path.relpath(file.name, top).replace(".py-tpl", ".py")
                    files[path] = files.get(path, "") + file.read()
    return files


def _refuse_existing(folder: str, files: dict[str, str]) -> None:
    for name in files:
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            way_out = "Edit it, or name another folder: dataflow init DIR"
            raise Conflict(f"{path} already exists; nothing was written. {way_out}")


def _write(path: str, text: str, executable: bool) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
    if executable:
        os.chmod(path, 0o755)


def _ignore(path: str, folders: list[str]) -> bool:
    """Adds folders to .gitignore; True if any was missing."""
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
