"""Pipeline settings from dataflow.toml and the environment: connections and Spark.

[connection.datasets_db]                     [spark]
url = "postgresql://etl@dbhost/datasets"     master = "local[*]"        # or remote = "sc://host:15002"
encryptedpass = "…"                          # or remote_variable = "SPARK_ADDRESS", for one with a token
                                             options = { "spark.driver.memory" = "2g" }
                                             shared_files = true        # every machine sees this folder
                                             copy_on_driver = true      # tasks cannot reach the databases
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dataflow.actions.passwords import bound_to_connection
from dataflow.config.problems import Problems
from dataflow.config.project import PROJECT_FILE
from dataflow.config.toml import load_toml
from dataflow.errors import ConfigError
from dataflow.model.url_text import is_torn, names_password, percent_decode, split_server
from dataflow.model.variable_names import CONNECTION_PREFIXES, list_secrets
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.declare.definitions import LAKE
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.spark.addresses import list_remote_secrets
from dataflow.pipelines.spark.session import SparkSettings
from dataflow.secrets.cipher import decrypt
from dataflow.secrets.known import KnownSecrets

DEFAULT_LAKE = "lake"
CONNECTION_KEYS = dict.fromkeys(("url", "encryptedpass", "password_variable"), str)
SPARK_KEYS = {
    "master": str,
    "remote": str,
    "remote_variable": str,
    "options": dict,
    "shared_files": bool,
    "copy_on_driver": bool,
}
SPARK_PLACES = ("master", "remote", "remote_variable")
SECRET_OPTION = re.compile(r"secret|password|token|access[.]?key", re.IGNORECASE)
"""Spark itself hides the values of options with such names."""
SHORTEST_OPTION = 8  # `true` is not a secret, whatever the option's name
SCHEME = re.compile(r"[\w+.-]+:/")
KINDS = {str: "a string", bool: "true or false", dict: "a table"}


class PipelineSettings:
    """The part of a project's settings that only pipelines need."""

    def __init__(self, project_dir: str, environ: Mapping[str, str], passphrase: Callable[[], str]) -> None:
        self.environ = environ
        self._passphrase = passphrase
        self._asking = threading.Lock()
        path = os.path.join(project_dir, PROJECT_FILE)
        problems = Problems()
        document = load_toml(path, problems) if os.path.exists(path) else {}
        problems.raise_if_any()
        self._declared = _tables(path, document.get("connection", {}))
        self._spark = _checked_spark(path, document.get("spark", {}))
        self.secrets = KnownSecrets(*self._list_secrets())

    @property
    def spark(self) -> SparkSettings:
        """How to reach Spark; ConfigError if the variable with its address is not set."""
        given = {name: value for name, value in self._spark.items() if name != "remote_variable"}
        if variable := self._spark.get("remote_variable"):
            if not self.environ.get(variable):
                raise ConfigError(
                    f"[spark] reads the address of Spark from {variable}, which is not set. "
                    f"Set it: export {variable}='sc://host:15002/;token=…'"
                )
            given["remote"] = self.environ[variable]
        options = {name: _option(value) for name, value in given.get("options", {}).items()}
        return SparkSettings(**{**given, "options": options})

    def get_connection(self, name: str) -> Connection:
        """A connection by name, with its password; ConfigError if either is missing."""
        place = self.get_place(name)
        if place.password is not None or self._find_variable(name):
            return place
        declared = self._declared.get(name, {})
        password = None
        if "encryptedpass" in declared:
            with self._asking:  # a prompt, once for all threads
                passphrase = self._passphrase()
            self.secrets.add(passphrase)
            password = decrypt(declared["encryptedpass"], passphrase, bound_to_connection(name))
        elif variable := declared.get("password_variable"):
            password = self.environ.get(variable)
            if not password:
                raise ConfigError(f"Connection {name} reads its password from {variable}, which is not set.")
        self.secrets.add(password)
        return Connection(name, place.url, password)

    def get_place(self, name: str) -> Connection:
        """A connection by name, from its variable or else dataflow.toml; its password is not decrypted."""
        if variable := self._find_variable(name):
            return parse_connection(name, self.environ[variable], variable)
        if name in self._declared:
            origin = f"{PROJECT_FILE}: connection.{name}.url"
            found = parse_connection(name, self._declared[name]["url"], origin)
            parameters = found.url.partition("?")[2].split("&")
            if found.password is None and not any(map(names_password, parameters)):
                return found
            raise ConfigError(
                f"{origin} contains a password. Remove it and add its encrypted form: "
                f"dataflow secret encrypt --connection {name}"
            )
        if name == LAKE:
            return Connection(LAKE, f"lake:{DEFAULT_LAKE}")
        if "://" in name:  # not shown: it may hold a password
            raise ConfigError(
                "Expected the name of a connection, got a URL, for example in target_db. Write a name "
                f"such as datasets_db, and set {list_variables('datasets_db')[0]} to the URL."
            )
        hint = did_you_mean(name, [*self._declared, LAKE])
        raise ConfigError(
            f"Unknown connection {quoted(name)}.{hint} Set {list_variables(name)[0]}=postgresql://user:password@host/"
            f"database, or add [connection.{name}] to {PROJECT_FILE}."
        )

    def list_connections(self) -> list[str]:
        """The names of the connections that dataflow.toml declares."""
        return sorted(self._declared)

    def _list_secrets(self) -> Iterator[str]:
        """The readable secrets; encrypted ones are added when they are decrypted."""
        named = [table.get("password_variable", "") for table in self._declared.values()]
        yield from (self.environ.get(name, "") for name in named)
        yield from list_secrets(self.environ)
        yield from list_remote_secrets(self.environ.get(self._spark.get("remote_variable", ""), ""))
        for name, value in self._spark.get("options", {}).items():
            if SECRET_OPTION.search(name) and len(_option(value)) >= SHORTEST_OPTION:
                yield _option(value)

    def _find_variable(self, name: str) -> str | None:
        return next((variable for variable in list_variables(name) if self.environ.get(variable)), None)


