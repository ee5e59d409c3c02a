"""Requests of the API that may be sent twice: each has a token, and its answer is kept with it."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.store.database import Database, Transaction

ACTION = "request"


class RequestVerbs:
    """The verbs by which a request is begun and answered; each is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, token: str, note: Any) -> Any | None:
        """Take a token, with a note; return what is kept with it if an earlier request took it."""

        def verb(tx: Transaction) -> Any | None:
            if tx.run("operate.begin_token", token=token, action=ACTION):
                tx.run("operate.keep_token", token=token, answer=json.dumps(note))
                return None
            kept = tx.find("operate.find_token", token=token)
            return None if kept is None else json.loads(kept[0])

        return self._database.write(verb)

    def keep(self, token: str, answer: Any) -> None:
        """Keep an answer with its token."""
        self._database.write(lambda tx: tx.run("operate.keep_token", token=token, answer=json.dumps(answer)))

    def forget(self, token: str) -> None:
        """Give a token back: its request was refused."""
        self._database.write(lambda tx: tx.run("operate.forget_token", token=token))
