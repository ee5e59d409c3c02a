"""Python jobs: functions that are given a run, and read and write datasets of the lake."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataflow.actions.register import add_dataset
from dataflow.errors import BadInput, ConfigError, JobFailed, UnknownName
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.records import Dataset
from tests.docs.pages import DOCS, list_sections
from tests.pipelines.workshop import Workshop
from tests.project import Project

ORDERS = """
    import dataflow

    @dataflow.job(outputs=["orders"], schedule="@daily", start_date=datetime(2026, 8, 1))
    def load_orders(run):
        day = int(run.dataid[-2:])
        rows = [(number, "north" if number % 2 else "south", number * day) for number in range(4)]
        run.write("orders", run.spark.createDataFrame(rows, "id int, region string, amount int"))
"""


def make(workshop: Workshop, body: str, name: str = "jobs.py") -> None:
    workshop.write("base.py", ORDERS)
    workshop.write(name, "import dataflow\n\n" + body)


def add_parquet(workshop: Workshop, name: str, rows: list[dict[str, Any]], dataid: str) -> None:
    """A dataset in a plain Parquet folder, written by another tool, with one chunk."""
    add_dataset(workshop.store, Dataset(name, location=f"{name}/{{dataid}}", format="parquet", grain="daily"))
    folder = workshop.path / name / dataid
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / "data.parquet")
    found = workshop.store.find_dataset(name)
    assert found is not None
    pair = (dataid, sort_key(dataid, Grain.DAILY))
    workshop.store.make_ready(found[0], name, [pair], again=False)


def log_of(workshop: Workshop, run_id: int) -> str:
    return (workshop.path / ".dataflow" / "logs" / f"{run_id}.log").read_text()


def test_the_spark_jobs_of_a_python_job_have_the_tag_of_its_run(workshop: Workshop) -> None:
    tags = "run.log(f'tags of {run.dataid}: {sorted(run.spark.getTags())}')"
    workshop.write("base.py", ORDERS + f"        {tags}\n")
    for day in ("2026-08-01", "2026-08-02"):
        assert workshop.run("load_orders", day).done == 1, workshop.said
    assert "tags of 2026-08-01: ['run-1']" in log_of(workshop, 1)
    assert "tags of 2026-08-02: ['run-2']" in log_of(workshop, 2)


TOTALS = """
@dataflow.job(inputs=["orders"], outputs=["totals"])
def make_totals(run):
    start, end = run.interval
    run.log(f"from {start:%Y-%m-%d} to {end:%Y-%m-%d}")
    run.write("totals", run.read("orders").groupBy("region").sum("amount").toDF("region", "amount"))
"""


@pytest.mark.daily
def test_a_job_reads_the_chunk_of_its_own_dataid_and_publishes_what_it_writes(workshop: Workshop) -> None:
    make(workshop, TOTALS)
    workshop.run("load_orders", "2026-08-02")
    workshop.run("load_orders", "2026-08-03")
    assert workshop.run("make_totals", drain=True).done == 2
    totals = {row["region"]: row["amount"] for row in workshop.rows("totals", "2026-08-03")}
    assert totals == {"north": 12, "south": 6}
    assert workshop.chunk("totals", "2026-08-02").status == "READY"
    logs = [path.read_text() for path in (workshop.path / ".dataflow" / "logs").glob("*.log")]
    assert any("from 2026-08-03 to 2026-08-04" in text for text in logs)


def test_an_output_has_the_grain_of_the_input_or_the_schedule(workshop: Workshop) -> None:
    body = (
        TOTALS
        + """
@dataflow.job(inputs=["totals"], outputs=["shares"])
def a_share(run):
    run.write("shares", run.read("totals"))

@dataflow.job(inputs=["totals:latest"], outputs=["months"], schedule="@monthly", mode="snapshot")
def report(run):
    run.write("months", run.read("totals"))
"""
    )
    make(workshop, body)
    workshop.register()
    datasets = {name: workshop.store.find_dataset(name) for name in ("orders", "totals", "shares", "months")}
    found = {name: (item[1].grain, item[1].mode) for name, item in datasets.items() if item}
    daily = ("daily", "partition")
    assert found == {"orders": daily, "totals": daily, "shares": daily, "months": ("monthly", "snapshot")}


WEEKDAYS = """
@dataflow.job(inputs=["orders"], outputs=["digests"], schedule="0 6 * * 1-5", start_date=datetime(2026, 8, 6),
              end_date=datetime(2026, 8, 11), catchup=True)
