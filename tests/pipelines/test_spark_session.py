"""Spark in a run: what is refused before it starts, where its output goes, what the doctor checks."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from dataflow.errors import ConfigError
from dataflow.pipelines.spark.session import SparkSettings, cause_of, list_options, start_session
from dataflow.pipelines.spark.session_setup import check_java
from tests.pipelines.api_server import ApiServer
from tests.pipelines.workshop import Workshop
from tests.postgres import find_free_port
from tests.project import Project

PIPELINES = """
    class OrdersDatasetPipeline:
        table_name = "orders"
        source_url = constants.API + "/next"
        target_db = constants.TARGET
        field_mapping = [
            ("id", "order_id", "uuid PRIMARY KEY"),
            ("amount", "amount", "numeric(30,10)"),
            ("tags", "tags", "text []"),
            ("extra", "extra", "jsonb"),
        ]

    class NumbersViewPipeline:
        view_name = "numbers"
        dataset_pipeline = OrdersDatasetPipeline
        start_date = datetime(2026, 10, 1)
        end_date = datetime(2026, 10, 1)
        catchup = True
        schedule_interval = "@monthly"
        fields = [("cast(tags[1] as integer)", "number")]
"""
DAY = "2026-11-14"
SECRET = "s3a-secret=of: seven"
NOISE = ("WARN", "Traceback", "at org.apache", "SQLSTATE", "py4j", "Setting default log level", "pyspark")
ROWS = [
    {
        "id": f"00000000-0000-0000-0000-{number:012}",
        "amount": f"{number}.0000000001",
        "tags": ["x", None],
        "extra": {"n": number},
    }
    for number in range(90)
]


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(ROWS) as server:
        yield server


@pytest.fixture
def orders(workshop: Workshop, api: ApiServer, postgres_url: str) -> Workshop:
    workshop.environ |= {
        "API": api.origin,
        "DATAFLOW_CONN_DATASETS_DB": postgres_url,
        "TARGET": "datasets_db",
    }
    workshop.environ.pop("HAWK_ID")
    workshop.write("orders.py", PIPELINES)
    return workshop


def test_a_spark_on_other_machines_is_refused_before_anything_is_claimed(orders: Workshop) -> None:
    (orders.path / "dataflow.toml").write_text('[spark]\nmaster = "spark://elsewhere:7077"\n')
    with pytest.raises(
        ConfigError, match=r"spark://elsewhere:7077 run on other machines.*shared_files = true"
    ):
        orders.run("OrdersDatasetPipeline", DAY)
    assert orders.store.read.list_runs() == []


def test_this_process_copies_staged_rows_if_tasks_cannot_reach_the_database(orders: Workshop) -> None:
    (orders.path / "dataflow.toml").write_text("[spark]\ncopy_on_driver = true\n")
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1, orders.said
    with psycopg.connect(orders.environ["DATAFLOW_CONN_DATASETS_DB"]) as database:
        sql = "select order_id::text, amount::text, tags, extra from orders order by order_id"
        found = [dict(zip(ROWS[0], row, strict=True)) for row in database.execute(sql)]
    assert found == ROWS
    assert list((orders.path / ".dataflow" / "staging").rglob("*.parquet")) == []


@pytest.mark.parametrize("scheme", ["sc", "spark"])
def test_an_unreachable_spark_is_reported_at_once(tmp_path: Path, scheme: str) -> None:
    place = f"{scheme}://127.0.0.1:{find_free_port()}"
    settings = SparkSettings(remote=place) if scheme == "sc" else SparkSettings(master=place)
    with pytest.raises(ConfigError, match=f"Nothing answers at {place}: Connection refused"):
        start_session(SparkSettings(settings.master, settings.remote, {}, True), str(tmp_path / "spark.log"))


@pytest.mark.parametrize(
    ("java", "told"),
    [
        (None, "No Java found at JAVA_HOME="),
        ("echo 'openjdk version \"1.8.0_402\"' >&2", "is Java 8. Spark needs Java 17 or newer"),
        ("echo 'openjdk version \"11.0.2\" 2019' >&2", "is Java 11. Spark needs Java 17 or newer"),
        ("echo what", "does not report its version"),
    ],
)
def test_a_missing_or_old_java_is_reported_with_what_to_install(
    tmp_path: Path, java: str | None, told: str
) -> None:
    if java is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\n{java}\n")
        (tmp_path / "bin" / "java").chmod(0o755)
    with pytest.raises(ConfigError) as caught:
        check_java({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    assert told in str(caught.value)
    assert "apt-get install openjdk-17-jre-headless" in str(caught.value)


def test_the_version_of_a_supported_java_is_returned(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"21.0.8\" 2025-07-15' >&2\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    assert check_java({"JAVA_HOME": str(tmp_path)}) == "21.0.8"


def test_a_project_cannot_change_options_that_affect_the_meaning_of_sql(tmp_path: Path) -> None:
    given = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.ansi.enabled": "false"}
    settings = SparkSettings(options=given | {"spark.sql.shuffle.partitions": "3"})
    options = list_options(settings, str(tmp_path / "spark.log"))
    assert [options[name] for name in given] == ["UTC", "true"]
    assert options["spark.sql.shuffle.partitions"] == "3"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n== SQL ==\nx",
            "[DIVIDE_BY_ZERO] Division by zero.",
        ),
        (
            "Job aborted\nTraceback (most recent call last):\nValueError: no such thing as 42\n\tat org.x",
            "ValueError: no such thing as 42",
        ),
        (
            "An error occurred while calling o79.parquet.\n: org.apache.hadoop.fs."
            'UnsupportedFileSystemException: No FileSystem for scheme "s3"\n\tat org.apache.hadoop.fs.x(y)\n',
            'UnsupportedFileSystemException: No FileSystem for scheme "s3"',
        ),
        (
            ": org.apache.spark.SparkException: Job aborted\n\tat org.x\nCaused by: java.io.IOException: "
            "No space left on device\n\tat java.x",
            "IOException: No space left on device",
        ),
        (
            "\n  An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
            '  File "x.py", line 1, in copy\npsycopg.OperationalError: the connection is lost\n\n'
            "The above exception was the direct cause of the following exception:\n\n"
            'Traceback (most recent call last):\n  File "x.py", line 1, in write\n    raise it\n'
            "dataflow.errors.TargetLocked: Connection db: "
            "canceling statement due to lock timeout.\n\tat org.apache.spark.x(y)\n",
            "TargetLocked: Connection db: canceling statement due to lock timeout.",
        ),
        (
            "\n  An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
            '  File "x.py", line 1, in <lambda>\n    ~~^~~\nproject.shapes.Unshaped: row 7\n',
            "Unshaped: row 7",
        ),
    ],
)
def test_the_cause_of_a_failure_is_one_sentence(text: str, cause: str) -> None:
    assert cause_of(RuntimeError(text)) == cause


def test_an_unreachable_source_is_reported_before_spark_starts(orders: Workshop, api: ApiServer) -> None:
    api.fail(0, "404")
    env = orders.environ | {"TARGET": "lake", "JAVA_HOME": "/nowhere"}
    command = ("dataflow", "run", "OrdersDatasetPipeline", "--dataid", DAY)
    told = Project(orders.path, orders.path).run(*command, env=env, check=False).stderr
    assert "404 Not Found" in told and "Java" not in told


def test_sparks_output_goes_to_the_runs_log_and_not_to_the_terminal(orders: Workshop, api: ApiServer) -> None:
    api.fail(1, "503")
    (orders.path / "dataflow.toml").write_text(
        '[spark.options]\n"spark.ui.enabled" = true\n"spark.driver.memory" = "700m"\n'
        f'"spark.eventLog.compress" = false\n"spark.hadoop.fs.s3a.secret.key" = "{SECRET}"\n'
    )
    project = Project(orders.path, orders.path)
    env = orders.environ | {"TARGET": "lake"}
    code, shown, surroundings, listening = run_on_a_terminal(project, "OrdersDatasetPipeline", env)
    assert code == 0
    assert {name for name, _ in listening} >= {"java"}
    assert {address for _, address in listening} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert "org.apache.spark.deploy.SparkSubmit" in surroundings and "-Xmx700m" in surroundings
    assert SECRET not in surroundings
    assert "\r\x1b[Kpage 2: 503 Service Unavailable, retrying in 1 s …" in shown
    assert "starting Spark" in shown and "\r\x1b[KOrdersDatasetPipeline" in shown
    done = project.run("dataflow", "run", "NumbersViewPipeline", env=env, check=False, timeout=300)
    assert done.returncode == 1
    starting, failed, hint, following = done.stderr.splitlines()
    assert starting == "Starting Spark …"
    assert failed.startswith(
        "NumbersViewPipeline 2026-10: Spark failed: ValueError: invalid input syntax for type"
    )
    assert hint.startswith("log: dataflow logs 2")
    assert "dataflow resubmit NumbersViewPipeline 2026-10 && dataflow run NumbersViewPipeline" in following
    assert [word for word in NOISE if word in shown + done.stdout + done.stderr] == []
    logs = orders.path / ".dataflow" / "logs"
    assert "at org.apache.spark" in (logs / "2.log").read_text()
    assert "Spark UI: http://" in (logs / "1.log").read_text()
    events = [path.read_text() for path in (logs / "spark-events").iterdir()]
    assert len(events) == 2
    assert all('"spark.hadoop.fs.s3a.secret.key":"*********(redacted)"' in text for text in events)


def run_on_a_terminal(
    project: Project, job: str, env: dict[str, str]
) -> tuple[int, str, str, set[tuple[str, str]]]:
    """Runs a pipeline in its own terminal.

    Gives the exit code, all that was shown, and of processes meanwhile their arguments and environments, and
    the addresses on which its own listened, each with the program's name.
    """
    master, slave = pty.openpty()
    command = project.command("dataflow", "run", job, "--dataid", DAY)
    process = subprocess.Popen(
        command,
        cwd=project.path,
        env=project.environment(env),
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    shown = b""
    surroundings: set[str] = set()
    listening: set[tuple[str, str]] = set()
    while True:
        try:
            shown += os.read(master, 4096)
        except OSError:  # the last process has closed the terminal
            break
        surroundings |= set(list_surroundings())
        listening |= set(list_listening(process.pid))
    os.close(master)
    return process.wait(), shown.decode(), "\n".join(surroundings), listening


def list_listening(pid: int) -> Iterator[tuple[str, str]]:
    """The addresses on which a process and its descendants listen."""
    with suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):
                for each in process.net_connections("inet"):
                    if each.status == psutil.CONN_LISTEN:
                        yield process.name(), each.laddr.ip


def list_surroundings() -> Iterator[str]:
    """The arguments and environment of every readable process."""
    for path in [*Path("/proc").glob("[0-9]*/cmdline"), *Path("/proc").glob("[0-9]*/environ")]:
        with suppress(OSError):
            yield path.read_bytes().replace(b"\0", b" ").decode(errors="replace")


def test_the_doctor_checks_every_executor_and_shows_no_password(project: Project, postgres_url: str) -> None:
    (project.path / "dataflow.toml").write_text(
        textwrap.dedent(
            f"""
            [connection.away]
            url = "postgresql://etl@127.0.0.1:{find_free_port()}/x"
            password_variable = "AWAY_PASSWORD"
            [spark.options]
            "spark.authenticate" = false
            """
        )
    )
    (project.path / "pipelines").mkdir()
    (project.path / "pipelines" / "orders.py").write_text(textwrap.dedent(PIPELINES))
    (project.path / "constants.py").write_text("API = 'http://127.0.0.1:9'\nTARGET = 'datasets_db'\n")
    env = {"DATAFLOW_CONN_DATASETS_DB": postgres_url, "AWAY_PASSWORD": "hunter2hunter2"}
    done = project.run("dataflow", "doctor", "--spark", "--json", env=env, check=False, timeout=300)
    assert done.returncode == 1
    assert "hunter2" not in done.stdout + done.stderr
    found = {(row["check"], row["level"]): row for row in json.loads(done.stdout)}
    assert found["spark", "ok"]["text"].startswith("Spark 4.2.")
    assert "supported: Spark 4.2, Java 17 or newer" in found["spark", "ok"]["text"]
    assert found["spark executors", "ok"]["text"].startswith("1 checked: ")
    assert ("spark python", "ok") in found
    assert "dataflow, pyarrow" in found["spark packages", "ok"]["text"]
    assert "datasets_db" in found["spark connections", "ok"]["text"]
    assert "does not authenticate" in found["spark ports", "warning"]["text"]
    assert "connection away is not reachable from" in found["spark connections", "problem"]["text"]
    assert "copy_on_driver = true" in found["spark connections", "problem"]["next"]
    assert done.stderr == ""
