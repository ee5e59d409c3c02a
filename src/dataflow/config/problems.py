"""Problems of a configuration, collected to report all of them at once."""

from __future__ import annotations

from collections.abc import Iterable

from dataflow.errors import ConfigError
from dataflow.model.wording import did_you_mean


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the sentence after an unknown name: the nearest known one, or all of them."""
    choices = sorted(known)
    return did_you_mean(name, choices).strip() or f"Known names: {', '.join(choices)}."


class Problems:
    """The problems found so far, in order."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, origin: str, reason: str) -> None:
        """Note one problem; the origin is a file and key, or a variable."""
        self._found.append(f"{origin}: {reason}")

    def add_error(self, error: ConfigError) -> None:
        """Note a problem that already names its origin."""
        self._found.append(str(error))

    def raise_if_any(self) -> None:
        """Raise one ConfigError that lists every problem, if any."""
        if len(self._found) == 1:
            raise ConfigError(self._found[0])
        if self._found:
            listed = "".join(f"\n  - {problem}" for problem in self._found)
            raise ConfigError(f"{len(self._found)} problems in the configuration:{listed}")
