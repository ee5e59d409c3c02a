"""`dataflow secret encrypt|decrypt|rotate`. Secrets come from stdin or a prompt, never from arguments."""

from __future__ import annotations

import argparse
import os
import sys

from dataflow.actions.passwords import (
    BOUND_TO_LOGIN,
    STORE,
    bound_to,
    bound_to_channel,
    bound_to_connection,
    decrypt_password,
    encrypt_password,
    rotate,
)
from dataflow.cli.asking import read_secret, refuse_secret_argument
from dataflow.cli.context import Context
from dataflow.cli.options import Commands
from dataflow.config.problems import Problems
from dataflow.config.project import PROJECT_FILE
from dataflow.config.toml import load_toml
from dataflow.errors import SecretError, StoreMissing, UsageError
from dataflow.model.wording import counted
from dataflow.secrets.cipher import decrypt, encrypt
from dataflow.secrets.passphrase import get_passphrase


def add_parser(commands: Commands) -> None:
    """Adds `secret` and its subcommands."""
    words = commands.add_group("secret", "Encrypts, decrypts or rotates passwords.")
    encrypting = words.add("encrypt", encrypt_one, line="print a password encrypted")
    encrypting.add_argument("--dataset", metavar="NAME", help="dataset that the password is for")
    help_text = "connection of pipelines that the password is for"
    encrypting.add_argument("--connection", metavar="NAME", help=help_text)
    help_text = "channel of notifications that the URL, secret or password is for"
    encrypting.add_argument("--notify", metavar="NAME", help=help_text)
    help_text = "for the client secret of [server.login]"
    encrypting.add_argument("--login", action="store_true", help=help_text)
    decrypting = words.add("decrypt", decrypt_one, line="print the password of a dataset")
    help_text = "dataset whose password to print"
    decrypting.add_argument("--dataset", metavar="NAME", required=True, help=help_text)
    help_text = "print it even if stdout is not a terminal"
    decrypting.add_argument("--yes", "-y", action="store_true", help=help_text)
    rotating = words.add("rotate", rotate_all, line="re-encrypt all passwords")
    rotating.add_argument("--new-file", metavar="F", help="file (mode 600) with the new passphrase")
    for command in (encrypting, decrypting, rotating):
        command.add_argument("refused", nargs="*", default=[], help=argparse.SUPPRESS)


def encrypt_one(args: argparse.Namespace, context: Context) -> None:
    """Reads a password from stdin or a prompt and prints it encrypted. Put the result in dataflow.toml:
    under encryptedpass of the dataset or connection, under encryptedurl, encryptedsecret or encryptedpass
    of the channel, under encryptedsecret of [server.login], or, without any of them, under
    store_encryptedpass.
    """
    _refuse_arguments(args)
    given = [name for name in (args.dataset, args.connection, args.notify) if name is not None]
    if len(given) + args.login > 1:
        raise UsageError("Give one of --dataset, --connection, --notify and --login.")
    passphrase = context.passphrase()
    password = read_secret("password")
    if args.connection is not None:
        print(encrypt(password, passphrase, bound_to_connection(args.connection)))
    elif args.notify is not None:
        print(encrypt(password, passphrase, bound_to_channel(args.notify)))
    elif args.login:
        print(encrypt(password, passphrase, BOUND_TO_LOGIN))
    elif args.dataset is None:
        print(encrypt(password, passphrase, STORE))
    else:
        print(_encrypt_for(context, args.dataset, password, passphrase))


def _encrypt_for(context: Context, dataset: str, password: str, passphrase: str) -> str:
    try:
        return encrypt_password(context.store, dataset, password, passphrase)
    except StoreMissing:  # passwords may be encrypted before the store exists
        return encrypt(password, passphrase, bound_to(dataset))


def decrypt_one(args: argparse.Namespace, context: Context) -> None:
    """Prints the password of a dataset. The journal records this."""
    _refuse_arguments(args)
    if not args.yes and not sys.stdout.isatty():
        raise UsageError(
            "stdout is not a terminal. To print the password anyway: "
            f"dataflow secret decrypt --dataset {args.dataset} --yes"
        )
    print(decrypt_password(context.store, args.dataset, context.passphrase))


def rotate_all(args: argparse.Namespace, context: Context) -> int:
    """Re-encrypts the passwords of all datasets under a new passphrase from stdin, a file or a prompt."""
    _refuse_arguments(args)
    old = context.passphrase()
    new = get_passphrase(None, args.new_file, lambda: read_secret("new passphrase"))
    if new == old:
        raise SecretError("The new passphrase is the same as the old one; nothing changed.")
    result = rotate(context.store, old, new)
    _show_own_records(context, old, new)
    for name, reason in result.left:
        context.say(f"Not re-encrypted: the password of dataset {name}. {reason}")
    passwords = counted(len(result.rotated), "password")
    context.say(f"Re-encrypted {passwords}. Set PASSKEY to the new passphrase everywhere.")
    return SecretError.exit_code if result.left else 0


def _show_own_records(context: Context, old: str, new: str) -> None:
    """Prints the secrets of the store, the login, connections and channels, which the user keeps in files."""
    if record := context.config.store_password_record:
        context.say("The store's own password under the new passphrase; put it in store_encryptedpass:")
        print(encrypt(decrypt(record, old, STORE), new, STORE))
    path = os.path.join(context.config.project_dir, PROJECT_FILE)
    document = load_toml(path, Problems()) if os.path.exists(path) else {}
    server = document.get("server", {})
    login = server.get("login", {}) if isinstance(server, dict) else {}
    if isinstance(login, dict) and isinstance(record := login.get("encryptedsecret"), str):
        context.say(f"The encryptedsecret of server.login under the new passphrase; put it in {path}:")
        print(encrypt(decrypt(record, old, BOUND_TO_LOGIN), new, BOUND_TO_LOGIN))
    for word, bound_by in (("connection", bound_to_connection), ("notify", bound_to_channel)):
        tables = document.get(word, {})
        for name, table in tables.items() if isinstance(tables, dict) else ():
            for key in ("encryptedpass", "encryptedurl", "encryptedsecret"):
                if isinstance(table, dict) and isinstance(record := table.get(key), str):
                    what = "The password" if key == "encryptedpass" else f"The {key}"
                    where = f"{word} {name}" if word == "connection" else f"channel {name}"
                    context.say(f"{what} of {where} under the new passphrase; put it in {path}:")
                    print(encrypt(decrypt(record, old, bound_by(name)), new, bound_by(name)))


def _refuse_arguments(args: argparse.Namespace) -> None:
    if args.refused:
        raise refuse_secret_argument(f"pipe it in: dataflow secret {args.word} …")
