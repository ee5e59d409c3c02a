"""Numerics without precision keep their digits: from a source into a table, through the lake and views."""

from __future__ import annotations

from decimal import Decimal

import psycopg
import pytest

from dataflow.pipelines.lake.manifest import read_frame
from tests.pipelines.workshop import Workshop

PIPELINES = """
    from dataflow.pipelines.shape.checks import between
    from dataflow.pipelines.declare.sources import files

    class GivenDatasetPipeline:
        table_name = "given"
        source = files("given.jsonl")
        field_mapping = [
            ("id", "id", "integer"),
            ("amount", "amount", "numeric"),
            ("many", "many", "numeric []"),
        ]
        target_db = TARGET

    class ShareViewPipeline:
        view_name = "shares"
        dataset_pipeline = GivenDatasetPipeline
        schedule_interval = "@once"
        fields = [
            "id",
            "amount",
            ("amount / 3", "third"),
            ("id::numeric / 100", "percent"),
            ("amount::text", "shown"),
        ]
        target_db = VIEW_TARGET

    class AgainViewPipeline:
        view_name = "again"
        dataset_pipeline = ShareViewPipeline
        schedule_interval = "@once"
        fields = ["id", ("third * 3", "back"), ("sum(amount) over ()", "total")]
        target_db = VIEW_TARGET
"""
LINES = """\
{"id": 1, "amount": 7, "many": [1.50, 2]}
{"id": 2, "amount": 7.00, "many": null}
{"id": 3, "amount": 10.50, "many": []}
{"id": 4, "amount": "-0.0", "many": ["3.10"]}
{"id": 5, "amount": 1e3, "many": null}
{"id": 6, "amount": null, "many": null}
"""


def make(workshop: Workshop, target: str, view_target: str, lines: str = LINES) -> Workshop:
    (workshop.path / "given.jsonl").write_text(lines)
    text = PIPELINES.replace("VIEW_TARGET", repr(view_target)).replace("TARGET", repr(target))
    workshop.write("given.py", text)
    return workshop


def ask(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(sql).fetchall()


def test_a_table_keeps_all_digits_of_the_source(workshop: Workshop, postgres_url: str) -> None:
    workshop.environ["AIRFLOW_CONN_DB"] = postgres_url
    make(workshop, "db", "db").run("GivenDatasetPipeline", "2026-11-14")
    rows = ask(postgres_url, "select amount::text, many::text from given order by id")
    assert rows == [
        ("7", "{1.50,2}"),
        ("7.00", None),
        ("10.50", "{}"),
        ("0.0", "{3.10}"),
        ("1000", None),
        (None, None),
    ]
    ((kind,),) = ask(
        postgres_url,
        "select format_type(atttypid, atttypmod) from pg_attribute "
        "where attrelid = 'given'::regclass and attname = 'amount'",
    )
    assert kind == "numeric"


def test_numbers_larger_than_any_decimal_are_stored_in_full(workshop: Workshop, postgres_url: str) -> None:
    workshop.environ["AIRFLOW_CONN_DB"] = postgres_url
    long = "9" * 60 + "." + "1" * 40
    make(workshop, "db", "db", f'{{"id": 1, "amount": {long}, "many": null}}\n').run("GivenDatasetPipeline")
    assert ask(postgres_url, "select amount::text from given") == [(long,)]


@pytest.mark.parametrize(("low", "fits"), [(-1, True), (8, False)])
def test_a_check_compares_numbers_rather_than_strings(
    workshop: Workshop, postgres_url: str, low: int, fits: bool
) -> None:
    workshop.environ["AIRFLOW_CONN_DB"] = postgres_url
    make(workshop, "db", "db")
    text = (workshop.path / "pipelines" / "given.py").read_text()
    text = text.replace("target_db = 'db'", f"checks = [between('amount', {low}, 1000)]; target_db = 'db'", 1)
    (workshop.path / "pipelines" / "given.py").write_text(text)
    outcome = workshop.run("GivenDatasetPipeline", "2026-11-14")
    assert (outcome.done == 1) is fits, workshop.said


def test_a_view_in_the_lake_keeps_all_digits_for_the_next_view(workshop: Workshop) -> None:
    make(workshop, "lake", "lake").run("GivenDatasetPipeline", "2026-11-14")
    assert workshop.run("ShareViewPipeline").done == 1, workshop.said
    rows = sorted(workshop.rows("shares", "once"), key=lambda row: row["id"])
    assert [row["shown"] for row in rows] == ["7", "7", "10.5", "0", "1000", None]
    assert rows[0]["third"] == "2.3333333333333333"
    assert rows[4]["third"] == "333.3333333333333333"
    assert rows[0]["percent"] == Decimal("0.01")
    location = workshop.path / workshop.chunk("shares", "once").location
    kinds = dict(read_frame(str(location)).columns)
    assert (kinds["amount"], kinds["third"], kinds["percent"]) == ("numeric", "numeric(*)", "numeric")
    assert workshop.run("AgainViewPipeline").done == 1, workshop.said
    again = sorted(workshop.rows("again", "once"), key=lambda row: row["id"])
    assert (again[0]["back"], again[0]["total"]) == ("6.9999999999999999", Decimal("1024.5"))


def test_a_view_from_the_lake_into_a_table_keeps_its_digits(workshop: Workshop, postgres_url: str) -> None:
    workshop.environ["AIRFLOW_CONN_DB"] = postgres_url
    make(workshop, "lake", "db").run("GivenDatasetPipeline", "2026-11-14")
    assert workshop.run("ShareViewPipeline").done == 1, workshop.said
    (name,) = next(
        iter(ask(postgres_url, "select relname from pg_class where relname like 'shares%' and relkind = 'r'"))
    )
    rows = ask(postgres_url, f'select amount::text, third::text, percent::text from "{name}" order by id')
    assert rows[0] == ("7", "2.3333333333333333", "0.01000000000000000000")
