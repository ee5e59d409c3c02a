"""Doctor: checks the store and this machine, repairs input counts and upgrades the schema.

Each finding is ok, a warning or a problem.
"""

from __future__ import annotations

import os
import stat
import time

from dataflow.actions.job_days import list_wrong_days
from dataflow.actions.next_commands import run_command, shell
from dataflow.actions.oracle import list_discrepancies, rebuild
from dataflow.actions.register import repair_days
from dataflow.config.project import PROJECT_FILE, PROPERTIES_FILE
from dataflow.model.record import record
from dataflow.model.url_text import masked_url
from dataflow.model.wording import counted
from dataflow.store.queries import SCHEMA_VERSION, newer_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dataflow.config.settings import Config
    from dataflow.model.records import Plan
    from dataflow.store.database import Row
    from dataflow.store.store import Store

SAFE_SQLITE = (3, 51, 3)
"""The first SQLite version in which several writers in WAL mode cannot corrupt the file."""

MOST_SKEW_SECONDS = 2.0
SHOWN = 5
VANISHING = frozenset({"tmpfs", "ramfs"})
OK, WARNING, PROBLEM = "ok", "warning", "problem"
OTHERS_READ = stat.S_IROTH
OTHERS_WRITE = stat.S_IWOTH


def examine(
    store: Store,
    config: Config,
    is_dead: Callable[[str], bool],
    remove_lock: Callable[[str], bool] | None = None,
) -> Iterator[Finding]:
    """Check the store and this machine; `remove_lock` deletes the lock file of a dead process."""

    def remove(claimant: str) -> bool:
        return remove_lock is not None and not store.holds_runs(claimant) and remove_lock(claimant)

    yield from list_permission_findings(config)
    yield from list_lock_findings(config, is_dead, remove)
    yield from _schema(store)
    yield from _sqlite(store) if store.database.dialect == "sqlite" else _postgres(store)
    yield from _clock(store)
    yield from _leases(store, config, is_dead)
    yield from _days(store)
    yield from _readiness(store)


def examine_machine(config: Config, is_dead: Callable[[str], bool]) -> Iterator[Finding]:
    """Check this machine without a store."""
    yield from list_permission_findings(config)
    yield from list_lock_findings(config, is_dead)


def _schema(store: Store) -> Iterator[Finding]:
    found, shown = store.database.schema_version(), masked_url(store.database.url)
    if found == SCHEMA_VERSION:
        yield Finding("store", OK, f"{shown} answers and has schema {found}")
    else:
        text = f"{shown} has schema {found}; this version needs {SCHEMA_VERSION}"
        yield Finding("store", PROBLEM, text, "dataflow db upgrade")


def _sqlite(store: Store) -> Iterator[Finding]:
    from dataflow.store.sqlite_file import file_system_of

    version = _first(store, "select sqlite_version()")[0]
    if tuple(map(int, version.split("."))) >= SAFE_SQLITE:
        yield Finding("sqlite", OK, f"SQLite {version}")
    else:
        text = f"SQLite {version} can corrupt a store that several processes write to"
        yield Finding("sqlite", PROBLEM, text, "pip install --upgrade apsw")
    path = store.database.url.removeprefix("sqlite:///")
    kind = file_system_of(path)
    if kind in VANISHING:
        text = f"{path} is on {kind}, which is emptied on restart"
        yield Finding("disk", WARNING, text, "dataflow status --store URL")
    else:
        yield Finding("disk", OK, f"{path} is on {kind or 'an unknown file system'}")


def _postgres(store: Store) -> Iterator[Finding]:
    version, fsync = _first(store, "select current_setting('server_version'), current_setting('fsync')")
    if fsync == "on":
        yield Finding("postgresql", OK, f"PostgreSQL {version}")
    else:
        text = f"PostgreSQL {version} runs with fsync off: if its machine crashes, the store may be lost"
        yield Finding("postgresql", WARNING, text, "psql -c 'ALTER SYSTEM RESET fsync'")