def digest(run):
    start, end = run.interval
    run.log(f"from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}")
    run.write("digests", run.read("orders"))

class DigestViewPipeline:
    view_name = "digest_view"
    dataset_pipeline = digest
    schedule_interval = "0 6 * * 1-5"
    start_date = datetime(2026, 8, 6)
    end_date = datetime(2026, 8, 11)
    catchup = True
    fields = [("count(*)", "orders"), ("'{{ ds }} {{ next_ds }}'", "days")]
"""


def test_a_job_of_weekdays_reads_the_days_of_a_daily_dataset(workshop: Workshop) -> None:
    make(workshop, WEEKDAYS)
    for day in ("2026-08-07", "2026-08-08"):
        assert workshop.run("load_orders", day).done == 1
    assert workshop.run("digest", drain=True).done == 1
    assert "from 2026-08-07 06:00 to 2026-08-10 06:00" in log_of(workshop, 3)
    assert len(workshop.rows("digests", "2026-08-07")) == 4
    with pytest.raises(BadInput, match=r'"2026-08-08" is not an interval.*the nearest is 2026-08-07'):
        workshop.run("digest", "2026-08-08")
    assert workshop.run("DigestViewPipeline", drain=True).done == 1
    assert workshop.rows("digest_view", "2026-08-07") == [{"orders": 4, "days": "2026-08-07 2026-08-10"}]


RUNNING = """
@dataflow.job(inputs=["orders", "running:previous"], outputs=["running"], start_date="2026-08-02")
def add_up(run):
    rows = run.read("orders")
    before = run.find("running:previous")
    run.write("running", rows if before is None else rows.unionByName(before))
"""


def test_previous_is_the_preceding_chunk_and_none_at_the_first_dataid(workshop: Workshop) -> None:
    make(workshop, RUNNING.replace(', start_date="2026-08-02"', ""))
    for day in ("2026-08-02", "2026-08-03"):
        workshop.run("load_orders", day)
    assert workshop.run("add_up", drain=True).done == 0
    told = Project(workshop.path, workshop.path).json("dataflow", "why", "add_up", "2026-08-02")
    advice = '2026-08-02 is not declared to be the first: give add_up start_date="2026-08-02"'
    assert told["verdict"].endswith(advice)
    make(workshop, RUNNING)
    assert workshop.run("add_up", drain=True).done == 2
    assert len(workshop.rows("running", "2026-08-02")) == 4
    assert len(workshop.rows("running", "2026-08-03")) == 8


def test_a_class_of_a_pipeline_and_a_plain_parquet_dataset_can_be_inputs(workshop: Workshop) -> None:
    (workshop.path / "people.csv").write_text("id,name\n1,Ann\n2,Bob\n")
    add_parquet(workshop, "clicks", [{"id": 1, "count": 3}], "2026-08-02")
    make(
        workshop,
        """
from dataflow.pipelines.declare.sources import files

class PeopleDatasetPipeline:
    table_name = "people"
    source = files("people.csv")
    field_mapping = [("id", "integer"), ("name", "text")]

@dataflow.job(inputs=["clicks", PeopleDatasetPipeline], outputs=["named"])
def name_clicks(run):
    run.write("named", run.read("clicks").join(run.read("people"), "id"))
