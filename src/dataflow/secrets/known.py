"""The secrets a process knows so far, and their removal from its messages."""

from __future__ import annotations

from _thread import allocate_lock
from contextlib import contextmanager

from dataflow.secrets.redaction import Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class KnownSecrets:
    """A growing set of secrets; every holder also hides secrets that are added later."""

    def __init__(self, *secrets: str | None) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._redactor = Redactor()
        self._adding = allocate_lock()  # start-up: the threading module costs more
        self.add(*secrets)

    def __iter__(self) -> Iterator[str]:
        return iter(self._secrets)

    def __repr__(self) -> str:
        return f"KnownSecrets({len(self._secrets)})"

    def add(self, *secrets: str | None) -> None:
        """Hide these from now on; None and empty strings are ignored."""
        with self._adding:
            found = self._secrets.union(secret for secret in secrets if secret)
            if found != self._secrets:
                self._secrets, self._redactor = found, Redactor(found)

    def redact_text(self, text: str) -> str:
        """Return the text without secrets."""
        return self._redactor.redact_text(text)

    def redact_all(self, value: Any) -> Any:
        """A value made of dicts and lists with every text in it redacted."""
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, dict):
            return {key: self.redact_all(each) for key, each in value.items()}
        return [self.redact_all(each) for each in value] if isinstance(value, (list, tuple)) else value

    @contextmanager
    def hidden_in_errors(self) -> Iterator[None]:
        """Remove secrets from an error and its causes before it is shown."""
        try:
            yield
        except Exception as error:
            found: BaseException | None = error
            while found is not None:
                found.args = tuple(
                    self.redact_text(part) if isinstance(part, str) else part for part in found.args
                )
                found = found.__cause__ or found.__context__
            raise
