"""The connections that a project's pipelines write to, from its environment files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from dataflow.config.toml import toml_key, toml_table
from dataflow.errors import ConfigError
from dataflow.model.record import record
from dataflow.model.url_text import names_password
from dataflow.pipelines.declare.definitions import LAKE
from dataflow.pipelines.declare.settings import list_variables, parse_connection
from dataflow.pipelines.declare.source_text import read_file
from dataflow.pipelines.migration.class_table import ClassTable

ENVIRONMENT_FILES = (".env", "local.env", "sample.env")
_VARIABLE = re.compile(r"^\s*(?:export\s+)?(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE)


@record
class OldConnection:
    """A connection by name: its URL without the password, "" if no file has one, and its place."""

    name: str
    url: str
    place: str
    has_password: bool = False

    @property
    def variable(self) -> str:
        """The variable that the first Data Flow reads it from."""
        return list_variables(self.name)[-1]

    @property
    def toml(self) -> str:
        """The connection as a table of dataflow.toml."""
        command = f"dataflow secret encrypt --connection {toml_key(self.name)}"
        password = f'# encryptedpass = "…"   # printed by: {command}\n'
        table = toml_table(("connection", self.name), [("url", self.url)])
        return table + password * self.has_password


def list_targets(root: str, table: ClassTable, pipelines: Iterable[str]) -> list[OldConnection]:
    """The connections of these pipelines, without the lake."""
    values = [table.find_value(name, "target_db") for name in pipelines]
    names = {value.value for value in values if isinstance(value, ast.Constant)} - {LAKE, None}
    return [_find_target(root, name) for name in sorted(map(str, names))]


def _find_target(root: str, name: str) -> OldConnection:
    for file in ENVIRONMENT_FILES:
        for variable, line, value in _list_variables(root, file):
            if variable in list_variables(name):
                place = f"{file}:{line}"
                try:
                    found = parse_connection(name, value, place)
                except ConfigError:
                    continue
                plain = _without_passwords(found.url)
                return OldConnection(name, plain, place, found.password is not None or plain != found.url)
    return OldConnection(name, "", "")


def _without_passwords(url: str) -> str:
    """The URL without parameters such as sslpassword."""
    server, _, query = url.partition("?")
    kept = "&".join(part for part in query.split("&") if not names_password(part))
    return f"{server}?{kept}" if kept else server


def _list_variables(root: str, name: str) -> list[tuple[str, int, str]]:
    try:
        text = read_file(root, name).decode()
    except (OSError, ValueError):
        return []
    return [
        (found[1], text.count("\n", 0, found.start(1)) + 1, found[2].strip("'\""))
        for found in _VARIABLE.finditer(text)
    ]