""",
    )
    workshop.run("PeopleDatasetPipeline", "2026-08-02")
    assert workshop.run("name_clicks").done == 1
    assert workshop.rows("named", "2026-08-02") == [{"id": 1, "count": 3, "name": "Ann"}]


def test_nothing_is_published_when_the_function_raises_after_a_write(workshop: Workshop) -> None:
    make(workshop, TOTALS + '    raise ValueError("the moon is full")\n')
    workshop.run("load_orders", "2026-08-02")
    outcome = workshop.run("make_totals")
    assert str(outcome.error) == "pipelines/jobs.py:9: ValueError: the moon is full"
    assert workshop.chunk("totals", "2026-08-02").status == "FAILED"
    assert not list((workshop.path / "lake" / "totals").rglob("*.parquet"))
    text = log_of(workshop, 2)
    assert "Traceback" in text
    assert 'raise ValueError("the moon is full")' in text


def test_sparks_error_about_a_wrong_column_becomes_one_sentence(workshop: Workshop) -> None:
    make(workshop, TOTALS.replace('sum("amount")', 'sum("amuont")'))
    workshop.run("load_orders", "2026-08-02")
    words = str(workshop.run("make_totals").error)
    assert words.startswith("pipelines/jobs.py:8: Spark failed: ")
    assert "amuont" in words
    assert "\n" not in words
    lines = log_of(workshop, 2).splitlines()
    place = lines.index(f"spark: {words}")
    assert lines[place + 1].startswith('  pipelines/jobs.py:8: run.write("totals"')
    assert lines[place + 2 : place + 4] == ["", "Traceback (most recent call last):"]
    assert log_of(workshop, 2).count("Traceback") == 1


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        ('run.read("order")', UnknownName, 'no input "order". Did you mean "orders"?'),
        ('run.write("total", run.read("orders"))', UnknownName, 'no output "total". Did you mean "totals"?'),
        ('run.write("totals", [1])', BadInput, "writes a list to totals; run.write takes a Spark DataFrame"),
        (
            'run.write("totals", run.read("orders")); run.write("totals", run.read("orders"))',
            BadInput,
            "writes totals twice",
        ),
        (
            'rows = run.read("orders"); '
            'list(ThreadPoolExecutor(2).map(lambda _: run.write("totals", rows), range(2)))',
            BadInput,
            "writes totals twice",
        ),
        ("sys.exit(0)", JobFailed, "pipelines/jobs.py:8: it called sys.exit(0)"),
        (
            'run.write("totals", run.read("orders").selectExpr("id", "amount as ID"))',
            BadInput,
            "two of its columns are named ID",
        ),
        (
            'run.write("totals", run.read("orders").selectExpr("map(1, 2) as m"))',
            BadInput,
            "Column m has Spark type map<int,int>",
        ),
    ],
    ids=[
        "unknown input",
        "unknown output",
        "no frame",
        "twice",
        "twice at once",
        "exit",
        "twin columns",
        "no such type",
    ],
)
def test_an_invalid_call_of_the_run_is_reported_and_nothing_is_published(
    workshop: Workshop, body: str, error: type, words: str
) -> None:
    make(
        workshop,
        "import sys\nfrom concurrent.futures import ThreadPoolExecutor\n\n"
        f'@dataflow.job(inputs=["orders"], outputs=["totals"])\ndef make_totals(run):\n    {body}\n',
    )
    workshop.run("load_orders", "2026-08-02")
    outcome = workshop.run("make_totals")
    assert isinstance(outcome.error, error)
    assert words in str(outcome.error)
    assert workshop.chunk("totals", "2026-08-02").status == "FAILED"


def test_a_missing_output_is_named_and_nothing_is_published(workshop: Workshop) -> None:
    make(workshop, TOTALS.replace('outputs=["totals"]', 'outputs=["totals", "regions"]'))
    workshop.run("load_orders", "2026-08-02")
    outcome = workshop.run("make_totals")
    assert "make_totals ended without writing regions" in str(outcome.error)
    assert "pipelines/jobs.py:4" in str(outcome.error)
    for name in ("totals", "regions"):
        assert workshop.chunk(name, "2026-08-02").status == "INVALID"


def test_a_failed_check_keeps_the_last_version_and_the_staged_rows(workshop: Workshop) -> None:
    text = TOTALS.replace('("region", "amount"))', '("region", "amount"), checks=[minimum_rows(LEAST)])')
    text = "from dataflow.pipelines.shape.checks import minimum_rows\nLEAST = 2\n" + text
    make(workshop, text)
    workshop.run("load_orders", "2026-08-02")
    assert workshop.run("make_totals").done == 1
    version = workshop.chunk("totals", "2026-08-02").version
    make(workshop, text.replace("LEAST = 2", "LEAST = 3"))
    workshop.resubmit("make_totals", "2026-08-02")
    outcome = workshop.run("make_totals")
    assert "totals: 1 check failed: minimum_rows(3)" in str(outcome.error)
    assert workshop.chunk("totals", "2026-08-02").version == version
    assert len(workshop.rows("totals", "2026-08-02")) == 2
    assert list((workshop.path / "lake" / "totals").rglob("3-*/*.parquet"))


def test_a_function_may_use_modules_of_the_project_and_its_own_functions_on_spark(workshop: Workshop) -> None:
    (workshop.path / "rates.py").write_text("RATE = 2\n")
    make(
        workshop,
        """
def doubled(amount):
    return amount * 2

@dataflow.job(inputs=["orders"], outputs=["totals"])
def make_totals(run):
    from pyspark.sql import functions as F
    import rates

    rows = run.read("orders").select(F.udf(doubled, "int")("amount").alias("amount"))
    run.write("totals", rows.withColumn("rate", F.lit(rates.RATE)))
