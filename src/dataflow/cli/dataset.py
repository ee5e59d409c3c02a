"""`dataflow dataset add|list|show|remove`."""

from __future__ import annotations

from dataflow.actions.descriptions import describe_dataset, describe_whole_dataset
from dataflow.actions.names import get_dataset
from dataflow.actions.next_commands import shell
from dataflow.actions.register import add_dataset, remove_dataset
from dataflow.cli.asking import may_go_on, read_secret, refuse_secret_argument
from dataflow.cli.layout import make_columns
from dataflow.cli.options import Commands, add_switches
from dataflow.cli.output import as_text, show_object
from dataflow.cli.tables import show_datasets
from dataflow.config.durations import parse_option
from dataflow.errors import BadInput
from dataflow.model.records import Dataset
from dataflow.model.wording import plural, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.actions.differences import Change
    from dataflow.cli.context import Context

FIELDS = {
    "hostname": "server that holds the data",
    "database": "database on that server",
    "schemaname": "schema in that database",
    "tablename": "table in that schema",
    "username": "user to connect as",
    "location": "location of a chunk; may contain {dataid}, {encoded_dataid}, {run_id}, {dataset}, {job} and "
    "{environment}",
    "format": "file format, such as csv or parquet",
    "grain": "hourly, daily, weekly, monthly, quarterly, yearly, sequence or text (default: text)",
    "timezone": "time zone of the grain, such as Europe/London (default: UTC)",
    "mode": "partition or snapshot (default: partition)",
    "due_by": "time of day, HH:MM in its time zone, by which the chunk of the last ended interval is due",
}
FRESH_WITHIN = "how old the newest chunk may be, such as 26h; 0 for any age"
LIST_COLUMNS = make_columns(dataset=0, grain=1, timezone=4, mode=2, location=3, password=5)


def add_parser(commands: Commands) -> None:
    """Adds `dataset` and its subcommands."""
    words = commands.add_group("dataset", "Adds, lists, shows or removes datasets.")
    parser = words.add("add", add, "NAME", line="register or change a dataset", makes_store=True)
    for name, meaning in FIELDS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", default=None, help=meaning)
    parser.add_argument("--fresh-within", default=None, metavar="DURATION", help=FRESH_WITHIN)
    help_text = "any other value for scripts; repeatable; replaces all earlier options"
    parser.add_argument("--option", action="append", metavar="K=V", help=help_text)
    add_switches(parser, password_stdin="read the password from stdin or a prompt")
    help_text = "refused: other users can see arguments"
    parser.add_argument("--password", nargs="?", const="", default=None, help=help_text)
    words.add("list", list_all, "all", "wide", "json", line="list all datasets")
    words.add("show", show_one, "NAME", "json", line="show a dataset")
    words.add("remove", remove_one, "NAME", "yes", line="remove a dataset")


def add(args: argparse.Namespace, context: Context) -> None:
    """Registers a dataset. For a registered one, changes only the fields that are given."""
    if args.password is not None:
        raise refuse_secret_argument(f"pipe it in: dataflow dataset add {args.name} --password-stdin")
    values: dict[str, Any] = {name: getattr(args, name) for name in FIELDS if getattr(args, name) is not None}
    if args.option is not None:
        values["options"] = split_pairs("--option", args.option)
    if args.fresh_within is not None:
        values["fresh_within_seconds"] = parse_option("--fresh-within", args.fresh_within)
    if args.password_stdin:
        values["encryptedpass"] = _encrypted_password(args.name, context)
    change = add_dataset(context.store, Dataset(args.name, **values), values)
    say_change(context, change)


def list_all(args: argparse.Namespace, context: Context) -> None:
    """Lists all datasets."""
    found = (describe_dataset(dataset) for dataset in context.store.read.list_datasets())
    show_datasets(found, LIST_COLUMNS, args, "No datasets yet. Add one: dataflow dataset add NAME")


def show_one(args: argparse.Namespace, context: Context) -> None:
    """Shows a dataset, its check, the job that produces it and the jobs that read it."""
    checks = context.config.checks
    record = describe_whole_dataset(context.store, get_dataset(context.store, args.name), checks)
    if record["check"] and not args.json:
        record["check"] = shell(*record["check"])
    show_object(record, args.json)


def remove_one(args: argparse.Namespace, context: Context) -> int:
    """Removes a dataset that no job uses, and the status of its chunks."""
    dataset_id, _ = get_dataset(context.store, args.name)
    count = context.store.read.count_chunks(dataset_id)
    chunks = f"{count:,} {plural(count, 'chunk')}"
    if count and not may_go_on(f"Remove dataset {args.name} and the status of its {chunks}?", args.yes):
        return 1
    remove_dataset(context.store, args.name)
    context.say(f"Removed dataset {args.name} and {chunks}.")
    return 0


def say_change(context: Context, change: Change) -> None:
    """Reports what a registration changed."""
    fields = "".join([f"\n  {as_text(str(difference))}" for difference in change.differences])
    context.say(f"{change.kind.capitalize()} {change.name} {change.what}.{fields}")
    for follower in change.followers:
        say_change(context, follower)


def split_pairs(option: str, texts: list[str]) -> tuple[tuple[str, str], ...]:
    """The names and values of a repeatable K=V option; a value may contain any character."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, found, value = text.partition("=")
        if not found or not name:
            raise BadInput(f"{option} {quoted(text)} is not NAME=VALUE.")
        if name in pairs:
            raise BadInput(f"{option} {quoted(name)} is given twice. Give it once.")
        pairs[name] = value
    return tuple(pairs.items())


def _encrypted_password(name: str, context: Context) -> str:
    from dataflow.actions.passwords import encrypt_password

    # The passphrase first: both may be asked for on the same terminal.
    passphrase = context.passphrase()
    return encrypt_password(context.store, name, read_secret("password"), passphrase)
