"""Passes the password of a database to Spark tasks, separately from the task itself.

A task is pickled, broadcast and kept in places that Spark chooses. It carries only a random key; URL and
password, XORed with that key, are in a private file beside the staged pages. Neither reveals anything alone.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress

from dataflow.errors import TargetError
from dataflow.model.record import record
from dataflow.pipelines.handover.connection import Connection
from dataflow.private_files import make_private_folder, open_private


@record
class SealedConnection:
    """A connection that can be sent to tasks."""

    name: str
    path: str
    owner: int  # the id of the user who can read the file
    key: bytes  # as long as the file and used once: a one-time pad

    _hidden = ("key",)

    def opened(self) -> Connection:
        """The connection, if its file is readable; otherwise TargetError, with advice."""
        try:
            with open(self.path, "rb", opener=open_private) as file:
                return Connection(self.name, *json.loads(_mixed(file.read(), self.key)))
        except FileNotFoundError as error:
            raise TargetError(
                f"Connection {self.name}: {self.path} is missing. The run has ended, or this machine does "
                "not see the project's folder, which [spark] shared_files = true requires."
            ) from error
        except PermissionError as error:
            raise TargetError(
                f"Connection {self.name}: {self.path} belongs to user id {self.owner}, but this task runs "
                f"as {os.geteuid()}. Run Spark's executors as the user who runs DataFlow."
            ) from error

    def remove(self) -> None:
        """Delete the file, and its folder if it is empty."""
        with suppress(OSError):  # another file is in the folder, or it was already deleted
            os.unlink(self.path)
            os.rmdir(os.path.dirname(self.path))


def seal(connection: Connection, folder: str) -> SealedConnection:
    """Write URL and password, XORed with a new key, to a new file in the folder; the key is in the result."""
    make_private_folder(folder)
    text = json.dumps([connection.url, connection.password]).encode()
    key = secrets.token_bytes(len(text))
    path = os.path.join(os.path.abspath(folder), f"connection-{secrets.token_hex(8)}")
    with open(path, "xb", opener=open_private) as file:
        file.write(_mixed(text, key))
    return SealedConnection(connection.name, path, os.geteuid(), key)


def _mixed(text: bytes, key: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(text, key, strict=True))
