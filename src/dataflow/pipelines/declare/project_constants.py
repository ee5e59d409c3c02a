"""The project's `constants` and `config`: read from these files, then from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflow.pipelines.handover.records import FINANCIAL_YEAR

FILE = "constants.py"
CONFIG_FILE = "config.py"


class Constants:
    """Names a pipeline may use as `constants.NAME`."""

    def __init__(self, values: Mapping[str, Any], environ: Mapping[str, str], file: str) -> None:
        self._values = values
        self._environ = environ
        self._file = file

    def __getattr__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name.startswith("_") or name not in self._environ:
            raise AttributeError(
                f"{self._file[:-3]} has no {name}. Add it to {self._file} beside dataflow.toml "
                f"or: export {name}=…"
            )
        return self._environ[name]

    def list_for_templates(self) -> dict[str, Any]:
        """The values templates may use: strings and numbers of constants.py, and the financial year."""
        plain = {name: value for name, value in self._values.items() if isinstance(value, str | int | float)}
        if FINANCIAL_YEAR in self._environ:
            plain.setdefault(FINANCIAL_YEAR, self._environ[FINANCIAL_YEAR])
        return plain


def described(error: BaseException) -> str:
    """An error raised by a project file, for a message."""
    hint = ". DataFlow runs this file to read it: remove sys.exit()." if isinstance(error, SystemExit) else ""
    return f"{type(error).__name__}: {error}{hint}"