""",
    )
    workshop.run("load_orders", "2026-08-02")
    assert workshop.run("make_totals").error is None
    assert sorted(row["amount"] for row in workshop.rows("totals", "2026-08-02")) == [0, 4, 8, 12]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ('inputs="orders", outputs=["a"]', 'inputs must be a list, such as ["orders"]'),
        ('inputs=["orders:latst"], outputs=["a"]', 'inputs: "latst" is not a mapping. Did you mean "latest'),
        ('inputs=["orders:latest"], outputs=["a"]', "inputs contain nothing that starts the job"),
        ('inputs=["orders"], outputs=["a b"]', 'outputs: "a b" is not a valid name for a dataset'),
        ('inputs=["orders"], outputs=["orders"]', "make_it makes orders, which load_orders already makes"),
        ('inputs=["orders"], outputs=["a"], shedule="@daily"', "shedule is not an attribute of a pipeline."),
        ('inputs=["orders"], outputs=["a"], name="make-it"', 'name is "make-it"; it must be a valid'),
        ('inputs=["orders"], outputs=["a"], catchup=True', "catchup needs a schedule"),
    ],
    ids=["text", "mapping", "nothing starts it", "output", "made twice", "option", "name", "catchup"],
)
def test_an_invalid_declaration_is_reported_with_its_place_and_the_others_are_loaded(
    workshop: Workshop, declared: str, words: str
) -> None:
    make(workshop, f"@dataflow.job({declared})\ndef make_it(run):\n    pass\n")
    catalog = workshop.catalog()
    assert list(catalog.definitions) == ["load_orders"]
    (problem,) = catalog.problems
    assert problem.startswith("pipelines/jobs.py:3: ")
    assert words in problem


def test_names_a_run_defines_in_its_session_do_not_exist_for_the_next_run(workshop: Workshop) -> None:
    body = TOTALS + '    run.log(str(run.spark.catalog.tableExists("mine")))\n'
    make(workshop, body + '    run.spark.range(1).createTempView("mine")\n')
    for day in ("2026-08-02", "2026-08-03"):
        workshop.run("load_orders", day)
    assert workshop.run("make_totals", drain=True).done == 2, workshop.said
    assert workshop.log().count("False") == 2


def test_a_python_job_writes_only_to_a_lake(workshop: Workshop) -> None:
    make(workshop, TOTALS.replace('outputs=["totals"]', 'outputs=["totals"], target_db="warehouse"'))
    workshop.environ["DATAFLOW_CONN_WAREHOUSE"] = "postgresql://etl@dbhost/datasets"
    with pytest.raises(ConfigError, match="make_totals has target_db warehouse, which is a database"):
        workshop.register()


def test_a_cancelled_run_stops_the_spark_jobs_of_its_function(workshop: Workshop) -> None:
    make(
        workshop,
        """
@dataflow.job(inputs=["orders"], outputs=["totals"])
def make_totals(run):
    import threading
    naps = run.spark.range(0, 2000).selectExpr("java_method('java.lang.Thread', 'sleep', id * 0 + 100L)")
    threading.Timer(1.0, run._surroundings.cancel).start()  # as the worker does once the lease is lost
    naps.collect()
""",
    )
    workshop.run("load_orders", "2026-08-02")
    began_at = time.monotonic()
    assert workshop.run("make_totals").failed == 1
    assert time.monotonic() - began_at < 60


def test_the_example_of_the_python_page_runs_unchanged(workshop: Workshop) -> None:
    section = list_sections(DOCS / "python.md")["Python jobs"]
    lines = [line for line in section.splitlines() if line.startswith("    ") or not line]
    workshop.write("example.py", "\n".join(lines))
    workshop.run("load_orders", "2026-08-02")
    assert workshop.run("make_totals").done == 1
    totals = {row["region"]: row["amount"] for row in workshop.rows("totals", "2026-08-02")}
    assert totals == {"north": 30, "south": 12}


def test_an_unknown_input_is_reported_with_its_place(workshop: Workshop) -> None:
    workshop.write(
        "jobs.py",
        """
        import dataflow

        @dataflow.job(inputs=["today"], outputs=["invoices"])
        def load(run): ...

        @dataflow.job(inputs=["invoicess"], outputs=["sums"])
        def add_up(run): ...
        """,
    )
    with pytest.raises(UnknownName) as refusal:
        workshop.register()
    told = 'pipelines/jobs.py:7: add_up: unknown dataset "invoicess" in inputs=["invoicess"].'
    assert str(refusal.value).startswith(f'{told} Did you mean "invoices"?')
    assert "--in" not in str(refusal.value)
