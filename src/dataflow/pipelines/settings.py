"""What dataflow.toml and the environment say about pipelines: connections and Spark.

[connection.datasets_db]                     [spark]
url = "postgresql://etl@dbhost/datasets"     master = "local[*]"        # or remote = "sc://host:15002"
encryptedpass = "…"                          options = { "spark.driver.memory" = "2g" }
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from dataflow.actions.passwords import bound_to_connection
from dataflow.config.problems import Problems
from dataflow.config.project import PROJECT_FILE
from dataflow.config.toml_file import load_toml
from dataflow.errors import ConfigError
from dataflow.model.record import record
from dataflow.model.url_text import masked_url, percent_decode, split_server
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.spark.session import SparkSettings
from dataflow.secrets.cipher import decrypt

LAKE = "lake"
DEFAULT_LAKE = "lake"
CONNECTION_KEYS = ("url", "encryptedpass", "password_variable")
SPARK_KEYS = ("master", "remote", "options", "shared_files")


@record
class Connection:
    """A place that pipelines write to: a PostgreSQL database, or the folder of a lake."""

    name: str
    url: str  # without a password
    password: str | None = None

    _hidden = ("password",)

    @property
    def is_lake(self) -> bool:
        """True for a folder of Parquet files, False for a database."""
        return self.url.startswith("lake:")

    @property
    def folder(self) -> str:
        """The folder of a lake, as the project writes it."""
        return self.url.removeprefix("lake:").removeprefix("//")


class PipelineSettings:
    """The part of a project's settings that only pipelines need."""

    def __init__(self, project_dir: str, environ: Mapping[str, str], passphrase: Callable[[], str]) -> None:
        self._environ = environ
        self._passphrase = passphrase
        path = os.path.join(project_dir, PROJECT_FILE)
        problems = Problems()
        document = load_toml(path, problems) if os.path.exists(path) else {}
        problems.raise_if_any()
        self._declared = _tables(path, document.get("connection", {}))
        self.spark = _spark(path, document.get("spark", {}))
        self.shared_files = bool(document.get("spark", {}).get("shared_files", False))

    def get_connection(self, name: str) -> Connection:
        """A connection by name, with its password; ConfigError if there is none, or its password is missing."""
        place = self.get_place(name)
        if place.password is None and name in self._declared and not self._find_variable(name):
            return Connection(name, place.url, self._find_password(name, self._declared[name]))
        return place

    def get_place(self, name: str) -> Connection:
        """A connection by name, its password left closed: from its variable, else from dataflow.toml."""
        if variable := self._find_variable(name):
            return _connection(name, self._environ[variable], variable)
        if name in self._declared:
            return _declared_connection(name, self._declared[name])
        if name == LAKE:
            return Connection(LAKE, f"lake:{DEFAULT_LAKE}")
        hint = did_you_mean(name, [*self._declared, LAKE])
        raise ConfigError(
            f"There is no connection {quoted(name)}.{hint} Set {_variables(name)[0]}=postgresql://user:password@host/"
            f"database, or write [connection.{name}] into {PROJECT_FILE}."
        )

    def list_connections(self) -> list[str]:
        """The names of the connections that dataflow.toml declares."""
        return sorted(self._declared)

    def _find_variable(self, name: str) -> str | None:
        return next((variable for variable in _variables(name) if self._environ.get(variable)), None)

    def _find_password(self, name: str, declared: Mapping[str, str]) -> str | None:
        if "encryptedpass" in declared:
            return decrypt(declared["encryptedpass"], self._passphrase(), bound_to_connection(name))
        variable = declared.get("password_variable")
        if variable and not self._environ.get(variable):
            raise ConfigError(f"Connection {name} takes its password from {variable}, which is not set.")
        return self._environ[variable] if variable else None


def _declared_connection(name: str, declared: Mapping[str, str]) -> Connection:
    found = _connection(name, declared["url"], f"{PROJECT_FILE}: connection.{name}.url")
    if found.password is not None:
        raise ConfigError(
            f"{PROJECT_FILE}: connection.{name}.url holds a password. Take it out and give its encrypted form: "
            f"dataflow secret encrypt --connection {name}"
        )
    return found


def _connection(name: str, url: str, origin: str) -> Connection:
    """A URL taken apart, its password kept aside."""
    if url == LAKE or url.startswith("lake:"):
        return Connection(name, url if ":" in url else f"lake:{DEFAULT_LAKE}")
    scheme, slashes, rest = url.partition("://")
    if not slashes or scheme.partition("+")[0] not in ("postgresql", "postgres"):
        raise ConfigError(
            f"{origin} is {masked_url(url)}; a connection is postgresql://user@host/database or lake:FOLDER."
        )
    authority, path, query = split_server(rest)
    userinfo, at, hosts = authority.rpartition("@")
    user, colon, password = userinfo.partition(":")
    plain = f"postgresql://{user}{at}{hosts}{path}{'?' + query if query else ''}"
    return Connection(name, plain, percent_decode(password) if colon else None)


def _variables(name: str) -> list[str]:
    plain = re.sub(r"[^A-Za-z0-9]", "_", name).upper()
    return [f"{prefix}_CONN_{plain}" for prefix in ("DATAFLOW", "AIRFLOW")]


def _tables(path: str, found: Any) -> dict[str, dict[str, str]]:
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: connection must be tables such as [connection.datasets_db].")
    for name, table in found.items():
        where = f"{path}: connection.{name}"
        if not isinstance(table, dict) or "url" not in table:
            raise ConfigError(f'{where} has no url. Give it one: url = "postgresql://user@host/database"')
        for key, value in table.items():
            if key not in CONNECTION_KEYS:
                raise ConfigError(f"{where}.{key}: there is no such key.{did_you_mean(key, CONNECTION_KEYS)}")
            if not isinstance(value, str):
                raise ConfigError(f"{where}.{key} must be a text.")
    return found


def _spark(path: str, found: Any) -> SparkSettings:
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: spark must be a table.")
    for key in found:
        if key not in SPARK_KEYS:
            raise ConfigError(f"{path}: spark.{key}: there is no such key.{did_you_mean(key, SPARK_KEYS)}")
    if "master" in found and "remote" in found:
        raise ConfigError(f"{path}: spark has both master and remote. Keep one of them.")
    options = {str(name): str(value) for name, value in dict(found.get("options", {})).items()}
    return SparkSettings(found.get("master", "local[*]"), found.get("remote", ""), options)
