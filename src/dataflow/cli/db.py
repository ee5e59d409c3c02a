"""`dataflow db upgrade|version`: upgrades or shows the schema of the store."""

from __future__ import annotations

from dataflow.actions.doctor import upgrade_schema
from dataflow.cli.output import add_json_option, show_object
from dataflow.errors import UsageError
from dataflow.model.url_text import masked_url
from dataflow.store.queries import SCHEMA_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context


def add_parser(subparsers: Any) -> None:
    """Adds `db` and its subcommands."""
    parser = subparsers.add_parser(
        "db", help="the store's schema", description="Upgrades or shows the schema of the store."
    )
    words = parser.add_subparsers(dest="word", required=True, metavar="upgrade|version")
    upgrading = words.add_parser(
        "upgrade",
        help="upgrade the schema",
        description="Upgrades the store's schema to the version that this DataFlow needs.",
    )
    upgrading.add_argument(
        "--print", dest="only_print", action="store_true", help="print the SQL for a DBA and change nothing"
    )
    upgrading.set_defaults(call=upgrade, makes_store=True)
    showing = words.add_parser(
        "version",
        help="show the schema version",
        description="Shows the schema version of the store and the one that this DataFlow needs.",
    )
    add_json_option(showing)
    showing.set_defaults(call=show_version)


def upgrade(args: argparse.Namespace, context: Context) -> int:
    """Applies the missing migrations, or prints them."""
    if args.only_print:
        return _print_schema(context)
    applied = upgrade_schema(context.store)
    found = context.store.database.schema_version()
    context.say(
        f"Applied {', '.join(applied)}." if applied else f"The store has schema {found}; nothing to do."
    )
    return 0


def show_version(args: argparse.Namespace, context: Context) -> int:
    """Shows both versions, which may differ."""
    database = context.store.database
    found = database.schema_version()
    show_object({"store": masked_url(database.url), "schema": found, "needed": SCHEMA_VERSION}, args.json)
    return 0


def _print_schema(context: Context) -> int:
    if context.config.store_url.startswith("sqlite:"):
        raise UsageError(
            "a SQLite store creates its own schema. --print is for PostgreSQL: --store postgresql://…"
        )
    from dataflow.store.postgres import PostgresDatabase

    database = context.store.database
    assert isinstance(database, PostgresDatabase)
    print(database.migrations_text())
    return 0
