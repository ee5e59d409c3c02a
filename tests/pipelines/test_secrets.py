"""No secret known to pipelines appears in a run's log, a message or the journal, whatever prints it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from urllib.parse import urlsplit

import pytest

from dataflow.errors import ConfigError
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.postgres.transactions import connect
from dataflow.pipelines.show.description import describe
from tests.pipelines.api_server import ApiServer
from tests.pipelines.workshop import Workshop
from tests.project import Project

DAY = "2026-11-14"
QUOTING = """
    import os

    import dataflow

    @dataflow.job(outputs=["numbers"], schedule="@daily", start_date=datetime(2026, 11, 1))
    def make_numbers(run):
        run.log(f"I know {constants.HAWK_KEY}")
        run.spark
        try:
            raise ValueError(constants.DATAFLOW_CONN_WAREHOUSE)
        except ValueError as error:
            raise KeyError(constants.HAWK_KEY + constants.PLAIN + constants.SPARK_ADDRESS) from error
"""
ORDERS = """
    from dataflow.pipelines.declare.sources import bearer, http

    class OrdersDatasetPipeline:
        table_name = "orders"
        source = http(constants.API + "/next?api_key=parameter-secret",
                               auth=bearer("TOKEN"), headers={"X-Api-Key": "header-secret"})
        field_mapping = [("id", "order_id", "bigint")]
"""


def all_texts(workshop: Workshop) -> str:
    """Everything that runs have printed and written."""
    store = b"".join(path.read_bytes() for path in (workshop.path / ".dataflow").glob("dataflow.db*"))
    return "\n".join([workshop.log(), *workshop.said, store.decode(errors="replace")])


def test_secrets_a_job_prints_are_hidden_in_its_log_in_messages_and_in_the_journal(
    workshop: Workshop,
) -> None:
    secrets = {
        "HAWK_KEY": "hawk-secret",
        "PLAIN": "plain-secret",
        "DATAFLOW_CONN_WAREHOUSE": "postgresql://etl:conn%2Dsecret@nowhere.invalid/db",
        "SPARK_ADDRESS": "sc://spark:15002/;token=spark-secret",
    }
    workshop.environ |= secrets
    (workshop.path / "dataflow.toml").write_text(
        '[connection.db]\nurl = "postgresql://etl@db/x"\npassword_variable = "PLAIN"\n'
        '[spark]\nremote_variable = "SPARK_ADDRESS"\nshared_files = true\n'
    )
    workshop.write("numbers.py", QUOTING)
    assert workshop.run("make_numbers", DAY).failed == 1
    found = all_texts(workshop)
    assert "I know ***" in found and "KeyError" in found and "numbers.py" in found
    for secret in ("hawk-secret", "plain-secret", "conn-secret", "conn%2Dsecret", "spark-secret"):
        assert secret not in found


def test_secrets_an_api_echoes_from_our_request_are_hidden(workshop: Workshop) -> None:
    echoed = "bearer-secret and header-secret and parameter-secret"
    with ApiServer([{"id": echoed}]) as api:
        workshop.environ |= {"API": api.origin, "TOKEN": "bearer-secret"}
        workshop.write("orders.py", ORDERS)
        assert workshop.run("OrdersDatasetPipeline", DAY).failed == 1
    found = all_texts(workshop)
    assert "*** and *** and ***" in found
    for secret in ("bearer-secret", "header-secret", "parameter-secret"):
        assert secret not in found


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://etl:conn/secret@nowhere.invalid/db",
        "postgresql://etl:conn?secret@nowhere.invalid/db",
        "postgresql://etl:secret@[::1/db",
        '{"conn_type": "postgres", "password": "secret"}',
    ],
)
def test_a_connection_that_cannot_be_read_is_not_quoted(workshop: Workshop, url: str) -> None:
    workshop.environ |= {"API": "http://127.0.0.1:9", "TOKEN": "x", "TARGET": "lake"}
    workshop.write("orders.py", ORDERS.replace("table_name", 'target_db = "warehouse"\n        table_name'))
    workshop.environ["DATAFLOW_CONN_WAREHOUSE"] = url
    try:
        workshop.run("OrdersDatasetPipeline", DAY)
    except ConfigError as error:
        workshop.said.append(str(error))
    found = all_texts(workshop)
    assert "DATAFLOW_CONN_WAREHOUSE is not valid" in found or "connection warehouse is malformed" in found
    assert "secret" not in found.replace("parameter-secret", "").replace("header-secret", "")


def test_show_hides_the_password_of_the_target(workshop: Workshop) -> None:
    workshop.environ |= {"API": "http://api", "TOKEN": "x"}
    workshop.environ["DATAFLOW_CONN_WAREHOUSE"] = "postgresql://db/x?password=hunter2&sslpassword=hunter2"
    workshop.write("orders.py", ORDERS.replace("table_name", 'target_db = "warehouse"\n        table_name'))
    shown = str(describe(workshop.catalog().get("OrdersDatasetPipeline"), workshop.settings()))
    assert "postgresql://db/x?sslpassword=***" in shown
    assert "hunter2" not in shown


@pytest.mark.parametrize("query", ["", "?user={user}"])
def test_a_connection_without_a_user_can_use_its_password(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    parts = urlsplit(postgres_url)
    assert parts.username is not None
    monkeypatch.setenv("PGUSER", parts.username)
    hosts = parts.netloc.rpartition("@")[2]
    url = f"postgresql://{hosts}{parts.path}{query.format(user=parts.username)}"
    with connect(Connection("db", url, parts.password or "any")) as session:
        assert session.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize(
    "line",
    [
        "raise ValueError('no answer from ' + os.environ['DATAFLOW_CONN_WAREHOUSE'])",
        "raise ValueError(os.environ['DATAFLOW_CONN_WAREHOUSE'].encode())",
        "sys.exit(os.environ['DATAFLOW_CONN_WAREHOUSE'])",
        "{}[os.environ['PASSKEY']]",
        "raise KeyError(os.environ['DATAFLOW_STORE'])",
        "raise OSError(os.environ['THE_PASSWORD'])",
        "OrdersDatasetPipeline.table_name = os.environ['PASSKEY'] + ' and more'",
        "OrdersDatasetPipeline.target_db = os.environ['DATAFLOW_CONN_WAREHOUSE']",
    ],
)
def test_errors_of_a_pipeline_file_show_no_secret(tmp_path: Path, line: str) -> None:
    project = Project(tmp_path, tmp_path)
    secrets = [f"hunter{number}-hünter" for number in range(4)]
    env = {
        "DATAFLOW_CONN_WAREHOUSE": f"postgresql://etl:{secrets[0]}@db/x",
        "DATAFLOW_STORE": f"postgresql://etl:{secrets[1]}@127.0.0.1:1/x",
        "PASSKEY": secrets[2],
        "THE_PASSWORD": secrets[3],
    }
    toml = '[connection.other]\nurl = "postgresql://etl@db/y"\npassword_variable = "THE_PASSWORD"\n'
    (tmp_path / "dataflow.toml").write_text(toml)
    (tmp_path / "pipelines").mkdir()
    orders = dedent(ORDERS.replace('constants.API + "', '"http://api'))
    (tmp_path / "pipelines" / "orders.py").write_text(f"import os, sys\n{orders}\n{line}\n")
    said = ""
    for words in (["list"], ["list", "--json"], ["show", "OrdersDatasetPipeline"]):
        done = project.run("dataflow", "pipeline", *words, env=env, check=False)
        said += done.stdout + done.stderr
    assert "***" in said
    assert "hunter" not in said.lower()
