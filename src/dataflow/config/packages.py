"""Packages that only some extras install."""

from __future__ import annotations

from contextlib import contextmanager

from dataflow.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def installed_packages(what: str, extra: str = "spark") -> Iterator[None]:
    """Import packages of an extra; ConfigError says what needs them if they are not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{what} need{'s' * (not what.endswith('s'))} packages that are not installed ({error}). "
            f"Install them: pip install '.[{extra}]' in the DataFlow checkout"
        ) from error
