"""PySpark scripts that RunJob starts: `with dataflow.spark_run() as run:` provides inputs and outputs."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import dataflow
from dataflow.errors import BadInput, InvalidData, UnknownName
from dataflow.pipelines.lake.manifest import read_frame
from dataflow.pipelines.shape.checks import at_least, minimum_rows, sql
from dataflow.pipelines.spark.frames import open_place
from tests.project import Project

LAKE = "lake/{dataset}/dataid={encoded_dataid}/{run_id}/_manifest.json"
SCRIPT = """
import dataflow

with dataflow.spark_run() as run:
    orders = run.read("orders")
    run.write("totals", orders.groupBy("region").count())
    run.write("copies", orders.where("amount > 100"))
    run.log(f"{run.job} {run.dataid} from {run.interval.start:%H:%M}")
"""


def write_parquet(folder: Path) -> None:
    folder.mkdir(parents=True)
    rows = [
        {"region": "north", "amount": 1},
        {"region": "south", "amount": 2},
        {"region": "north", "amount": 3},
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "data.parquet")


def test_runjob_publishes_what_a_pyspark_script_wrote(project: Project) -> None:
    (project.path / "dataflow.toml").write_text('[spark]\nmaster = "local[1]"\n')
    project.run("dataflow", "dataset", "add", "orders", "--grain", "daily", "--location", "orders/{dataid}")
    project.run("dataflow", "dataset", "add", "totals", "--grain", "daily", "--location", LAKE)
    copies = ("copies", "--grain", "daily", "--location", "copies/{dataid}/{run_id}")
    project.run("dataflow", "dataset", "add", *copies)
    project.run("dataflow", "job", "add", "load", "--in", "orders", "--out", "totals", "--out", "copies")
    write_parquet(project.path / "orders" / "2026-08-02")
    project.run("dataflow", "ready", "orders", "2026-08-02")
    project.script("load.py", SCRIPT, sys.executable)
    done = project.run("RunJob", "load.py", timeout=300)
    assert "load 2026-08-02 from 00:00" in done.stdout
    assert "wrote 2 rows of totals" in done.stdout
    assert "WARN" not in done.stdout + done.stderr
    for name in ("totals", "copies"):
        assert [chunk["status"] for chunk in project.json("dataflow", "chunks", name)] == ["READY"]
    (manifest,) = (project.path / "lake" / "totals" / "dataid=2026-08-02").glob("*/_manifest.json")
    frame = read_frame(str(manifest))
    rows = [row for path in frame.files for row in pq.ParquetFile(path).read().to_pylist()]
    assert {row["region"]: row["count"] for row in rows} == {"north": 2, "south": 1}
    (copies_path,) = (project.path / "copies" / "2026-08-02").glob("*/*.parquet")
    assert pq.ParquetFile(copies_path).read().schema.names == ["region", "amount"]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Iterator[dict[str, Any]]:
    """The facts of a run as RunJob writes them; a test may change them before the run starts."""
    write_parquet(tmp_path / "orders")
    facts = {
        "run_id": 7,
        "job": "load",
        "dataid": "2026-08",
        "inputs": [
            {
                "dataset": "orders",
                "mapping": "same",
                "dataid": "2026-08",
                "location": str(tmp_path / "orders"),
            }
        ],
        "outputs": [
            {"dataset": "totals", "location": str(tmp_path / "7" / "_manifest.json")},
            {"dataset": "copies", "location": str(tmp_path / "copies")},
        ],
        "environment": {"orders_grain": "monthly", "orders_timezone": "UTC", "orders_format": "parquet"},
    }
    monkeypatch.setenv("DATAFLOW_CONTEXT", str(tmp_path / "context.json"))
    yield facts


def run_of(facts: dict[str, Any], tmp_path: Path, session: SparkSession) -> Any:
    (tmp_path / "context.json").write_text(json.dumps(facts))
    return dataflow.spark_run(session)


def test_writing_a_folder_again_replaces_all_of_it(
    told: dict[str, Any], tmp_path: Path, spark: SparkSession
) -> None:
    write_parquet(tmp_path / "copies")
    with run_of(told, tmp_path, spark) as run:
        assert [f"{moment:%m-%d}" for moment in run.interval] == ["08-01", "09-01"]
        run.write("copies", run.read("orders").where("amount = 3"), checks=[sql("amount > 2")])
        run.write("totals", run.read("orders"))
        assert open_place(spark, str(tmp_path / "copies")).count() == 3
    assert open_place(spark, str(tmp_path / "copies")).count() == 1
    assert open_place(spark, str(tmp_path / "7" / "_manifest.json")).count() == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["7", "context.json", "copies", "orders"]


def test_a_failed_script_leaves_all_outputs_unchanged(
    told: dict[str, Any], tmp_path: Path, spark: SparkSession
) -> None:
    with pytest.raises(ZeroDivisionError), run_of(told, tmp_path, spark) as run:
        run.write("copies", run.read("orders"))
        run.write("totals", run.read("orders"))
        _ = 1 / 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["context.json", "orders"]


def test_a_script_that_exits_with_0_fails_unless_it_wrote_its_outputs(
    told: dict[str, Any], tmp_path: Path, spark: SparkSession
) -> None:
    with pytest.raises(InvalidData, match="without writing copies"), run_of(told, tmp_path, spark) as run:
        run.write("totals", run.read("orders"))
        sys.exit()
    with pytest.raises(SystemExit) as ended, run_of(told, tmp_path, spark) as run:
        run.write("totals", run.read("orders"))
        run.write("copies", run.read("orders"))
        sys.exit(0)
    assert ended.value.code == 0
    assert open_place(spark, str(tmp_path / "copies")).count() == 3


def test_an_invalid_missing_or_unknown_output_fails_the_script(
    told: dict[str, Any], tmp_path: Path, spark: SparkSession
) -> None:
    with pytest.raises(InvalidData, match="copies: 1 check failed"), run_of(told, tmp_path, spark) as run:
        run.write("copies", run.read("orders"), checks=[minimum_rows(4)])
    with pytest.raises(InvalidData, match="without writing copies"), run_of(told, tmp_path, spark) as run:
        run.write("totals", run.read("orders"))
    with pytest.raises(UnknownName, match='Did you mean "orders"'), run_of(told, tmp_path, spark) as run:
        run.read("ordres")
    assert not (tmp_path / "7" / "_manifest.json").exists()


def test_a_check_against_the_previous_version_is_refused_in_a_script(
    told: dict[str, Any], tmp_path: Path, spark: SparkSession
) -> None:
    with pytest.raises(BadInput, match="copies: at_least needs"), run_of(told, tmp_path, spark) as run:
        run.write("copies", run.read("orders"), checks=[at_least(0.9)])


def test_an_input_of_another_format_is_left_to_the_script(
    told: dict[str, Any], tmp_path: Path, spark: SparkSession
) -> None:
    told["environment"]["orders_format"] = "csv"
    with run_of(told | {"outputs": []}, tmp_path, spark) as run:
        with pytest.raises(BadInput, match="in format csv; run"):
            run.read("orders")
        assert run.location("orders") == str(tmp_path / "orders")


def test_an_input_in_a_database_is_refused_with_its_table(
    told: dict[str, Any], tmp_path: Path, spark: SparkSession
) -> None:
    told["environment"]["orders_format"] = "postgresql"
    told["inputs"][0]["location"] = "postgresql://datasets_db/public.orders?run=3"
    words = r"orders is the table public.orders in PostgreSQL \(connection datasets_db\), but run.read reads"
    with run_of(told | {"outputs": []}, tmp_path, spark) as run, pytest.raises(BadInput, match=words):
        run.read("orders")


def test_a_folder_moved_by_a_killed_run_is_restored_by_the_next_run(
    told: dict[str, Any], tmp_path: Path, spark: SparkSession
) -> None:
    write_parquet(tmp_path / "copies.5.staged.replaced")
    write_parquet(tmp_path / "copies.1.5.staged.replaced")  # of the folder copies.1
    with pytest.raises(InvalidData), run_of(told, tmp_path, spark) as run:
        run.write("copies", run.read("orders"), checks=[minimum_rows(4)])
    assert open_place(spark, str(tmp_path / "copies")).count() == 3
    assert [path.name for path in tmp_path.glob("*.replaced")] == ["copies.1.5.staged.replaced"]


def test_a_script_that_runjob_did_not_start_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATAFLOW_CONTEXT", raising=False)
    with pytest.raises(BadInput, match="DATAFLOW_CONTEXT is not set"), dataflow.spark_run():
        pass


def test_marking_a_function_as_a_job_does_not_import_spark(project: Project) -> None:
    code = textwrap.dedent(
        """
        import sys
        import dataflow

        @dataflow.job(outputs=["a"], schedule="@daily")
        def make_a(run: dataflow.JobRun) -> None:
            pass

        make_a(None)
        print("pyspark" in sys.modules)
        """
    )
    assert project.run(sys.executable, "-c", code).stdout == "False\n"
