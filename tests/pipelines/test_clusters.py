"""Pipelines on a remote Spark: attempts that die, fail or are repeated leave no trace."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

from dataflow.pipelines.lake.manifest import read_frame
from tests.pipelines.api_server import ApiServer
from tests.pipelines.clusters import Cluster, ConnectServer
from tests.project import Project

PIPELINES = """
class OrdersDatasetPipeline:
    table_name = "orders"
    source_url = constants.API + "/next"
    target_db = constants.TARGET
    field_mapping = [("id", "order_id", "bigint PRIMARY KEY"), ("name", "name", "text")]

class NamesViewPipeline:
    view_name = "names"
    dataset_pipeline = OrdersDatasetPipeline
    start_date = datetime(2026, 10, 1)
    end_date = datetime(2026, 10, 1)
    catchup = True
    schedule_interval = "@monthly"
    fields = [("upper(name)", "Name"), ("order_id / 2", "Half")]
    where_clause = "order_id % 2 = 1"
"""
CLUSTER = """
[spark]
master = "{url}"
shared_files = true
[spark.options]
"spark.driver.host" = "127.0.0.1"
"spark.driver.bindAddress" = "127.0.0.1"
"spark.authenticate" = true
"spark.authenticate.secret" = "{secret}"
"spark.executor.memory" = "512m"
"spark.speculation" = true
"spark.speculation.interval" = "100ms"
"spark.speculation.minTaskRuntime" = "100ms"
"spark.speculation.task.duration.threshold" = "1s"
"""
DAY = "2026-11-14"
SECONDS = 250
"""Each of these tests starts several Java processes: half a minute on an idle machine."""

ROWS = [{"id": number, "name": f"order {number}"} for number in range(1200)]


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(ROWS, page_size=20) as server:
        yield server


@pytest.fixture
def orders(project: Project, api: ApiServer) -> Project:
    (project.path / "pipelines").mkdir()
    (project.path / "pipelines" / "orders.py").write_text(textwrap.dedent(PIPELINES))
    (project.path / "constants.py").write_text(f"API = {api.origin!r}\nTARGET = 'lake'\n")
    (project.path / "dataflow.toml").touch()
    return project


def run(orders: Project, *argv: str, env: dict[str, str] | None = None) -> str:
    done = orders.run("dataflow", "run", *argv, env=env, check=False, timeout=SECONDS)
    logs = [path.read_text()[-3000:] for path in (orders.path / ".dataflow" / "logs").glob("*.log")]
    assert done.returncode == 0, "\n".join([done.stderr, *logs])
    return done.stderr


def list_lake(orders: Project, dataset: str) -> list[dict[str, Any]]:
    sql = "select c.location from chunk c join dataset d using (dataset_id) where c.location <> ''"
    [row] = orders.json("dataflow", "sql", f"{sql} and d.name = '{dataset}'")
    frame = read_frame(str(orders.path / row["location"]))
    return [row for path in frame.files for row in pq.ParquetFile(path).read().to_pylist()]


@pytest.mark.parametrize("target", ["datasets_db", pytest.param("lake", marks=pytest.mark.chaos)])
def test_killed_executors_failed_tasks_and_repeated_tasks_after_staging_change_nothing(
    orders: Project, target: str, postgres_url: str, tmp_path: Path
) -> None:
    constants = orders.path / "constants.py"
    constants.write_text(constants.read_text().replace("lake", target))
    with Cluster(tmp_path / "cluster", "kill,fail,slow") as cluster:
        (orders.path / "dataflow.toml").write_text(CLUSTER.format(url=cluster.url, secret=cluster.secret))
        run(orders, "OrdersDatasetPipeline", "--dataid", DAY, env={"DATAFLOW_CONN_DATASETS_DB": postgres_url})
        assert cluster.list_faults() == {"kill", "fail", "slow"}
    if target == "lake":
        found = [row["order_id"] for row in list_lake(orders, "orders")]
    else:
        with psycopg.connect(postgres_url) as connection:
            found = [number for (number,) in connection.execute("select order_id from orders")]
    assert sorted(found) == list(range(len(ROWS)))


def test_a_dataset_and_a_view_are_made_over_spark_connect(orders: Project, tmp_path: Path) -> None:
    with ConnectServer(tmp_path / "connect") as server:
        (orders.path / "dataflow.toml").write_text(f'[spark]\nremote = "{server.url}"\nshared_files = true\n')
        said = run(orders, "OrdersDatasetPipeline", "--dataid", DAY)
        said += run(orders, "NamesViewPipeline")
    assert sorted(row["order_id"] for row in list_lake(orders, "orders")) == list(range(len(ROWS)))
    names = list_lake(orders, "names")
    assert sorted(row["Half"] for row in names) == list(range(len(ROWS) // 2))
    assert {"Name": "ORDER 7", "Half": 3} in names
    # The new store, two lines for each run, and no output of Spark.
    assert said.count("Starting Spark …\n") == 2
    assert said.count("\n") == 5, said


@pytest.mark.chaos
def test_the_doctor_checks_both_executors_of_a_cluster(orders: Project, tmp_path: Path) -> None:
    with Cluster(tmp_path / "cluster", "") as cluster:
        (orders.path / "dataflow.toml").write_text(CLUSTER.format(url=cluster.url, secret=cluster.secret))
        done = orders.run("dataflow", "doctor", "--spark", "--json", check=False, timeout=SECONDS)
    found = {row["check"]: (row["level"], row["text"]) for row in json.loads(done.stdout)}
    level, text = found["spark executors"]
    assert (level, text.partition(" ")[0]) == ("ok", "2"), found
    assert [found[check][0] for check in ("spark", "spark python", "spark packages", "spark files")] == [
        "ok"
    ] * 4