def _clock(store: Store) -> Iterator[Finding]:
    if store.database.dialect == "sqlite":
        yield Finding("clock", OK, "the store uses this machine's clock")
        return
    before = time.time()
    theirs = store.read.get_now()
    after = time.time()
    # The store answered at some time between the two, so only what lies outside them is skew.
    skew = max(before - theirs, theirs - after, 0.0)
    if skew <= MOST_SKEW_SECONDS:
        text = f"this machine's clock is within {MOST_SKEW_SECONDS:.0f} s of the store's clock"
        yield Finding("clock", OK, text)
    else:
        text = f"this machine's clock is {skew:.1f} s off the store's clock: the times it shows are wrong"
        yield Finding("clock", WARNING, text, "timedatectl status")


def _leases(store: Store, config: Config, is_dead: Callable[[str], bool]) -> Iterator[Finding]:
    lapsed = [(run, "its lease has lapsed") for run in store.read.list_lapsed_runs()]
    live = store.read.list_live_runs()
    gone = [(run, "its process is gone") for run in live if run.host == config.host and is_dead(run.claimant)]
    for run, why in lapsed + gone:
        plan = store.find_plan(run.job) if run.job else None
        name = f"run {run.run_id} of {run.job}/{run.dataid} on {run.host}"
        text = f"{name}: {why}, and no claim has taken it over since"
        yield Finding("leases", WARNING, text, run_command(plan) if plan else f"dataflow cancel {run.run_id}")
    for work in store.read.list_orphaned_work(SHOWN):
        text = f"{work.job}/{work.dataid} is RUNNING, but its run {work.number} is not"
        yield Finding("leases", PROBLEM, text, shell("dataflow", "mark", work.job, work.dataid, "FAILED"))
    if not lapsed and not gone:
        yield Finding("leases", OK, f"{counted(len(live), 'run')} with a valid lease")


def _days(store: Store) -> Iterator[Finding]:
    """Compare the days of all jobs with what is declared: workers of an older version do not set them."""
    wrong = list_wrong_days(store.read.list_plans())
    for change in wrong[:SHOWN]:
        text = f"job {change.name} does not have the days of its inputs: {change.differences[0]}"
        yield Finding("days", PROBLEM, text, "dataflow doctor --repair")
    if not wrong:
        yield Finding("days", OK, "all jobs have the days of their inputs")


def _readiness(store: Store) -> Iterator[Finding]:
    """Compare the kept readiness with the oracle and with its own rows."""
    wrong = {plan.job.name: found for plan in _suspects(store) if (found := list_discrepancies(store, plan))}
    for job, found in wrong.items():
        shown = "; ".join([f"{job}/{item.dataid} {item.text}" for item in found[:SHOWN]])
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        yield Finding("readiness", PROBLEM, shown + more, "dataflow doctor --repair")
    for work in store.read.list_miscounted_work(SHOWN):
        if work.job not in wrong:
            text = f"{work.job}/{work.dataid} counts {work.number} missing inputs, but its rows disagree"
            yield Finding("readiness", PROBLEM, text, "dataflow doctor --repair")
            wrong[work.job] = []
    if not wrong:
        jobs = counted(len(store.read.list_names("job")), "job")
        yield Finding("readiness", OK, f"the readiness of {jobs} agrees with the inputs")


def repair(store: Store) -> list[str]:
    """Derive wrong days again and recompute wrong input counts; return the names of the repaired jobs."""
    moved = {change.name for change in repair_days(store)}
    miscounted = {work.job for work in store.read.list_miscounted_work(1 << 31)}
    wrong = {plan.job.name for plan in _suspects(store) if list_discrepancies(store, plan)}
    repaired = sorted(miscounted | wrong)
    for plan in _plans(store, repaired):
        rebuild(store, plan)
    return sorted(moved.union(repaired))


def upgrade_schema(store: Store) -> list[str]:
    """Apply the missing migrations and return their names; SchemaMismatch if the store is newer.

    Jobs that an older version registered get the days of their inputs.
    """
    applied = store.upgrade()
    found = store.database.schema_version()
    if found > SCHEMA_VERSION:
        raise newer_schema(masked_url(store.database.url), found)
    repair_days(store)
    return applied


def _suspects(store: Store) -> Iterator[Plan]:
    """Yield the jobs whose readiness may be wrong: few, unless inputs have other mappings than `same`."""
    return _plans(store, store.read.list_suspect_jobs())


def _plans(store: Store, names: Sequence[str]) -> Iterator[Plan]:
    return (plan for name in names if (plan := store.find_plan(name)))


def _first(store: Store, sql: str) -> Row:
    _, rows = store.database.select(sql)
    return next(iter(list(rows)))


