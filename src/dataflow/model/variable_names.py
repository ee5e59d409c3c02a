"""The variables of a script: which of them the store may set, and which hold secrets.

All that the store may not set come from files on the worker. The rule lists what is allowed, because nobody
can list all variables from which some loader, shell, interpreter or tool takes code, files or hosts:
LD_PRELOAD, BASH_ENV, PATH, TAR_OPTIONS, KUBECONFIG and more. POSIX leaves lower-case names to applications;
names that known programs read are excluded.
"""

from __future__ import annotations

import re

from dataflow.model.url_text import is_secret_name, list_secret_parameters, list_url_passwords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SECRETS = ("PASSKEY", "PGPASSWORD", "HAWK_KEY", "OAUTH_CLIENT_SECRET", "SPARK_CONNECT_AUTHENTICATE_TOKEN")
CONNECTION_PREFIXES = ("DATAFLOW_CONN_", "AIRFLOW_CONN_")
"""Variables with the URLs of connections."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOWER_CASE = re.compile(r"[a-z][a-z0-9_]*")
# Proxies see passwords; npm and similar tools, fish and rvm read commands and code folders.
_READ_BY_PROGRAMS = re.compile(r"[a-z0-9]+_proxy(_.*)?|(npm|pnpm|yarn|fish|rvm)_.*")


def is_variable_name(name: str) -> bool:
    """Return whether a shell can use a variable of that name."""
    return _VARIABLE.fullmatch(name) is not None


def may_come_from_store(name: str) -> bool:
    """Return whether only the job's own programs read a variable of that name."""
    return _LOWER_CASE.fullmatch(name) is not None and _READ_BY_PROGRAMS.fullmatch(name) is None


def list_secrets(environ: Mapping[str, str]) -> list[str]:
    """Return the secrets in the variables that are known to hold one, and the passwords in their URLs."""
    found = [environ[name] for name in _SECRETS if environ.get(name)]
    for name, value in environ.items():
        if name.startswith(CONNECTION_PREFIXES) or name == "DATAFLOW_STORE":
            found += [*list_url_passwords(value), *list_secret_parameters(value), *_list_in_json(value)]
    return found


def _list_in_json(text: str) -> list[str]:
    """Return the secrets of a connection that Airflow has as JSON, also in its `extra`."""
    if not text.startswith("{"):
        return []
    import json  # start-up: few environments hold one

    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return []
    found = [str(value) for name, value in fields.items() if value and is_secret_name(name)]
    extra = fields.get("extra") or ""
    return found + _list_in_json(extra if isinstance(extra, str) else json.dumps(extra))
