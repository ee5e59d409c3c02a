"""Spark's ports and tasks reveal no password, and without the secret nothing at all."""

from __future__ import annotations

import base64
import pickle
import secrets
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from psycopg import sql
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import SparkSession

from dataflow.errors import TargetError
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.postgres.sealed import seal
from dataflow.pipelines.spark.probe import probe_executors
from dataflow.pipelines.spark.session_setup import LOOPBACK, list_network_options
from tests.pipelines.api_server import ApiServer
from tests.pipelines.warehouse import PIPELINES
from tests.pipelines.workshop import Workshop

DAY = "2026-11-14"
PASSWORD = "hunter+2/ünter:seven@eight"
RPC_REQUEST, RPC_RESPONSE, RPC_FAILURE = 3, 4, 5


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    """The database, for a user whose password looks different in every notation."""
    name = f"etl_{secrets.token_hex(4)}"  # roles belong to the whole server, which other tests also use
    role = sql.Identifier(name)
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(
            sql.SQL("create role {} superuser login password {}").format(role, sql.Literal(PASSWORD))
        )
        parts = urlsplit(postgres_url)
        yield f"postgresql://{name}:{quote(PASSWORD, safe='')}@{parts.hostname}:{parts.port}{parts.path}"
        server.execute(sql.SQL("drop owned by {0} cascade").format(role))
        server.execute(sql.SQL("drop role {}").format(role))


@pytest.fixture
def pickled(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Everything that PySpark pickles for tasks from now on."""
    found: list[bytes] = []
    dumps = CloudPickleSerializer.dumps

    def dumps_and_keep(self: CloudPickleSerializer, value: object) -> bytes:
        found.append(dumps(self, value))  # type: ignore[no-untyped-call]
        return found[-1]

    monkeypatch.setattr(CloudPickleSerializer, "dumps", dumps_and_keep)
    return found


def list_forms(password: str) -> list[bytes]:
    """The forms of a password in bytes: plain, encoded, and in base64 at each of the three offsets."""
    plain = password.encode()
    encoded = [base64.b64encode(b"\0" * shift + plain)[4:-4] for shift in range(3)]
    # From the second group of three: the first depends on the bytes before the password.
    return [
        plain,
        quote(password).encode(),
        quote(password, safe="").encode(),
        plain.hex().encode(),
        *encoded,
    ]


def test_no_task_holds_a_password_in_any_form(workshop: Workshop, url: str, pickled: list[bytes]) -> None:
    with ApiServer([{"id": number, "name": f"order {number}"} for number in range(30)]) as api:
        workshop.environ |= {"API": api.origin, "DATAFLOW_CONN_WAREHOUSE": url}
        workshop.environ.pop("HAWK_ID")
        workshop.write("orders.py", PIPELINES)
        for job, dataid in (
            ("OrdersDatasetPipeline", DAY),
            ("LocalDatasetPipeline", DAY),
            ("NamesViewPipeline", None),
        ):
            assert workshop.run(job, dataid).done == 1, workshop.said
    sealed = seal(Connection("warehouse", url), str(workshop.path / "probe"))
    [executor] = probe_executors(workshop.spark, [sealed], [], is_local=True)
    assert executor.databases == {"warehouse": ""}
    tasks = b"\n".join(pickled)
    assert tasks.count(b"CopyWriter") >= 2
    assert [form for form in list_forms(PASSWORD) if form in tasks] == []
    assert list(Path(workshop.path, ".dataflow", "staging").rglob("connection-*")) == []


def test_a_connection_with_its_password_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match="Connection warehouse holds a password"):
        pickle.dumps(Connection("warehouse", "postgresql://etl:hunter2@db/x"))


def test_a_sealed_connection_needs_its_private_file_and_its_key(tmp_path: Path) -> None:
    connection = Connection("warehouse", f"postgresql://etl:{quote(PASSWORD)}@db/x")
    sealed, other = (seal(connection, str(tmp_path / "run")) for _ in range(2))
    path = Path(sealed.path)
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert pickle.loads(pickle.dumps(sealed)).opened() == connection
    kept = path.read_bytes() + sealed.key + repr(sealed).encode()
    assert [form for form in list_forms(PASSWORD) if form in kept] == []
    assert path.read_bytes() != Path(other.path).read_bytes()
    sealed.remove()
    other.remove()
    assert not path.parent.exists()
    with pytest.raises(TargetError, match=r"Connection warehouse: .* is missing\. The run has ended, or"):
        sealed.opened()


@pytest.mark.parametrize(
    ("given", "address"), [({}, LOOPBACK), ({"spark.driver.host": "10.0.0.7"}, "10.0.0.7")]
)
def test_a_local_spark_listens_on_the_address_the_project_sets(given: dict[str, str], address: str) -> None:
    options = list_network_options("local[*]", given) | given
    assert (options["spark.driver.host"], options["spark.driver.bindAddress"]) == (address, address)
    assert "spark.authenticate.secret" not in options


def test_spark_serves_no_broadcast_without_its_secret(spark: SparkSession) -> None:
    context = spark.sparkContext
    broadcast = context.broadcast("anything")
    block = f"broadcast_{broadcast._jbroadcast.id()}_piece0"
    manager = context._jvm.org.apache.spark.SparkEnv.get().blockManager().blockManagerId()  # type: ignore[union-attr]
    asked = b"\0" + b"".join(map(packed, ("tests", "stranger"))) + struct.pack(">i", 1) + packed(block)
    kind, answer = ask_spark(manager.host(), manager.port(), asked)
    assert kind == RPC_FAILURE, answer
    assert b"SASL" in answer


def packed(text: str) -> bytes:
    """A string as encoded by Spark's network protocol."""
    return struct.pack(">i", len(text)) + text.encode()


def ask_spark(host: str, port: int, message: bytes) -> tuple[int, bytes]:
    """Sends one request to a port of Spark, as its own client would without authentication."""
    frame = struct.pack(">bqi", RPC_REQUEST, 7, len(message)) + message
    with socket.create_connection((host, port), 30) as connection:
        connection.sendall(struct.pack(">q", len(frame) + 8) + frame)
        stream = connection.makefile("rb")
        (length,) = struct.unpack(">q", stream.read(8))
        answer = stream.read(length - 8)
    return answer[0], answer
