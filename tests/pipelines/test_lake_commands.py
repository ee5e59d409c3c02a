"""Reading the lake from outside a run: locate, query, versions, rollback, compact, purge."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from dataflow.actions.register import add_dataset
from dataflow.cli.main import main
from dataflow.errors import BadInput, Conflict, UnknownName
from dataflow.model.records import Dataset
from dataflow.pipelines.lake.compaction import compact, is_same
from dataflow.pipelines.lake.published_files import locate_chunk
from dataflow.pipelines.show.query import ask, read_question
from dataflow.store.store import Store
from dataflow.store.version_moves import Place
from tests.pipelines.lake_shop import LakeShop, make_table

ODD = "Zürich 50%|a+b"
"""A dataid that must be escaped in both paths and URLs."""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LakeShop]:
    monkeypatch.chdir(tmp_path)
    made = LakeShop(tmp_path)
    made.dataset("orders")
    yield made
    made.store.close()


def call(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    """Runs a command in this process; returns its output."""
    capsys.readouterr()
    assert main(list(words)) == code
    found = capsys.readouterr()
    return found.out, found.err


def environment() -> dict[str, str]:
    """The environment another process needs to find our modules."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path)}


def rows(shop: LakeShop, spark: SparkSession, sql: str, most: int = 1000) -> list[tuple[Any, ...]]:
    return ask(spark, read_question(shop.store, sql, str(shop.path)), most).rows


