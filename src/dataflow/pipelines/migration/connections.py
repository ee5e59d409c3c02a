"""The connections that a project's pipelines write to, as its files of variables describe them."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable

from dataflow.errors import ConfigError
from dataflow.model.record import record
from dataflow.pipelines.declare.definitions import LAKE
from dataflow.pipelines.migration.class_table import ClassTable
from dataflow.pipelines.register.settings import list_variables, parse_connection

ENVIRONMENT_FILES = (".env", "local.env", "sample.env")
_VARIABLE = re.compile(r"^\s*(?:export\s+)?(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE)


@record
class Target:
    """A connection by name: its URL without the password, "" if no file has one, and where it stands."""

    name: str
    url: str
    place: str
    has_password: bool = False

    @property
    def variable(self) -> str:
        """The variable that the first Data Flow takes it from."""
        return list_variables(self.name)[-1]

    @property
    def toml(self) -> str:
        """It as a table of dataflow.toml."""
        password = f'# encryptedpass = "…"   # printed by: dataflow secret encrypt --connection {self.name}\n'
        return f'[connection.{self.name}]\nurl = "{self.url}"\n{password * self.has_password}'


def list_targets(root: str, table: ClassTable, pipelines: Iterable[str]) -> list[Target]:
    """The connections of these pipelines, but for the lake."""
    values = [table.find_value(name, "target_db") for name in pipelines]
    names = {value.value for value in values if isinstance(value, ast.Constant)} - {LAKE, None}
    return [_find_target(root, name) for name in sorted(map(str, names))]


def _find_target(root: str, name: str) -> Target:
    for file in ENVIRONMENT_FILES:
        for variable, line, value in _list_variables(os.path.join(root, file)):
            if variable in list_variables(name):
                place = f"{file}:{line}"
                try:
                    found = parse_connection(name, value, place)
                except ConfigError:
                    continue
                return Target(name, found.url, place, found.password is not None)
    return Target(name, "", "")


def _list_variables(path: str) -> list[tuple[str, int, str]]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError):
        return []
    return [
        (found[1], text.count("\n", 0, found.start(1)) + 1, found[2].strip("'\""))
        for found in _VARIABLE.finditer(text)
    ]
