"""Declarations take effect in a run: sources, pages, credentials, dialects, bases."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataflow.errors import BadInput
from tests.pipelines.api_server import ApiServer, Hawk
from tests.pipelines.workshop import Workshop

IMPORTS = """
from dataflow.pipelines.declare.bases import DatasetPipeline, ViewPipeline
from dataflow.pipelines.declare.sources import (
    api_key, basic, bearer, cursor, files, hawk, http, next_link, offset, page_number
)
"""
DATASET = """
class OrdersDatasetPipeline(DatasetPipeline):
    table_name = "orders"
    source = {source}
    field_mapping = [("id", "id", "bigint PRIMARY KEY"), ("name", "name", "text")]
"""
VIEW = """
class EvenViewPipeline(ViewPipeline):
    view_name = "even"
    dataset_pipeline = OrdersDatasetPipeline
    schedule_interval = "@once"
    target_db = constants.TARGET
"""
DAY = "2026-11-14"
ROWS = [{"id": number, "name": f"n{number}"} for number in range(25)]
SECRETS = {"WHO": "me", "OUR_KEY": "a-key-of-our-own"}


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(ROWS) as server:
        yield server


@pytest.fixture
def shop(workshop: Workshop, api: ApiServer) -> Workshop:
    workshop.environ = {"API": api.origin, "TARGET": "lake", **SECRETS}
    return workshop


def declare(shop: Workshop, source: str, more: str = "") -> None:
    shop.write("orders.py", IMPORTS + DATASET.format(source=source) + more)


def published(shop: Workshop) -> list[dict[str, object]]:
    return sorted(shop.rows("orders", DAY), key=lambda row: row["id"])


@pytest.mark.parametrize(
    ("path", "options", "header", "value"),
    [
        (
            "/next",
            'pages=next_link(total="count"), auth=basic("WHO", "OUR_KEY")',
            "Authorization",
            f"Basic {base64.b64encode(b'me:a-key-of-our-own').decode()}",
        ),
        ("/cursor", 'pages=cursor(), auth=bearer("OUR_KEY")', "Authorization", "Bearer a-key-of-our-own"),
        ("/pages", 'pages=page_number(), auth=api_key("X-Who", "OUR_KEY")', "X-Who", "a-key-of-our-own"),
        (
            "/offset",
            'pages=offset(limit=10, total="meta.count"), auth=hawk("WHO", "OUR_KEY")',
            "Authorization",
            'Hawk id="me"',
        ),
    ],
)
def test_pages_and_credentials_are_those_the_source_declares(
    shop: Workshop, api: ApiServer, path: str, options: str, header: str, value: str
) -> None:
    if value.startswith("Hawk"):
        api.hawk = Hawk("me", "a-key-of-our-own")
    declare(shop, f'http(constants.API + "{path}?of={{dataid}}&from={{start}}&to={{end}}", {options})')
    assert shop.run("OrdersDatasetPipeline", DAY).done == 1, shop.said
    assert published(shop) == ROWS
    asked = "of=2026-11-14&from=2026-11-14T00%3A00%3A00%2B00%3A00&to=2026-11-15T00%3A00%3A00%2B00%3A00"
    assert asked in api.seen[0].target
    assert all(seen.headers[header].startswith(value) for seen in api.seen)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_of_each_format_can_be_a_source(shop: Workshop, kind: str) -> None:
    (shop.path / "in").mkdir()
    path = shop.path / "in" / f"{DAY}.{kind}"
    if kind == "csv":
        path.write_text("id,name\n" + "".join(f"{row['id']},{row['name']}\n" for row in ROWS))
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    declare(shop, f'files("in/{{dataid}}.{kind}")')
    assert shop.run("OrdersDatasetPipeline", DAY).done == 1, shop.said
    assert published(shop) == ROWS


def test_a_view_in_sparks_dialect_runs_unchanged(shop: Workshop) -> None:
    fields = """
    dialect = "spark"
    start_date = datetime(2026, 11, 1)
    fields = [("id div 2", "half"), ("`name` || '{{ ds }}'", "name")]
    where_clause = "id % 2 = 0 AND rlike(name, '^n[0-9]$')"
"""
    declare(shop, 'http(constants.API + "/next")', VIEW + fields)
    shop.run("OrdersDatasetPipeline", DAY)
    assert shop.run("EvenViewPipeline").done == 1, shop.said
    rows = sorted(shop.rows("even", "once"), key=lambda row: row["half"])
    assert rows == [{"half": half, "name": f"n{half * 2}2026-11-01"} for half in range(5)]


def test_the_table_of_a_view_with_schedule_once_has_once_in_its_name(
    shop: Workshop, postgres_url: str
) -> None:
    shop.environ |= {"DATAFLOW_CONN_DATASETS_DB": postgres_url, "TARGET": "datasets_db"}
    declare(shop, 'http(constants.API + "/next")', VIEW + '    where_clause = "id < 3"\n')
    shop.run("OrdersDatasetPipeline", DAY)
    assert shop.run("EvenViewPipeline").done == 1, shop.said
    with psycopg.connect(postgres_url) as database:
        assert database.execute("select id from even_once order by id").fetchall() == [(0,), (1,), (2,)]


def test_a_view_with_schedule_once_has_no_interval_dates(shop: Workshop) -> None:
    declare(shop, 'http(constants.API + "/next")', VIEW + """    where_clause = "name < '{{ ds }}'"\n""")
    shop.run("OrdersDatasetPipeline", DAY)
    with pytest.raises(BadInput, match=r'"ds" is undefined: the schedule @once has no interval'):
        shop.run("EvenViewPipeline")
