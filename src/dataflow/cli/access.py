"""`dataflow user` and `dataflow token`: who may use the server. Passwords come from stdin or a prompt."""

from __future__ import annotations

import argparse

from dataflow.cli.asking import read_secret, refuse_secret_argument
from dataflow.cli.context import Context
from dataflow.cli.layout import make_columns
from dataflow.cli.options import Commands
from dataflow.cli.output import show_object
from dataflow.cli.tables import show_rows
from dataflow.config.durations import parse_option
from dataflow.model.principal import Role
from dataflow.model.record import as_dict

DEFAULT_EXPIRY = "90d"
USER_COLUMNS = make_columns(
    name=0, role=0, created_at=(3, "time"), created_by=3, password_at=(2, "time"), login_at=(1, "time")
)
TOKEN_COLUMNS = make_columns(
    name=0,
    role=0,
    created_at=(3, "time"),
    created_by=3,
    expires_at=(1, "time"),
    expired=1,
    used_at=(2, "time"),
)


def add_parser(commands: Commands) -> None:
    """Adds `user` and `token` with their subcommands."""
    words = commands.add_group("user", "Adds, lists or removes local users of the server.")
    parser = words.add("add", add_user, "NAME", line="add a user who logs in with a password")
    _add_role(parser)
    _refuse_more(parser)
    words.add("list", list_users, "wide", "json", line="list all local users")
    words.add("remove", remove_user, "NAME", line="remove a user and end their sessions")
    _refuse_more(words.add("password", change_password, "NAME", line="change the password of a user"))
    words = commands.add_group("token", "Creates, lists or revokes API tokens of the server.")
    parser = words.add("create", create_token, "NAME", "json", line="create a token and print it")
    _add_role(parser)
    help_text = f"lifetime, such as 30d; at most 730d (default: {DEFAULT_EXPIRY})"
    parser.add_argument("--expires", metavar="DURATION", default=DEFAULT_EXPIRY, help=help_text)
    words.add("list", list_tokens, "wide", "json", line="list all tokens")
    words.add("revoke", revoke_token, "NAME", line="make a token invalid")


def add_user(args: argparse.Namespace, context: Context) -> None:
    """Adds a local user of the server. The password is typed, or read from stdin."""
    _refuse_arguments(args)
    from dataflow.access import users

    users.add_user(context.store, args.name, Role(args.role), read_secret("password"))
    context.say(f"Added user {args.name} with the role {args.role}.")


def list_users(args: argparse.Namespace, context: Context) -> None:
    """Lists the local users with their role, and when each logged in last."""
    from dataflow.access import users

    rows = [as_dict(user) for user in users.list_users(context.store)]
    show_rows(rows, USER_COLUMNS, args.json, "No users yet. Add one: dataflow user add NAME", args.wide)


def remove_user(args: argparse.Namespace, context: Context) -> None:
    """Removes a local user and ends all their sessions. With an e-mail address, ends the sessions of whoever
    logged in with it.
    """
    from dataflow.access import users

    users.remove_user(context.store, args.name)
    context.say(f"Removed user {args.name}. Their sessions have ended.")


def change_password(args: argparse.Namespace, context: Context) -> None:
    """Changes the password of a local user and ends all their sessions. The password is typed, or read from
    stdin.
    """
    _refuse_arguments(args)
    from dataflow.access import users

    users.change_password(context.store, args.name, read_secret("new password"))
    context.say(f"Changed the password of user {args.name}. Their sessions have ended.")


def create_token(args: argparse.Namespace, context: Context) -> None:
    """Creates an API token and prints it. It is shown only this once."""
    from dataflow.access import tokens

    made = tokens.create_token(
        context.store, args.name, Role(args.role), parse_option("--expires", args.expires)
    )
    if args.json:
        show_object({"token": made.token, **as_dict(made.row)}, True)
        return
    context.say(
        f"Created token {args.name} with the role {args.role}; it expires at {made.row.expires_at}. "
        "It is shown only this once:"
    )
    print(made.token)


def list_tokens(args: argparse.Namespace, context: Context) -> None:
    """Lists the API tokens with their role, when they expire and when they were used last."""
    from dataflow.access import tokens

    rows = [as_dict(token) for token in tokens.list_tokens(context.store)]
    show_rows(
        rows, TOKEN_COLUMNS, args.json, "No tokens yet. Create one: dataflow token create NAME", args.wide
    )


def revoke_token(args: argparse.Namespace, context: Context) -> None:
    """Makes an API token invalid at once."""
    from dataflow.access import tokens

    tokens.revoke_token(context.store, args.name)
    context.say(f"Revoked token {args.name}.")


def _add_role(parser: argparse.ArgumentParser) -> None:
    roles = [role.value for role in Role]
    help_text = f"{', '.join(roles)} (default: {Role.VIEWER})"
    parser.add_argument("--role", choices=roles, default=Role.VIEWER.value, metavar="ROLE", help=help_text)


def _refuse_more(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("refused", nargs="*", default=[], help=argparse.SUPPRESS)


def _refuse_arguments(args: argparse.Namespace) -> None:
    if args.refused:
        raise refuse_secret_argument(f"pipe it in: dataflow user {args.word} NAME")
