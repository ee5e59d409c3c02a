"""The frozen Config, built by precedence from flags, the environment and the project's files."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping
from types import MappingProxyType

from dataflow.config.problems import Problems
from dataflow.config.project import PROJECT_FILE, find_file, find_project_dir
from dataflow.config.store_choice import choose_store, default_lock_dir, default_store, read_store_flag
from dataflow.config.variables import check_variables
from dataflow.model.record import record
from dataflow.private_files import STATE_FOLDER

DEFAULT_ENVIRONMENT = "dev"
DEFAULT_SCHEMA = "dataflow"

_ENVIRONMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_LONGEST_SCHEMA = 63  # PostgreSQL silently truncates longer identifiers


@record
class Config:
    """Everything a command needs before it opens the store; all paths are absolute."""

    project_dir: str
    store_url: str  # without a password: safe to show, log and store
    store_schema: str
    environment: str
    log_dir: str
    lock_dir: str
    context_dir: str
    user: str
    host: str
    actor: str
    passkey_file: str | None = None
    passkey: str | None = None
    store_password: str | None = None  # as in DATAFLOW_STORE
    store_password_record: str | None = None  # encrypted, from a file
    checks: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # dataset to its check command
    environments: Mapping[str, Mapping[str, str]] = MappingProxyType({})  # job to variables set only here
    is_outside: bool = False  # neither a project nor a store was found or named
    commands: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # job to its command on this machine
    secret_variables: tuple[str, ...] = ()  # hold secrets of notification channels and of the login
    connection_variables: tuple[str, ...] = ()  # hold passwords of connections

    _hidden = ("passkey", "store_password", "store_password_record", "environments")


@record
class Setting:
    """A value, its name in messages, and the folder its relative paths start from."""

    value: str
    origin: str
    folder: str

    _hidden = ("value",)


class Sources:
    """The DATAFLOW_ variables and dataflow.toml of one command."""

    def __init__(self, cwd: str, environ: Mapping[str, str], problems: Problems) -> None:
        self._folder = os.path.abspath(cwd)
        self._environ = environ
        self.problems = problems
        found = self._find_project_dir()
        self.is_outside = found is None
        self.project_dir = found or self._folder
        self._toml_path = os.path.join(self.project_dir, PROJECT_FILE)
        self._declared: dict[str, str] = {}
        self.checks: dict[str, tuple[str, ...]] = {}
        self.environments: dict[str, dict[str, str]] = {}
        self.commands: dict[str, tuple[str, ...]] = {}
        self.secret_variables: tuple[str, ...] = ()
        self.connection_variables: tuple[str, ...] = ()
        if find_file(self.project_dir, PROJECT_FILE):
            # start-up: a project without the file does not load the TOML reader
            from dataflow.config.declarations import read_project_file

            self._declared, declared = read_project_file(self._toml_path, problems)
            self.checks, self.environments = declared.checks, declared.environments
            self.commands = declared.commands
            self.secret_variables = declared.secret_variables
            self.connection_variables = declared.connection_variables

    def find(self, name: str) -> Setting | None:
        """Return the setting from the source with the highest precedence."""
        return self.find_variable(name) or self.find_declared(name)

    def find_variable(self, name: str) -> Setting | None:
        """Return the setting from its variable; an empty one counts as unset."""
        variable = f"DATAFLOW_{name.upper()}"
        value = self._environ.get(variable)
        return Setting(value, variable, self._folder) if value else None

    def find_declared(self, name: str) -> Setting | None:
        """Return the setting from dataflow.toml."""
        value = self._declared.get(name)
        return None if value is None else Setting(value, f"{self._toml_path}: {name}", self.project_dir)

    def find_path(self, name: str) -> str | None:
        """Return the setting as an absolute path."""
        setting = self.find(name)
        return os.path.abspath(os.path.join(setting.folder, setting.value)) if setting else None

    def _find_project_dir(self) -> str | None:
        given = self._environ.get("DATAFLOW_PROJECT")
        if not given:
            return find_project_dir(self._folder)
        folder = os.path.abspath(os.path.join(self._folder, given))
        if not os.path.isdir(folder):
            self.problems.add("DATAFLOW_PROJECT", f"{folder} is not a folder")
        return folder


def load_config(cwd: str, environ: Mapping[str, str], store: str | None = None) -> Config:
    """Return the configuration of a command started in `cwd`; `store` is the value of --store.

    Precedence: flag, DATAFLOW_ variables, dataflow.toml, dataflow.properties, defaults. One
    ConfigError reports everything that is wrong; an invalid --store is a UsageError.
    """
    flag = None if store is None else read_store_flag(store, cwd)
    problems = Problems()
    check_variables(environ, problems)
    sources = Sources(cwd, environ, problems)
    given = choose_store(flag, sources)
    chosen = given or default_store(sources.project_dir)
    schema = _find_schema(sources) or chosen.schema or DEFAULT_SCHEMA
    environment = _get_environment(sources)
    problems.raise_if_any()
    user, host = _get_user(environ), os.uname().nodename
    state_dir = os.path.join(sources.project_dir, STATE_FOLDER)
    return Config(
        project_dir=sources.project_dir,
        store_url=chosen.address.url,
        store_schema=schema,
        environment=environment,
        log_dir=sources.find_path("log_dir") or os.path.join(state_dir, "logs"),
        lock_dir=sources.find_path("lock_dir") or default_lock_dir(chosen.address, state_dir),
        context_dir=os.path.join(state_dir, "context"),
        user=user,
        host=host,
        actor=f"{user}@{host}",
        passkey_file=sources.find_path("passkey_file"),
        passkey=environ.get("PASSKEY") or None,
        store_password=chosen.address.password,
        store_password_record=chosen.password_record,
        checks=sources.checks,
        environments=sources.environments,
        is_outside=sources.is_outside and given is None,
        commands=sources.commands,
        secret_variables=sources.secret_variables,
        connection_variables=sources.connection_variables,
    )


def _find_schema(sources: Sources) -> str | None:
    setting = sources.find("schema")
    if setting is None:
        return None
    if not 0 < len(setting.value.encode(errors="surrogateescape")) <= _LONGEST_SCHEMA:
        sources.problems.add(setting.origin, f"must be 1 to {_LONGEST_SCHEMA} bytes long")
    elif setting.value.startswith("pg_"):
        sources.problems.add(setting.origin, "must not start with pg_, which PostgreSQL reserves")
    return setting.value


def _get_environment(sources: Sources) -> str:
    setting = sources.find("environment")
    if setting is None:
        return DEFAULT_ENVIRONMENT
    if not _ENVIRONMENT.fullmatch(setting.value):
        rule = "must be up to 63 letters, digits, dots, dashes and underscores, like dev or prod-eu"
        sources.problems.add(setting.origin, f"{rule}; it is {setting.value!r}")
    return setting.value


def _get_user(environ: Mapping[str, str]) -> str:
    """Return the account's name; containers often run under a number without one."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return environ.get("LOGNAME") or environ.get("USER") or f"uid{os.geteuid()}"
