"""`dataflow dataset add|list|show|remove`."""

from __future__ import annotations

from dataflow.actions.next_commands import shell
from dataflow.actions.register import add_dataset, remove_dataset
from dataflow.cli.asking import add_yes_option, may_go_on, read_secret, refuse_secret_argument
from dataflow.cli.layout import Column
from dataflow.cli.output import add_json_option, as_text, show_object
from dataflow.cli.tables import add_all_option, add_wide_option, show_rows, without_calendars
from dataflow.errors import BadInput
from dataflow.model.records import Dataset
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.actions.differences import Change
    from dataflow.cli.context import Context

FIELDS = {
    "hostname": "server the data is on",
    "database": "database on that server",
    "schemaname": "schema in that database",
    "tablename": "table in that schema",
    "username": "user to connect as",
    "location": "where a chunk is, with {dataid}, {run_id}, {dataset}, {job}, {environment} in it",
    "format": "how it is written, such as csv or parquet",
    "grain": "hourly, daily, weekly, monthly, quarterly, yearly, sequence or text (the default)",
    "timezone": "time zone of the grain, such as Europe/London (UTC unless told)",
    "mode": "partition (the default) or snapshot",
}
LIST_COLUMNS = (
    Column("dataset"),
    Column("grain", 1),
    Column("timezone", 4),
    Column("mode", 2),
    Column("location", 3),
    Column("password", 5),
)
ALL_COLUMNS = ("dataset", *FIELDS, "options", "password")


def add_parser(subparsers: Any) -> None:
    """Adds `dataset` and the words under it."""
    parser = subparsers.add_parser("dataset", help="datasets", description=__doc__)
    words = parser.add_subparsers(dest="word", required=True, metavar="add|list|show|remove")
    _add_add(words)
    listing = words.add_parser("list", description="Lists all datasets.")
    add_all_option(listing)
    add_wide_option(listing)
    add_json_option(listing)
    listing.set_defaults(call=list_all)
    show = words.add_parser("show", description="Shows one dataset, who produces it and who reads it.")
    show.add_argument("name", metavar="NAME")
    add_json_option(show)
    show.set_defaults(call=show_one)
    remove = words.add_parser("remove", description="Removes a dataset that no job uses, with its chunks.")
    remove.add_argument("name", metavar="NAME")
    add_yes_option(remove)
    remove.set_defaults(call=remove_one)


def _add_add(words: Any) -> None:
    text = "Registers a dataset, or changes the fields that are given of one that is registered."
    parser = words.add_parser("add", description=text)
    parser.add_argument("name", metavar="NAME")
    for name, meaning in FIELDS.items():
        parser.add_argument(f"--{name}", default=None, help=meaning)
    parser.add_argument(
        "--option",
        action="append",
        metavar="K=V",
        help="anything else a script should know; repeatable, and together they replace those before",
    )
    parser.add_argument(
        "--password-stdin", action="store_true", help="read the password from stdin, or ask for it"
    )
    parser.add_argument(
        "--password", nargs="?", const="", default=None, help="refused: everyone can read arguments"
    )
    parser.set_defaults(call=add, makes_store=True)


def add(args: argparse.Namespace, context: Context) -> int:
    """Registers or changes a dataset."""
    if args.password is not None:
        raise refuse_secret_argument(f"pipe it in: dataflow dataset add {args.name} --password-stdin")
    values: dict[str, Any] = {name: getattr(args, name) for name in FIELDS if getattr(args, name) is not None}
    if args.option is not None:
        values["options"] = split_pairs("--option", args.option)
    if args.password_stdin:
        values["encryptedpass"] = _encrypted_password(args.name, context)
    change = add_dataset(context.store, Dataset(args.name, **values), values)
    say_change(context, change)
    return 0


def list_all(args: argparse.Namespace, context: Context) -> int:
    """Lists all datasets."""
    found = (describe(dataset) for dataset in context.store.list_datasets())
    rows, footer = without_calendars(found, args)
    columns = ALL_COLUMNS if args.json else LIST_COLUMNS
    show_rows(rows, columns, args.json, "No datasets yet. Add one: dataflow dataset add NAME", args.wide)
    if footer:
        print(footer)
    return 0


def show_one(args: argparse.Namespace, context: Context) -> int:
    """Shows one dataset."""
    dataset_id, dataset = context.get_dataset(args.name)
    plans = context.store.list_plans()
    chunks = context.store.find("registration.count_chunks", dataset_id=dataset_id)
    record = describe(dataset)
    record["produced_by"] = next((plan.job.name for plan in plans if dataset.name in plan.job.outputs), None)
    record["read_by"] = [
        plan.job.name for plan in plans if any(item.dataset.name == dataset.name for item in plan.inputs)
    ]
    record["chunks"] = chunks[0] if chunks else 0
    check = context.config.checks.get(dataset.name)
    record["check"] = list(check) if check else None
    if check and not args.json:
        record["check"] = shell(*check)
    show_object(record, args.json)
    return 0


def remove_one(args: argparse.Namespace, context: Context) -> int:
    """Removes a dataset."""
    dataset_id, _ = context.get_dataset(args.name)
    found = context.store.find("registration.count_chunks", dataset_id=dataset_id)
    chunks = found[0] if found else 0
    if chunks and not may_go_on(
        f"Remove dataset {args.name} and the status of its {chunks} chunks?", args.yes
    ):
        return 1
    remove_dataset(context.store, args.name)
    context.say(f"Dataset {args.name} removed, with {chunks} chunks.")
    return 0


def describe(dataset: Dataset) -> dict[str, Any]:
    """A dataset as it is shown: of its password only whether there is one."""
    record: dict[str, Any] = {"dataset": dataset.name}
    record |= {name: getattr(dataset, name) for name in FIELDS}
    return record | {"options": dict(dataset.options), "password": bool(dataset.encryptedpass)}


def say_change(context: Context, change: Change) -> None:
    """Says what a registration did."""
    fields = "".join([f"\n  {as_text(str(difference))}" for difference in change.differences])
    context.say(f"{change.kind.capitalize()} {change.name} {change.what}.{fields}")


def split_pairs(option: str, texts: list[str]) -> tuple[tuple[str, str], ...]:
    """The names and values of a repeatable K=V option; a value may hold any character, = too."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, found, value = text.partition("=")
        if not found or not name:
            raise BadInput(f"{option} {quoted(text)} has no name and value. Write {option} NAME=VALUE.")
        if name in pairs:
            raise BadInput(f"{option} {quoted(name)} is given twice. Give it once.")
        pairs[name] = value
    return tuple(pairs.items())


def _encrypted_password(name: str, context: Context) -> str:
    from dataflow.actions.passwords import encrypt_password

    # The passphrase first: it may be asked for on the same terminal.
    passphrase = context.passphrase()
    return encrypt_password(context.store, name, read_secret("password"), passphrase)
