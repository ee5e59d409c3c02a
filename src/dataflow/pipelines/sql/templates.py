"""Renders the Jinja2 templates of view pipelines for one interval. Knows nothing about SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from dataflow.errors import BadInput
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.sql.macros import TemplateInterval, build_context

MAX_TEXT = 1_000_000
MAX_STEPS = 10_000

# Each makes a string of any length from a short one.
_GROWING_METHODS = frozenset({"ljust", "rjust", "center", "zfill", "expandtabs"})
_GROWING_FILTERS = ("center", "format", "indent", "wordwrap", "xmlattr", "urlize", "pprint")


def render(
    text: str,
    place: str,
    interval: TemplateInterval,
    params: Mapping[str, object] | None = None,
    constants: Mapping[str, object] | None = None,
) -> str:
    """Render a template for one interval; each of `params` is available as `params.name` and as `name`.

    BadInput names the place, the line and, for an undefined name, the nearest known one.
    """
    context = build_context(interval, params or {}, constants or {}, place)
    try:
        return _render(text, context, place)
    except jinja2.TemplateSyntaxError as error:
        raise BadInput(f"{place}, line {error.lineno}: {error.message}") from error
    except jinja2.UndefinedError as error:
        raise BadInput(_describe_undefined(error, context, place)) from error
    except SecurityError as error:
        raise BadInput(f"{place}{_line_of(error)}: not allowed in a template: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise BadInput(f"{place}{_line_of(error)}: {type(error).__name__}: {error}") from error


class _Sandbox(ImmutableSandboxedEnvironment):
    """Blocks attributes that escape the sandbox, imports, and operations with huge results."""

    intercepted_binops = frozenset({"*", "**", "%", "//"})

    def __init__(self) -> None:
        super().__init__(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
        self.steps = 0
        self.globals = {"range": self._range, "dict": dict}
        for name in _GROWING_FILTERS:
            self.filters.pop(name, None)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str) and (
            attr in _GROWING_METHODS or (re.search(r"\d{4}", obj) and "format" in attr)
        ):
            return False  # '{:1000000000}'.format(…) is such a method too
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        numbers = all(isinstance(each, int | float) and abs(each) < 1e9 for each in (left, right))
        if operator == "**" and not (numbers and abs(right) <= 64):
            raise SecurityError("** of these values")
        if operator == "%" and isinstance(left, str):
            raise SecurityError("% on strings; write '{}'.format(…)")
        if operator == "*" and any(isinstance(each, str | list | tuple) for each in (left, right)):
            raise SecurityError("* on strings and lists")
        return super().call_binop(context, operator, left, right)

    def _range(self, *bounds: int) -> range:
        steps = range(*bounds)
        self.steps += max(len(steps), 1)
        if self.steps > MAX_STEPS:
            raise SecurityError(f"loops of more than {MAX_STEPS} steps in total")
        return steps


def _render(text: str, context: Mapping[str, object], place: str) -> str:
    if len(text) > MAX_TEXT:
        raise BadInput(f"{place}: the template is longer than {MAX_TEXT} characters. Shorten it.")
    pieces: list[str] = []
    length = 0
    for piece in _Sandbox().from_string(text).generate(context):
        length += len(piece)
        if length > MAX_TEXT:
            raise BadInput(f"{place}: the rendered text is longer than {MAX_TEXT} characters. Shorten it.")
        pieces.append(piece)
    return "".join(pieces)


def _describe_undefined(error: jinja2.UndefinedError, context: Mapping[str, Any], place: str) -> str:
    message = str(error)
    where = f"{place}{_line_of(error)}"
    if found := re.fullmatch(r"'(\w+)' is undefined", message):
        name, owner, known = found[1], "the template", sorted(context)
    elif found := re.search(r"has no attribute '(\w+)'", message):
        name = found[1]
        owner, known = _guess_owner(message, context)
    else:
        return f"{where}: {message}"
    hint = did_you_mean(name, known) or (f" Known names: {', '.join(known)}." if known else "")
    return f"{where}: {quoted(name)} is undefined in {owner}.{hint}"


def _guess_owner(message: str, context: Mapping[str, Any]) -> tuple[str, list[str]]:
    if message.startswith("'dict object'"):
        return "params", sorted(context["params"])
    if "Namespace" in message:
        return "macros", sorted(vars(context["macros"]))
    return message.split(" has no attribute", maxsplit=1)[0], []


def _line_of(error: BaseException) -> str:
    step: TracebackType | None = error.__traceback__
    line = 0
    while step is not None:
        if step.tb_frame.f_code.co_filename in ("<template>", "<unknown>"):
            line = step.tb_lineno
        step = step.tb_next
    return f", line {line}" if line else ""