def find_secrets(project_dir: str, environ: Mapping[str, str]) -> KnownSecrets:
    """The secrets that a project's pipelines can read from variables; nothing is decrypted."""
    try:
        return PipelineSettings(project_dir, environ, str).secrets
    except ConfigError:  # reported by whoever needs the settings
        return PipelineSettings(os.devnull, environ, str).secrets


def parse_connection(name: str, url: str, origin: str) -> Connection:
    """A connection parsed from a URL, with the password kept apart."""
    if url == LAKE or url.startswith("lake:"):
        found = Connection(name, url if ":" in url else f"lake:{DEFAULT_LAKE}")
        if not found.folder or SCHEME.match(found.folder):  # Python would treat `s3://bucket` as a folder
            raise ConfigError(
                f"{origin} is not valid: a lake is a folder of this machine, or a mounted one, written as "
                "its path: lake:/srv/lake. Object stores are not supported."
            )
        return found
    scheme, slashes, rest = url.partition("://")
    if not slashes or scheme.partition("+")[0] not in ("postgresql", "postgres"):
        # Not shown: a password may be anywhere in such a string.
        raise ConfigError(
            f"{origin} is not valid: a connection is postgresql://user@host/database or lake:FOLDER."
        )
    authority, path, query = split_server(rest)
    if is_torn(authority, path, query):
        raise ConfigError(
            f"{origin} is not valid. Inside any part of it write %2F for a slash, %3F for a question mark "
            "and %40 for an @."
        )
    userinfo, at, hosts = authority.rpartition("@")
    user, colon, given = userinfo.partition(":")
    password = percent_decode(given) if colon else None
    kept = []
    for parameter in query.split("&") if query else ():
        key, _, value = parameter.partition("=")
        if percent_decode(key) == "password":  # it takes precedence in libpq, too
            password = percent_decode(value)
        else:
            kept.append(parameter)
    plain = f"postgresql://{user}{at}{hosts}{path}{'?' if kept else ''}{'&'.join(kept)}"
    return Connection(name, plain, password)


def list_variables(name: str) -> list[str]:
    plain = re.sub(r"[^A-Za-z0-9]", "_", name).upper()
    return [prefix + plain for prefix in CONNECTION_PREFIXES]


def _tables(path: str, found: Any) -> dict[str, dict[str, str]]:
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: connection must be a set of tables such as [connection.datasets_db].")
    for name, table in found.items():
        where = f"{path}: connection.{name}"
        if not isinstance(table, dict) or "url" not in table:
            raise ConfigError(f'{where} has no url. Add one: url = "postgresql://user@host/database"')
        _check_keys(where, table, CONNECTION_KEYS)
    return found


def _check_keys(where: str, table: Mapping[str, Any], known: Mapping[str, type]) -> None:
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"{where}.{key}: unknown key.{did_you_mean(key, known)}")
        if not isinstance(value, known[key]):
            raise ConfigError(f"{where}.{key} must be {KINDS[known[key]]}.")


def _checked_spark(path: str, found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: spark must be a table.")
    _check_keys(f"{path}: spark", found, SPARK_KEYS)
    places = [key for key in SPARK_PLACES if key in found]
    if len(places) > 1:
        raise ConfigError(f"{path}: spark has both {' and '.join(places)}. Keep one of them.")
    if list_remote_secrets(found.get("remote", "")):
        raise ConfigError(
            f"{path}: spark.remote contains a token. Put the whole address into a variable and name it here: "
            'remote_variable = "SPARK_ADDRESS"'
        )
    return found


def _option(value: Any) -> str:
    """An option as Spark writes it: TOML's true is `true`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
