"""The store of a command, with its password record and lock folder."""

from __future__ import annotations

import os

from dataflow.config.project import PROJECT_FILE, PROPERTIES_FILE, STORE_FILE, find_file
from dataflow.config.store_url import SQLITE, StoreUrl, split_store_url
from dataflow.errors import ConfigError, UsageError
from dataflow.model.record import record
from dataflow.private_files import STATE_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.config.settings import Setting, Sources

_MEMORY = ":memory:"
_WAYS_OUT = "set DATAFLOW_STORE or PGPASSWORD, use ~/.pgpass"


@record
class ChosenStore:
    """A store and what belongs to it: a password is never sent to another server."""

    address: StoreUrl
    schema: str | None = None
    password_record: str | None = None

    _hidden = ("password_record",)


def choose_store(flag: StoreUrl | None, sources: Sources) -> ChosenStore | None:
    """Return the store of the source with the highest precedence; problems of all sources are noted."""
    setting = sources.find_variable("store")
    address = _read_address(setting, sources)
    variable = ChosenStore(address) if address else None
    declared = _find_declared_store(sources)
    return ChosenStore(flag) if flag else variable or declared or _find_properties_store(sources)


def default_store(project_dir: str) -> ChosenStore:
    """Return the embedded store of a project."""
    return ChosenStore(StoreUrl(SQLITE, path=os.path.join(project_dir, STATE_FOLDER, STORE_FILE)))


def read_store_flag(url: str, cwd: str) -> StoreUrl:
    """Return the value of --store; UsageError if it is invalid or contains a password, which `ps` shows."""
    try:
        address = _read_url(url, cwd)
    except ConfigError as error:
        raise UsageError(f"--store: {error}") from error
    if address.password is not None:
        raise UsageError(
            "--store contains a password, and everyone on this machine can read arguments with ps; "
            f"remove it and {_WAYS_OUT}, or keep it encrypted in {PROJECT_FILE}: dataflow secret encrypt"
        )
    return address


def default_lock_dir(address: StoreUrl, state_dir: str) -> str:
    """Return the lock folder that all processes of this user share for this store on this machine."""
    if address.kind != SQLITE:
        # Not $TMPDIR: it may differ between cron and a login shell, which would not see each other's locks.
        return f"/tmp/dataflow-{os.geteuid()}/locks"
    if address.path == _MEMORY:
        return os.path.join(state_dir, "locks")
    file = os.path.realpath(address.path)
    folder = os.path.dirname(file)
    is_state_folder = os.path.basename(folder) == STATE_FOLDER
    return os.path.join(folder, "locks") if is_state_folder else f"{file}-locks"


def _find_declared_store(sources: Sources) -> ChosenStore | None:
    setting = sources.find_declared("store")
    record = sources.find_declared("store_encryptedpass")
    address = _read_address(setting, sources)
    if record and (setting is None or (address and address.kind == SQLITE)):
        sources.problems.add(record.origin, "has no effect without a PostgreSQL `store` in the same file")
    if setting and address and address.password is not None:
        way_out = "set store_encryptedpass to the output of `dataflow secret encrypt`"
        reason = f"contains a password in plain text; remove it and {_WAYS_OUT}, or {way_out}"
        sources.problems.add(setting.origin, reason)
    return ChosenStore(address, password_record=record.value if record else None) if address else None


def _find_properties_store(sources: Sources) -> ChosenStore | None:
    path = find_file(sources.project_dir, PROPERTIES_FILE)
    if path is None:
        return None
    from dataflow.config.properties import read_properties  # start-up: most projects have no such file

    try:
        found = read_properties(path)
    except ConfigError as error:
        sources.problems.add_error(error)
        return None
    return ChosenStore(split_store_url(found.url), found.schema, found.password_record)


def _read_address(setting: Setting | None, sources: Sources) -> StoreUrl | None:
    if setting is None:
        return None
    try:
        return _read_url(setting.value, setting.folder)
    except ConfigError as error:
        sources.problems.add(setting.origin, str(error))
        return None


def _read_url(url: str, folder: str) -> StoreUrl:
    address = split_store_url(url)
    if address.kind != SQLITE or address.path == _MEMORY:
        return address
    # Such files may exist, and so may such project folders; in a URL they are mistakes.
    if "?" in address.path or "\0" in address.path or address.path.startswith("~"):
        raise ConfigError("a SQLite URL takes a plain path: no options after `?`, no NUL, no `~`")
    return StoreUrl(SQLITE, path=os.path.abspath(os.path.join(folder, address.path)))
