"""The server process: how it starts, ends, and refuses to start."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time

import pytest

from dataflow.api.server import listen
from tests.acceptance.flow import Flow
from tests.api.served import Served


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_at_once_with_open_streams(sqlite_flow: Flow, number: int) -> None:
    with Served(sqlite_flow) as served, served.client.stream("GET", "/api/v1/events") as stream:
        lines = stream.iter_lines()  # kept: without it the stream is closed
        assert next(lines) == "event: hello"
        began = time.monotonic()
        served.process.send_signal(number)
        assert served.process.wait(60) == 0
        assert time.monotonic() - began < 4, "not the time that open requests get"
        assert "Traceback" not in served.stop()[1]


def test_small_answers_are_sent_at_once() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_in_use_is_named(sqlite_flow: Flow) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = sqlite_flow.dataflow("serve", "--port", str(port), check=False)
    assert done.returncode == 75
    assert f"Port {port} on 127.0.0.1 is in use" in done.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_an_address_that_others_reach_is_refused_with_the_reason(sqlite_flow: Flow, host: str) -> None:
    done = sqlite_flow.dataflow("serve", "--port", "0", "--host", host, check=False)
    assert done.returncode == 78
    assert "there is no login" in done.stderr


def test_a_missing_store_is_not_created(sqlite_flow: Flow) -> None:
    sqlite_flow.env["DATAFLOW_STORE"] = f"sqlite:///{sqlite_flow.path}/none.db"
    done = sqlite_flow.dataflow("serve", "--port", "0", check=False)
    assert done.returncode == 66
    assert not (sqlite_flow.path / "none.db").exists()


def test_the_server_loads_neither_spark_nor_sql_parsers() -> None:
    code = "import sys, dataflow.api.server; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = {"pyspark", "sqlglot", "pandas", "pyarrow", "rich", "psycopg", "cryptography", "jinja2"}
    assert heavy & set(loaded.split()) == set()
    assert not [name for name in loaded.split() if name.startswith("dataflow.pipelines")]


def test_the_health_of_the_server_and_of_its_store_are_two_questions(served: Served) -> None:
    assert served.anonymous.get("/healthz").json() == {"status": "ok"}
    assert served.anonymous.get("/readyz").json() == {"status": "ready"}
