"""`dataflow pipeline takeover`: tables that another status store wrote."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from dataflow.cli.main import main
from dataflow.errors import Conflict, Superseded
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.postgres.ledger import take_over
from dataflow.pipelines.postgres.transactions import transaction
from tests.pipelines.postgres.orders import load, make_rows, make_target, query

PIPELINES = """
class OrdersDatasetPipeline:
    table_name = "orders"
    source_url = "http://localhost/orders"
    target_db = "warehouse"
    field_mapping = [("id", "id", "integer PRIMARY KEY")]

class LakeDatasetPipeline:
    table_name = "others"
    source_url = "http://localhost/orders"
    field_mapping = [("id", "id", "integer PRIMARY KEY")]
"""


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATAFLOW_CONN_WAREHOUSE", postgres_url)
    (tmp_path / "dataflow.toml").touch()
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "orders.py").write_text(PIPELINES)
    assert main(["db", "upgrade"]) == 0
    return postgres_url


def test_a_takeover_includes_only_the_tables_of_the_pipeline(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for dataid in ("d1", "d2"):
        load(make_target(url, 7, dataid, mode="partition", store_id="old"), make_rows(1))
    query(url, "insert into dataflow_ledger select 'x', dataid, 'x', store_id, '', 1 from dataflow_ledger")
    command = ["pipeline", "takeover", "OrdersDatasetPipeline"]
    assert main([*command, "--yes"]) == 0
    assert "Took over 2 dataids of orders." in capsys.readouterr().err
    found = query(url, "select dataset, store_id = 'old', run_id from dataflow_ledger order by 1, dataid")
    assert found == [("orders", False, 0), ("orders", False, 0), ("x", True, None), ("x", True, None)]
    assert main(command) == 0
    assert "nothing in warehouse belongs to another store" in capsys.readouterr().err


def test_a_restored_store_takes_over_what_it_wrote_after_the_backup(url: str) -> None:
    load(make_target(url, 57, "d1", mode="partition"), make_rows(1))
    with pytest.raises(Conflict, match=r"run 57 .* status store is 41.* takeover OrdersPipeline"):
        make_target(url, 41, "d1", mode="partition", newest_run=41).begin()
    with pytest.raises(Superseded):  # this store knows that run: it is just newer
        make_target(url, 41, "d1", mode="partition", newest_run=60).begin()
    with transaction(Connection("warehouse", url)) as session:
        assert take_over(session, "public", "orders", "1a2b", 60) == 0
        assert take_over(session, "public", "orders", "1a2b", 41) == 1
    assert query(url, "select fence, run_id from dataflow_ledger") == [(0, 0)]
    make_target(url, 41, "d1", mode="partition", newest_run=41).begin()


def test_a_takeover_waits_for_a_run_of_the_other_store_that_is_starting(url: str) -> None:
    load(make_target(url, 1, "d1", mode="partition", store_id="old"), make_rows(1))
    row = (
        "insert into dataflow_ledger select table_name, 'd2', dataset, store_id, 'd2', 2 from dataflow_ledger"
    )
    with ThreadPoolExecutor() as pool, psycopg.connect(url) as old:
        old.execute(row)
        taken = pool.submit(take_over_at_once, url)
        while not query(url, "select 1 from pg_locks where not granted"):
            time.sleep(0.05)
        old.commit()
        assert taken.result() == 2


def take_over_at_once(url: str) -> int:
    with transaction(Connection("warehouse", url)) as session:
        return take_over(session, "public", "orders", "new", 0)


def test_an_unused_database_has_nothing_to_take_over(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "takeover", "OrdersDatasetPipeline"]) == 0
    assert "nothing in warehouse belongs to another store" in capsys.readouterr().err


def test_a_takeover_is_refused_in_the_lake(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "takeover", "LakeDatasetPipeline"]) == 65
    assert "each store has its own files" in capsys.readouterr().err
