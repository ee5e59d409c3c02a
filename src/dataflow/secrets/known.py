"""The secrets a process has met so far, and what takes them out of its messages."""

from __future__ import annotations

from contextlib import contextmanager

from dataflow.secrets.redaction import Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class KnownSecrets:
    """Grows as secrets are looked up and opened; whoever holds it hides the later ones, too."""

    def __init__(self, *secrets: str | None) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._redactor = Redactor()
        self.add(*secrets)

    def __iter__(self) -> Iterator[str]:
        return iter(self._secrets)

    def __repr__(self) -> str:
        return f"KnownSecrets({len(self._secrets)})"

    def add(self, *secrets: str | None) -> None:
        """Hides these from now on; None and empty ones are no secrets."""
        found = self._secrets.union(secret for secret in secrets if secret)
        if found != self._secrets:
            self._secrets, self._redactor = found, Redactor(found)

    def redact_text(self, text: str) -> str:
        """The text without any of them."""
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
        """Takes them out of an error, and of those that led to it, on its way to whoever shows it."""
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