def test_duckdb_reads_the_located_files_and_gets_the_same_rows(
    shop: LakeShop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.publish("orders", "1", [make_table(0, 5)])
    shop.publish("orders", "1", [make_table(10, 5), make_table(15, 5)])  # replaces the first version
    shop.publish("orders", ODD, [make_table(100, 7)])
    files = call(capsys, "locate", "orders")[0].splitlines()
    assert len(files) == 3
    read = duckdb.execute("select id from read_parquet(?) order by id", [files]).fetchall()
    assert [row[0] for row in read] == [*range(10, 20), *range(100, 107)]


def test_located_chunks_are_printed_as_json(shop: LakeShop, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = shop.publish("orders", ODD, [make_table(0, 5)])
    found = json.loads(call(capsys, "locate", "orders", ODD, "--json")[0])
    assert (found["dataset"], found["dataid"], found["version"], found["rows"]) == ("orders", ODD, 1, 5)
    assert found["manifest"] == str(manifest)
    assert found["size"] == sum(os.stat(path).st_size for path in found["files"])
    assert found["columns"][0] == {"name": "id", "type": "bigint"}
    assert [each["dataid"] for each in json.loads(call(capsys, "locate", "orders", "--json")[0])] == [ODD]


def test_only_the_newest_snapshot_is_located(shop: LakeShop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.dataset("state", mode="snapshot")
    for number in ("9", "10"):
        shop.publish("state", number, [make_table(int(number), 1)])
    (path,) = call(capsys, "locate", "state")[0].splitlines()
    assert "/dataid=10/" in path


def test_locate_exits_75_when_the_newest_snapshot_is_stale(
    shop: LakeShop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.dataset("state", mode="snapshot")
    for number in ("9", "10"):
        shop.publish("state", number, [make_table(int(number), 1)])
    found = shop.store.find_dataset("raw")
    assert found is not None
    shop.store.make_ready(found[0], "raw", [("10", "10")], again=True)
    out, err = call(capsys, "locate", "state", code=75)
    assert "/dataid=9/" in out
    assert "left out 1 STALE chunk (an input has a newer version): 10." in err
    assert "/dataid=10/" in call(capsys, "locate", "state", "--stale")[0]


def test_locate_says_where_a_dataset_outside_the_lake_is(
    shop: LakeShop, capsys: pytest.CaptureFixture[str]
) -> None:
    add_dataset(shop.store, Dataset("sales", location="postgresql://db/public.sales?run={run_id}"))
    add_dataset(shop.store, Dataset("tidy", location="/tidy/{run_id}"))
    told = "Dataset raw is not in the lake: it is at /raw/{dataid}. Its chunks: dataflow chunks raw"
    staged = "The places of a chunk: dataflow versions tidy DATAID"
    assert staged in call(capsys, "locate", "tidy", code=65)[1]
    assert told in call(capsys, "locate", "raw", code=65)[1]
    assert (
        "it is the table public.sales in PostgreSQL (connection db)"
        in call(capsys, "locate", "sales", code=65)[1]
    )
    assert "is not published" in call(capsys, "locate", "orders", "7", code=75)[1]
    assert "no ready chunk" in call(capsys, "locate", "orders", code=75)[1]


def test_locate_exits_75_when_it_leaves_out_a_stale_chunk(
    shop: LakeShop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.publish("orders", "1", [make_table(0, 5)])
    found = shop.store.find_dataset("raw")
    assert found is not None
    shop.store.make_ready(found[0], "raw", [("1", "1")], again=True)
    left_out = (
        "orders: left out 1 STALE chunk (an input has a newer version): 1. "
        "To include: dataflow locate orders --stale\n"
    )
    assert call(capsys, "locate", "orders", code=75) == ("", left_out)
    assert call(capsys, "locate", "orders", "--json", code=75) == ("[]\n", left_out)
    out, err = call(capsys, "locate", "orders", "--stale")
    assert (len(out.splitlines()), err) == (1, "")
    out, err = call(capsys, "locate", "orders", "1")
    assert (len(out.splitlines()), "is STALE" in err) == (1, True)
    with pytest.raises(Conflict, match=r"All chunks of orders are STALE.* dataflow run .* --drain"):
        read_question(shop.store, "select * from orders", str(shop.path))
    shop.publish("orders", "2", [make_table(5, 5)])
    out, err = call(capsys, "locate", "orders", code=75)
    assert ("/dataid=2/" in out, len(out.splitlines()), err) == (True, 1, left_out)
    assert len(call(capsys, "locate", "orders", "--stale")[0].splitlines()) == 2


def test_locate_needs_neither_spark_nor_pyarrow(shop: LakeShop) -> None:
    shop.publish("orders", "1", [make_table(0, 5)])
    code = (
        "import sys; from dataflow.cli.main import main; code = main(['locate', 'orders']);"
        "sys.exit(code or any(name in sys.modules for name in ('pyarrow', 'pyspark', 'sqlglot')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=shop.path, env=environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_query_reads_all_chunks_and_gives_each_row_its_dataid(shop: LakeShop, spark: SparkSession) -> None:
    shop.publish("orders", "1", [make_table(0, 2), make_table(2, 1)])
    shop.publish("orders", ODD, [make_table(10, 1)])
    found = rows(
        shop, spark, "select dataid, count(*), max(id) from Orders group by dataid order by max(id);"
    )
    assert found == [("1", 3, 2), (ODD, 1, 10)]


def test_a_query_joins_datasets_and_opens_only_those_it_names(shop: LakeShop, spark: SparkSession) -> None:
    shop.dataset("state", mode="snapshot")
    shop.dataset("broken")
    shop.publish("broken", "1", [make_table(0, 1)]).unlink()
    shop.publish("orders", "1", [make_table(0, 3)])
    shop.publish("state", "1", [make_table(0, 9)])
    shop.publish("state", "2", [make_table(1, 1)])
    sql = "with s as (select id from state) select o.id, o.amount, o.at from orders o join s on s.id = o.id"
    (row,) = rows(shop, spark, sql)
    assert (row[0], str(row[1]), row[2].isoformat()) == (1, "0.01", "2017-07-14T02:40:00.000001+00:00")


def test_a_column_that_only_newer_chunks_have_is_null_in_older_ones(
    shop: LakeShop, spark: SparkSession
) -> None:
    small = make_table(0, 1).select(["id"])
    shop.publish("orders", "1", [small], (("id", "bigint"),))
    shop.publish("orders", "2", [make_table(5, 1)])
    assert [
        tuple(map(str, row)) for row in rows(shop, spark, "select id, amount from orders order by id")
    ] == [
        ("0", "None"),
        ("5", "0.05"),
    ]


def test_a_column_named_dataid_is_unchanged(shop: LakeShop, spark: SparkSession) -> None:
    table = pa.table({"DataId": pa.array([7], pa.int64())})
    shop.publish("orders", "1", [table], (("DataId", "bigint"),))
    assert rows(shop, spark, "select * from orders") == [(7,)]


def test_an_empty_chunk_gives_no_rows(shop: LakeShop, spark: SparkSession) -> None:
    shop.publish("orders", "1", [])
    assert rows(shop, spark, "select id, dataid from orders") == []


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("drop table orders", "is not a SELECT"),
        ("select 1; select 2", "Write exactly one SELECT"),
        ("insert into orders select * from orders", "is not a SELECT"),
        ("select * from parquet.`/etc/passwd`", "unknown dataset"),
        ("select * from raw", "Dataset raw is not in the lake: it is at /raw/"),
        ("select * from sold", r"is the table public.sold in PostgreSQL \(connection db\)"),
        ("select * from solt", 'unknown dataset "solt". Did you mean "sold"?'),
        ("select '${env:HAWK_KEY}'", "is not allowed"),
    ],
)
def test_a_query_reads_only_datasets(shop: LakeShop, sql: str, why: str) -> None:
    add_dataset(shop.store, Dataset("sold", location="postgresql://db/public.sold"))
    with pytest.raises((BadInput, UnknownName), match=why):
        read_question(shop.store, sql, str(shop.path))


def test_a_query_of_a_dataset_without_a_chunk_says_that_it_is_empty(shop: LakeShop) -> None:
    command = [sys.executable, "-m", "dataflow.cli.main", "query", "--json", "select count(*) n from orders"]
    done = subprocess.run(
        command, cwd=shop.path, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.stderr == "orders has no ready chunk; it reads as empty. See: dataflow chunks orders\n"
    assert (done.returncode, json.loads(done.stdout)) == (0, [{"n": 0}])


def test_the_query_command_hides_sparks_output_and_says_what_it_left_out(shop: LakeShop) -> None:
    shop.publish("orders", "1", [make_table(0, 5)])
    command = [sys.executable, "-m", "dataflow.cli.main", "query", "--json", "--rows", "2"]
    sql = "select id, amount, id from orders order by id"
    done = subprocess.run(
        [*command, sql], cwd=shop.path, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.stderr == "Showing the first 2 rows. To see more: --rows N\n"
    assert json.loads(done.stdout) == [
        {"id": 0, "amount": "0.00", "id_2": 0},
        {"id": 1, "amount": "0.01", "id_2": 1},
    ]
    assert done.returncode == 0


def test_a_query_fits_the_terminal_and_distinguishes_null_from_empty_values(shop: LakeShop) -> None:
    shop.publish("orders", "1", [make_table(0, 5)])
    command = [sys.executable, "-m", "dataflow.cli.main", "query"]
    sql = (
        "select true as yes, false as no, cast(null as int) as nothing, '' as empty, "
        "cast(array() as array<int>) as list, 'NULL' as word, at as first_completed_at, "
        "at as second_completed_at, 'a word and another ' || repeat('word ', 20) as remark "
        "from orders where id = 0"
    )
    done = subprocess.run([*command, sql], cwd=shop.path, env=environment(), capture_output=True, check=False)
    first, row = done.stdout.decode().splitlines()
    assert first.split()[:6] == ["yes", "no", "nothing", "empty", "list", "word"]
    assert row.split()[:6] == ["true", "false", "NULL", "''", "[]", "'NULL'"]
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
    env = {name: value for name, value in environment().items() if name != "COLUMNS"}
    process = subprocess.Popen([*command, sql], cwd=shop.path, env=env, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    with contextlib.suppress(OSError):  # reading the terminal of a process that has ended
        while data := os.read(master, 4096):
            shown += data
    os.close(master)
    assert process.wait() == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).replace("\r", "").splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "Starting Spark …"
    assert lines[2].split()[:6] == row.split()[:6]
    assert lines[-1].startswith("Hidden columns: ")


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("SELECT null", {"NULL": None}),
        ("select null, null from orders where id = 0", {"NULL": None, "NULL_2": None}),
        (
            "select array() as list, named_struct('void', map('x', null)) as pairs",
            {"list": [], "pairs": {"void": [["x", None]]}},
        ),
    ],
)
def test_a_query_shows_values_without_a_type(shop: LakeShop, sql: str, row: dict[str, Any]) -> None:
    shop.publish("orders", "1", [make_table(0, 5)])
    command = [sys.executable, "-m", "dataflow.cli.main", "query", "--json", sql]
    done = subprocess.run(
        command, cwd=shop.path, env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [row]


def test_a_query_without_java_says_what_to_install(
    shop: LakeShop, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(shop.path / "nowhere"))
    shop.publish("orders", "1", [make_table(0, 5)])
    assert "Spark needs Java 17 or newer" in call(capsys, "query", "select * from orders", code=78)[1]


def test_commands_list_versions_and_roll_back_to_them(
    shop: LakeShop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.publish("orders", "1", [make_table(0, 5)])
    shop.publish("orders", "1", [make_table(10, 6)])
    listed = json.loads(call(capsys, "versions", "orders", "1", "--json")[0])
    assert [(each["version"], each["rows"], each["current"]) for each in listed] == [
        (1, 5, False),
        (2, 6, True),
    ]
    said = call(capsys, "rollback", "orders", "1", "--why", "wrong prices")[1]
    assert "published version 1 again as version 3" in said
    (path,) = call(capsys, "locate", "orders")[0].splitlines()
    assert pq.read_table(path, partitioning=None)["id"].to_pylist() == [0, 1, 2, 3, 4]
    assert "is already current" in call(capsys, "rollback", "orders", "1", "--version", "1", code=75)[1]


def test_compaction_keeps_the_version_the_rows_and_their_order_and_triggers_no_work(
    shop: LakeShop, capsys: pytest.CaptureFixture[str]
) -> None:
    old = shop.publish("orders", "1", [make_table(start, 10) for start in (20, 0, 10)])
    shop.dataset("report", reads="orders")
    reader = shop.claim("report", "1")
    said = call(capsys, "compact", "orders", "1")[1]
    assert "merged 3 files into 1; still version 1." in said
    (path,) = call(capsys, "locate", "orders")[0].splitlines()
    ids = [*range(20, 30), *range(10), *range(10, 20)]
    assert pq.read_table(path, partitioning=None)["id"].to_pylist() == ids
    shop.finish("report", reader)
    plan = shop.store.find_plan("load_report")
    assert plan is not None
    work = shop.store.read.find_work(plan.job_id, "1")
    assert work is not None and work.state == "DONE"
    assert old.exists()
    assert "orders/1: nothing to merge in 1 file." in call(capsys, "compact", "orders", "1")[1]


def test_files_pinned_by_a_reader_survive_compaction_and_purge(
    shop: LakeShop, capsys: pytest.CaptureFixture[str]
) -> None:
    old = shop.publish("orders", "1", [make_table(0, 10), make_table(10, 10)])
    shop.dataset("report", reads="orders")
    reader = shop.claim("report", "1")
    call(capsys, "compact", "orders", "1")
    new = Path(call(capsys, "locate", "orders")[0].splitlines()[0])
    call(capsys, "purge", "--older-than", "0s", "--yes")
    assert (old.exists(), new.exists()) == (True, True)
    shop.finish("report", reader)
    assert "1 replaced version " in call(capsys, "purge", "--older-than", "0s", "--yes")[1]
    assert (old.exists(), new.exists()) == (False, True)


def test_compaction_splits_files_at_the_target_size(shop: LakeShop) -> None:
    shop.publish("orders", "1", [make_table(start * 50_000, 50_000) for start in range(8)])
    size = locate_chunk(shop.store, "orders", "1", str(shop.path))[0].manifest.size
    done = compact(shop.store, ("orders", "1"), str(shop.path), file_size=size // 3)
    assert (done.files_before, done.files_after) == (8, 2)


def test_files_whose_rows_differ_from_their_manifest_are_not_published(shop: LakeShop) -> None:
    manifest = shop.publish("orders", "1", [make_table(0, 10), make_table(10, 10)])
    file = next(manifest.parent.glob("*.parquet"))
    pq.write_table(make_table(0, 9), file)
    with pytest.raises(BadInput, match="hold 19 rows, but its manifest says 20"):
        compact(shop.store, ("orders", "1"), str(shop.path))
    assert [folder.name for folder in manifest.parent.parent.iterdir()] == [manifest.parent.name]


class Overtaken(Store):
    """A store where another run publishes just before a version is moved."""

    def __init__(self, shop: LakeShop) -> None:
        super().__init__(shop.store.database, shop.store.actor)
        self._shop = shop

    def move_version(self, place: Place, location: str, size: int, why: str) -> None:
        self._shop.publish("orders", "1", [make_table(50, 1)])
        super().move_version(place, location, size, why)


def test_a_version_published_during_compaction_is_not_replaced(shop: LakeShop) -> None:
    shop.publish("orders", "1", [make_table(0, 10), make_table(10, 10)])
    with pytest.raises(Conflict, match="changed while version 1 was compacted"):
        compact(Overtaken(shop), ("orders", "1"), str(shop.path))
    assert locate_chunk(shop.store, "orders", "1", str(shop.path))[0].manifest.rows == 1
    folders = [path.name for path in (shop.path / "lake" / "orders" / "dataid=1").iterdir()]
    assert all(name.isdigit() for name in folders) and len(folders) == 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (pa.array([1.0, float("nan"), None]), pa.array([1.0, float("nan"), None]), True),
        (pa.array([1.0, float("nan"), None]), pa.array([1.0, 2.0, None]), False),
        (pa.array([[1.0], None, [float("nan")]]), pa.array([[1.0], None, [float("nan")]]), True),
        (pa.array([[1.0], [2.0, 3.0]]), pa.array([[1.0, 2.0], [3.0]]), False),
        (pa.array(["a", None]), pa.array(["a", ""]), False),
        (pa.array([1, 2]), pa.array([2, 1]), False),
    ],
)
def test_rows_are_compared_by_value_with_nan_equal_to_itself(one: Any, other: Any, same: bool) -> None:
    assert is_same(one, other) is same
