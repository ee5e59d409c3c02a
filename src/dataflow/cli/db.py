"""`dataflow db upgrade|version`: the store's schema."""

from __future__ import annotations

from dataflow.actions.upgrade import upgrade_schema
from dataflow.cli.output import add_json_option, show_object
from dataflow.errors import UsageError
from dataflow.store.queries import SCHEMA_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context


def add_parser(subparsers: Any) -> None:
    """Adds `db` and the words under it."""
    parser = subparsers.add_parser("db", help="the store's schema", description=__doc__)
    words = parser.add_subparsers(dest="word", required=True, metavar="upgrade|version")
    upgrading = words.add_parser("upgrade", description="Brings the store's schema to this version's.")
    upgrading.add_argument(
        "--print", dest="only_print", action="store_true", help="print the SQL for a DBA instead"
    )
    upgrading.set_defaults(call=upgrade, makes_store=True)
    showing = words.add_parser(
        "version", description="Shows the schema's number in the store and in this version."
    )
    add_json_option(showing)
    showing.set_defaults(call=show_version)


def upgrade(args: argparse.Namespace, context: Context) -> int:
    """Applies the migrations that are missing, or prints them."""
    if args.only_print:
        return _print_schema(context)
    applied = upgrade_schema(context.store)
    done = f"The store is at schema {SCHEMA_VERSION}; nothing to do."
    context.say(f"Applied {', '.join(applied)}." if applied else done)
    return 0


def show_version(args: argparse.Namespace, context: Context) -> int:
    """Shows both numbers; they need not agree."""
    database = context.store.database
    found = database.schema_version()
    show_object({"store": database.url, "schema": found, "needed": SCHEMA_VERSION}, args.json)
    return 0


def _print_schema(context: Context) -> int:
    if context.config.store_url.startswith("sqlite:"):
        raise UsageError(
            "a SQLite store makes its schema by itself. --print is for PostgreSQL: --store postgresql://…"
        )
    from dataflow.store.postgres import PostgresDatabase

    database = context.store.database
    assert isinstance(database, PostgresDatabase)
    print(database.migrations_text())
    return 0
