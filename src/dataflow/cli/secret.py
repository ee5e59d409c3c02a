"""`dataflow secret encrypt|decrypt|rotate`: passwords come from stdin or a prompt, never from arguments."""

from __future__ import annotations

import sys

from dataflow.actions.passwords import STORE, bound_to, decrypt_password, encrypt_password
from dataflow.actions.rotate import rotate
from dataflow.cli.asking import read_secret, refuse_secret_argument
from dataflow.errors import SecretError, StoreMissing, UsageError
from dataflow.secrets.cipher import decrypt, encrypt
from dataflow.secrets.passphrase import get_passphrase

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context


def add_parser(subparsers: Any) -> None:
    """Adds `secret` and the words under it."""
    parser = subparsers.add_parser("secret", help="passwords", description=__doc__)
    words = parser.add_subparsers(dest="word", required=True, metavar="encrypt|decrypt|rotate")
    text = (
        "Reads a password from stdin, or asks for it, and prints the record to put under encryptedpass of "
        "the dataset, or (without --dataset) under store_encryptedpass of dataflow.toml."
    )
    encrypting = words.add_parser("encrypt", description=text)
    encrypting.add_argument(
        "--dataset", metavar="NAME", help="the only dataset that the record will open for"
    )
    encrypting.set_defaults(call=encrypt_one)
    decrypting = words.add_parser("decrypt", description="Prints a dataset's password; that is journalled.")
    decrypting.add_argument("--dataset", metavar="NAME", required=True, help="whose password")
    decrypting.add_argument(
        "--yes", "-y", action="store_true", help="print it although stdout is no terminal"
    )
    decrypting.set_defaults(call=decrypt_one)
    text = (
        "Encrypts all datasets' passwords anew under another passphrase, read from stdin, a file or a prompt."
    )
    rotating = words.add_parser("rotate", description=text)
    rotating.add_argument("--new-file", metavar="F", help="file of mode 600 that holds the new passphrase")
    rotating.set_defaults(call=rotate_all)
    for command in (encrypting, decrypting, rotating):
        command.add_argument("refused", nargs="*", help=_suppressed())


def encrypt_one(args: argparse.Namespace, context: Context) -> int:
    """Prints the record of one password."""
    _refuse_arguments(args)
    passphrase = context.passphrase()
    password = read_secret("password")
    if args.dataset is None:
        print(encrypt(password, passphrase, STORE))
    else:
        print(_encrypt_for(context, args.dataset, password, passphrase))
    return 0


def _encrypt_for(context: Context, dataset: str, password: str, passphrase: str) -> str:
    try:
        return encrypt_password(context.store, dataset, password, passphrase)
    except StoreMissing:  # declarations may be written, passwords and all, before there is a store
        return encrypt(password, passphrase, bound_to(dataset))


def decrypt_one(args: argparse.Namespace, context: Context) -> int:
    """Prints one password."""
    _refuse_arguments(args)
    if not args.yes and not sys.stdout.isatty():
        raise UsageError(
            "a password is printed only to a terminal, and stdout is none. If that is meant: "
            f"dataflow secret decrypt --dataset {args.dataset} --yes"
        )
    print(decrypt_password(context.store, args.dataset, context.passphrase))
    return 0


def rotate_all(args: argparse.Namespace, context: Context) -> int:
    """Puts all passwords under a new passphrase."""
    _refuse_arguments(args)
    old = context.passphrase()
    new = get_passphrase(None, args.new_file, lambda: read_secret("new passphrase"))
    if new == old:
        raise SecretError("The new passphrase is the present one; nothing was changed. Choose another.")
    result = rotate(context.store, old, new)
    _show_store_record(context, old, new)
    for name, reason in result.left:
        context.say(f"Left as it was: dataset {name}. {reason}")
    context.say(
        f"{len(result.rotated)} passwords are under the new passphrase. Set PASSKEY to it everywhere."
    )
    return SecretError.exit_code if result.left else 0


def _show_store_record(context: Context, old: str, new: str) -> None:
    """The store's own password stands in a file, which is the user's to edit."""
    record = context.config.store_password_record
    if record is not None:
        context.say(
            "The store's own password, under the new passphrase; put this into the file it stands in:"
        )
        print(encrypt(decrypt(record, old, STORE), new, STORE))


def _refuse_arguments(args: argparse.Namespace) -> None:
    if args.refused:
        raise refuse_secret_argument(f"pipe it in: dataflow secret {args.word} …")


def _suppressed() -> str:
    from argparse import SUPPRESS

    return SUPPRESS
