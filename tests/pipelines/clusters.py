"""Spark as others run it: a standalone cluster of two workers, and a Spark Connect server. Real processes."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import pyspark

from tests.postgres import find_free_port
from tests.project import SOURCE

HOME = Path(pyspark.__file__).parent
START_SECONDS = 100
FAULTS = Path(__file__).parent / "faults"


class Processes:
    """Java processes of one Spark, ended together; what they say is in `folder`."""

    memory = "256m"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = find_free_port()
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, command: Sequence[str], env: dict[str, str] | None = None) -> None:
        """Starts one process, in a folder of its own."""
        place = self.folder / name
        place.mkdir(parents=True)
        with (place / "log").open("wb") as log:
            process = subprocess.Popen(
                [str(HOME / "bin" / command[0]), *command[1:]],
                cwd=place,
                env=self._environment(place) | (env or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._started.append(process)

    def wait_for_port(self) -> None:
        """Returns when the first process takes connections."""
        give_up_at = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert self._started[0].poll() is None, self.read_logs()
                assert time.monotonic() < give_up_at, self.read_logs()
                time.sleep(0.1)

    def read_logs(self) -> str:
        """The end of what each process said."""
        return "\n".join(f"{path}\n{path.read_text()[-3000:]}" for path in sorted(self.folder.rglob("log")))

    def stop(self) -> None:
        """Kills all of them, and what they have started."""
        for process in self._started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        self.stop()

    def _environment(self, place: Path) -> dict[str, str]:
        return dict(os.environ) | {
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_DIRS": str(place),
            "SPARK_DAEMON_MEMORY": self.memory,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(SOURCE),
        }


class Cluster(Processes):
    """A master and two workers of one core each, on two addresses: Spark speculates only on another host.

    Nobody takes part in it without its secret.
    """

    def __init__(self, folder: Path, faults: str) -> None:
        super().__init__(folder)
        self.url = f"spark://127.0.0.1:{self.port}"
        self.faults = folder / "faults"
        self.secret = secrets.token_hex(16)
        self._names = faults

    def __enter__(self) -> Cluster:
        self.faults.mkdir(parents=True)
        place = ("--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0")
        self.start(
            "master", ["spark-class", "org.apache.spark.deploy.master.Master", *place], self._security()
        )
        try:
            self.wait_for_port()
            for number in (1, 2):
                self._start_worker(number)
        except BaseException:
            self.stop()
            raise
        return self

    def list_faults(self) -> set[str]:
        """The faults that have happened."""
        return {path.name for path in self.faults.iterdir()}

    def _security(self) -> dict[str, str]:
        options = f"-Dspark.authenticate=true -Dspark.authenticate.secret={self.secret}"
        return {"SPARK_DAEMON_JAVA_OPTS": options}

    def _start_worker(self, number: int) -> None:
        name = f"worker-{number}"
        work = self.folder / name / "work"
        options = (
            "--host",
            f"127.0.0.{number}",
            "--webui-port",
            "0",
            "-c",
            "1",
            "-m",
            "600M",
            "-d",
            str(work),
        )
        env = self._security() | {
            "PYTHONPATH": f"{FAULTS}{os.pathsep}{SOURCE}",
            "FAULTS": self._names,
            "FAULTS_FOLDER": str(self.faults),
        }
        self.start(name, ["spark-class", "org.apache.spark.deploy.worker.Worker", *options, self.url], env)


class ConnectServer(Processes):
    """A Spark Connect server on two threads."""

    memory = "600m"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"sc://127.0.0.1:{self.port}"

    def __enter__(self) -> ConnectServer:
        settings = {
            "spark.connect.grpc.binding.port": self.port,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
        }
        options = [f"--conf={name}={value}" for name, value in settings.items()]
        service = "org.apache.spark.sql.connect.service.SparkConnectServer"
        self.start(
            "connect",
            ["spark-submit", "--class", service, "--master", "local[2]", *options, "spark-internal"],
        )
        try:
            self.wait_for_port()
        except BaseException:
            self.stop()
            raise
        return self
