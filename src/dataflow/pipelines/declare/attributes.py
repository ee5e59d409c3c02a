"""The attributes of one class, with its base's defaults; errors name the attribute and its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dataflow.actions.dataset_rules import check_name
from dataflow.actions.job_rules import LARGEST
from dataflow.errors import BadInput
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.declare.bases import ViewPipeline, list_attributes
from dataflow.pipelines.declare.loader import Found
from dataflow.pipelines.shape.checks import Check

_RETRIES = "Write retries = 3 and retry_delay_seconds = 300, with your own numbers."
OF_DAGS = {
    "get_dag": "Remove it: DataFlow does not build DAGs.",
    "dag": "Remove it: DataFlow does not build DAGs.",
    "default_args": _RETRIES,
    "retry_delay": _RETRIES,
}
"""Airflow attributes of classes of the first Data Flow, and what to do about each."""


class Attributes:
    """The attributes of one class; those it lacks have the defaults of its base."""

    def __init__(self, found: Found, base: type) -> None:
        self.thing = found.thing
        self._base = base
        self._job = found.name
        self.place = f"{found.path}:{found.line}"
        self._refuse_unknown()

    def __call__(self, name: str) -> Any:
        if not hasattr(self.thing, name) and not hasattr(self._base, name):
            hint = f". Add it, or call the class _{self._job} if it is a base of others"
            raise self.wrong(name, f"is missing{hint if isinstance(self.thing, type) else ''}")
        return getattr(self.thing, name, getattr(self._base, name, None))

    def text(self, name: str) -> str:
        """A string; "" for None."""
        return self.of(name, str | None, "a string") or ""

    def name(self, name: str) -> str:
        """A valid dataset name."""
        value = self.text(name)
        if not value:
            raise self.wrong(name, "is empty")
        with self.saying(name):
            return check_name("dataset", value)

    def one_of(self, name: str, known: tuple[str, ...]) -> str:
        """One of the known words."""
        value = self.text(name)
        if value not in known:
            raise self.wrong(name, f"is {quoted(value)}; it must be one of {', '.join(known)}")
        return value

    def switch(self, name: str) -> bool:
        """True or False, not a string such as "true"."""
        return bool(self.of(name, bool, "True or False"))

    def number(self, name: str, kind: type[int] | type[float]) -> Any:
        """A number that is not negative."""
        wanted = f"{'a whole number' if kind is int else 'a number'} from 0 to {LARGEST}"
        value = self.of(name, int | kind, wanted)
        if isinstance(value, bool) or not 0 <= value <= LARGEST:
            raise self.wrong(name, f"must be {wanted}, got {quoted(repr(value))}")
        return kind(value)

    def items(self, name: str, example: str = '"orders"') -> list[Any]:
        """The items of a list or tuple."""
        return list(self.of(name, list | tuple, f"a list, such as [{example}]"))

    def checks(self) -> tuple[Check, ...]:
        """The declared checks."""
        found = tuple(self.items("checks", "minimum_rows(10)"))
        for check in found:
            if not isinstance(check, Check):
                raise self.wrong("checks", f"holds {quoted(repr(check))}, which is not a check")
        return found

    def of(self, name: str, kinds: Any, wanted: str) -> Any:
        """A value of these types."""
        value = self(name)
        if not isinstance(value, kinds):
            raise self.wrong(name, f"must be {wanted}, got {quoted(repr(value))}")
        return value

    def wrong(self, name: str, what: str) -> BadInput:
        """An error about one attribute."""
        end = "" if what.endswith(("?", ".")) else "."
        return BadInput(f"{self.place}: {self._job}.{name} {what}{end}")

    @contextmanager
    def saying(self, name: str) -> Iterator[None]:
        """Prefixes errors raised in the body with this attribute's name."""
        try:
            yield
        except BadInput as error:
            raise BadInput(f"{self.place}: {name}: {error}") from error

    def _refuse_unknown(self) -> None:
        known = list_attributes(self._base)
        # With the classes of the project that it derives from.
        owners = getattr(self.thing, "__mro__", (self.thing,))
        given = [item for owner in owners if owner not in self._base.__mro__ for item in vars(owner).items()]
        for name, value in given:
            # Methods and properties have __get__; they are the class's own.
            if not name.startswith("_") and name not in known and not hasattr(value, "__get__"):
                raise self.wrong(name, f"is not an attribute of a pipeline.{self._advice(name, known)}")

    def _advice(self, name: str, known: list[str]) -> str:
        if name in OF_DAGS:
            return f" {OF_DAGS[name]}"
        if name != "table_name" or self._base is not ViewPipeline:
            return did_you_mean(name, known) or f" Remove it, or call it _{name} if it is your own."
        if not hasattr(self.thing, "view_name"):
            return " A view is named by view_name: rename it."
        if not hasattr(self.thing, "dataset_pipeline"):
            return f" Name what the view reads: dataset_pipeline = {getattr(self.thing, name)!r}."
        return " A view reads the table of its dataset_pipeline: remove it."
