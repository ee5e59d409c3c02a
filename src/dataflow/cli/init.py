"""`dataflow init`: a project folder to start from, with --example one that runs at once."""

from __future__ import annotations

import os

from dataflow.config.project import PROJECT_FILE, STATE_FOLDER
from dataflow.errors import BadInput, Conflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context

SETTINGS = """\
# A DataFlow project. Commands find this file from any folder below it; DATAFLOW_… variables go before it.

# Where the status of every chunk is kept: a SQLite file (the default, one machine) or PostgreSQL (many).
# store = "sqlite:///.dataflow/dataflow.db"
# store = "postgresql://etl@dbhost:5432/dataflow"
# store_encryptedpass = "…"   # printed by: dataflow secret encrypt

# Recorded with every run, and {environment} in locations.
environment = "dev"

# The passphrase of the passwords, when PASSKEY is not set: a file of mode 600.
# passkey_file = "/path/to/passkey"
"""
EMPTY = """
# Datasets and jobs, registered by: dataflow apply
#
# [dataset.bobin]
# location = "data/bobin/{dataid}.csv"
#
# [dataset.bobout]
#
# [job.loadbob]
# in = ["bobin"]
# out = ["bobout"]
"""
EXAMPLE = """
# Registered by: dataflow apply

[dataset.numbers]
location = "data/numbers/{dataid}.txt"
format = "text"

# {run_id} gives every run a place of its own, so that readers see the old version or the new one, whole.
[dataset.squares]
location = "data/squares/{dataid}/{run_id}.txt"
format = "text"
# Run after the script; if it fails, the chunk is INVALID and nobody reads it.
check = ["/bin/sh", "-c", 'test -s "$squares_location"']

[job.square]
in = ["numbers"]
out = ["squares"]
retries = 1
"""
SCRIPT = """\
#!/bin/sh
# DataFlow says which chunk it is, where the input is and where the output goes.
set -eu
echo "squaring chunk $dataid of $numbers_datasetid"
mkdir -p "$(dirname "$squares_location")"
while read -r number; do
    echo "$((number * number))"
done < "$numbers_location" > "$squares_location"
"""
NUMBERS = {"1": "1\n2\n3\n", "2": "10\n20\n30\n", "3": "7\n"}
IGNORED = f"{STATE_FOLDER}/\n"
STEPS = "dataflow dataset add NAME (or write it into that file, and: dataflow apply)"
EXAMPLE_STEPS = "dataflow apply --yes && dataflow ready numbers --from 1 --to 3 && RunJob --drain ./square.sh"


def add_parser(subparsers: Any) -> None:
    """Adds `init`."""
    text = f"Writes a commented {PROJECT_FILE} into a folder; nothing that is there is overwritten."
    parser = subparsers.add_parser("init", help="make a project", description=text)
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="this folder unless told")
    parser.add_argument(
        "--example", action="store_true", help="with two datasets, a job and a script that run at once"
    )
    parser.set_defaults(call=init)


def init(args: argparse.Namespace, context: Context) -> int:
    """Writes the project's files."""
    folder = os.path.normpath(os.path.join(context.cwd, args.folder))
    files = {PROJECT_FILE: SETTINGS + (EXAMPLE if args.example else EMPTY)}
    if args.example:
        files["square.sh"] = SCRIPT
        files |= {os.path.join("data", "numbers", f"{name}.txt"): text for name, text in NUMBERS.items()}
    _refuse_existing(folder, files)
    try:
        for name, text in files.items():
            _write(os.path.join(folder, name), text, executable=name.endswith(".sh"))
        _ignore_state(os.path.join(folder, ".gitignore"))
    except OSError as error:
        raise BadInput(f"{error.filename or folder} cannot be written: {error.strerror}.") from error
    context.say(f"{os.path.join(folder, PROJECT_FILE)} is written.")
    enter = "" if os.path.samefile(folder, context.cwd) else f"cd {args.folder} && "
    context.say(f"Next: {enter}{EXAMPLE_STEPS if args.example else STEPS}")
    return 0


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


def _ignore_state(path: str) -> None:
    known = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            known = file.read()
    if STATE_FOLDER in known:
        return
    with open(path, "a", encoding="utf-8") as file:
        file.write(("\n" if known and not known.endswith("\n") else "") + IGNORED)