@record
class Finding:
    """One check of the doctor: its result and the command that fixes it."""

    check: str
    level: str
    text: str
    next: str = ""


def list_permission_findings(config: Config) -> Iterator[Finding]:
    """Check who else may read or change the store, logs, locks and files with secrets."""
    found = [*_store_modes(config), *_folder_modes(config), *_secret_modes(config)]
    yield from found
    if not found:
        text = "only this user can read or change the store, logs, locks and secrets"
        yield Finding("permissions", OK, text)


def list_lock_findings(
    config: Config, is_dead: Callable[[str], bool], remove: Callable[[str], bool] | None = None
) -> Iterator[Finding]:
    """Check for lock files that killed processes left behind.

    `remove` deletes the lock file of a claimant unless the claimant still holds runs: the next claim needs
    it then, as proof that the process is dead. Without `remove` nothing is deleted.
    """
    try:
        names = [name for name in os.listdir(config.lock_dir) if name.endswith(".lock")]
    except FileNotFoundError:
        names = []
    except OSError as error:
        yield Finding(
            "locks", PROBLEM, f"{config.lock_dir}: {error.strerror}", shell("ls", "-ld", config.lock_dir)
        )
        return
    dead = [name for name in sorted(names) if is_dead(name.removesuffix(".lock"))]
    removed = sum(remove(name.removesuffix(".lock")) for name in dead) if remove else 0
    if removed:
        what = counted(removed, "lock file")
        yield Finding("locks", OK, f"removed {what} of dead processes from {config.lock_dir}")
    if left := len(dead) - removed:
        what = f"{counted(left, 'lock file')} of dead processes"
        text = f"{config.lock_dir} has {what} whose runs are not taken over yet"
        yield Finding(
            "locks", WARNING, text, "dataflow runs --outcome RUNNING" if remove else "dataflow doctor"
        )
    if not dead:
        held = f"{counted(len(names), 'lock')} of live processes"
        yield Finding("locks", OK, f"{held} in {config.lock_dir}")


def _store_modes(config: Config) -> Iterator[Finding]:
    path = config.store_url.removeprefix("sqlite:///")
    if path == config.store_url or not os.path.exists(path):
        return
    for file in (path, f"{path}-wal", f"{path}-shm"):
        changed = list(_judge(file, OTHERS_WRITE, PROBLEM, "changed", "o-rw"))
        yield from changed or _judge(file, OTHERS_READ, WARNING, "read", "o-r")
    yield from _judge(os.path.dirname(path), OTHERS_WRITE, PROBLEM, "changed by others", "o-w")


def _folder_modes(config: Config) -> Iterator[Finding]:
    yield from _judge(config.log_dir, OTHERS_READ, WARNING, "read", "o-rx")
    for folder in (config.log_dir, config.lock_dir):
        yield from _judge(folder, OTHERS_WRITE, PROBLEM, "changed by others", "o-w")


def _secret_modes(config: Config) -> Iterator[Finding]:
    for name in (PROJECT_FILE, PROPERTIES_FILE):
        path = os.path.join(config.project_dir, name)
        # It names commands to run: whoever can write it can run anything as this user.
        yield from _judge(path, OTHERS_WRITE, PROBLEM, "changed by others", "o-w")
        if _holds_secret(path):
            verb = "read by others, and it holds an encrypted password"
            yield from _judge(path, OTHERS_READ, WARNING, verb, "o-r")
    if config.passkey_file:
        yield from _judge(config.passkey_file, stat.S_IRWXG | stat.S_IRWXO, PROBLEM, "read by others", "go=")


def _judge(path: str, bits: int, level: str, verb: str, change: str) -> Iterator[Finding]:
    try:
        mode, folder = os.stat(path).st_mode, os.stat(os.path.dirname(path) or ".").st_mode
    except OSError:
        return
    if not folder & (stat.S_IXGRP | stat.S_IXOTH):
        return  # no other user can enter the folder
    # In a sticky folder such as /tmp, others may add files but not replace them.
    if mode & bits and not (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        text = f"{path} (mode {stat.S_IMODE(mode):04o}) can be {verb}"
        yield Finding("permissions", level, text, shell("chmod", change, path))


def _holds_secret(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except OSError:
        return False
    return any("encrypted" in line for line in lines if not line.lstrip().startswith("#"))
