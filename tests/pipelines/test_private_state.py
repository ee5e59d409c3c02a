"""Files that pipelines write: DataFlow's own are private, those for others follow the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataflow.errors import SparkFailed
from dataflow.pipelines.lake.manifest import Manifest, write_manifest
from dataflow.pipelines.spark.session import SparkSettings, start_session
from dataflow.pipelines.spark.session_setup import talking_to
from tests.pipelines.api_server import ApiServer
from tests.pipelines.workshop import Workshop

PIPELINES = """
    from dataflow.pipelines.declare.sources import table

    class OrdersDatasetPipeline:
        table_name = "orders"
        source_url = constants.API + "/next"
        target_db = "lake"
        field_mapping = [("id", "order_id", "bigint PRIMARY KEY"), ("name", "name", "text")]

    class CopyDatasetPipeline:
        table_name = "copies"
        source = table("warehouse", "pg_class", schema="pg_catalog")
        target_db = "warehouse"
        field_mapping = [("relname", "name", "bigint")]
"""


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """A umask that removes no permissions."""
    before = os.umask(0)
    yield
    os.umask(before)


def list_open(folder: Path) -> list[str]:
    """Every file and folder that others may access."""
    return [str(each) for each in (folder, *folder.rglob("*")) if stat.S_IMODE(each.lstat().st_mode) & 0o077]


@pytest.mark.parametrize("is_relayed", [True, False])
def test_state_is_private_under_any_umask_and_the_lake_follows_the_umask(
    workshop: Workshop, postgres_url: str, is_relayed: bool
) -> None:
    (workshop.path / ".dataflow").mkdir(mode=0o755)  # as an earlier version left it
    if is_relayed:
        (workshop.path / "dataflow.toml").write_text("[spark]\ncopy_on_driver = true\n")
    with ApiServer([{"id": 1, "name": "a"}, {"id": "x", "name": "b"}]) as api:
        workshop.environ |= {"API": api.origin, "DATAFLOW_CONN_WAREHOUSE": postgres_url}
        workshop.environ.pop("HAWK_ID")
        workshop.write("orders.py", PIPELINES)
        assert workshop.run("OrdersDatasetPipeline", "2026-11-14").failed == 1
        assert workshop.run("CopyDatasetPipeline", "2026-11-14").failed == 1
    names = {each.name for each in (workshop.path / ".dataflow" / "staging").rglob("*")}
    assert {"part-00000001.json", "part-00000001.parquet", "_rejects.jsonl", "manifest.jsonl"} <= names
    assert list_open(workshop.path / ".dataflow") == []
    with ApiServer([{"id": 1, "name": "a"}]) as api:
        workshop.environ["API"] = api.origin
        assert workshop.run("OrdersDatasetPipeline", "2026-11-15").done == 1, workshop.said
    parts = list((workshop.path / "lake").rglob("*.parquet"))
    assert parts and all(part.stat().st_mode & 0o044 == 0o044 for part in parts)


def test_the_log_of_spark_is_not_written_through_a_link(tmp_path: Path) -> None:
    log = tmp_path / "spark-1.log"
    log.symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic links"), talking_to(str(log)):
        pass
    with pytest.raises(SparkFailed, match="symbolic links"):
        start_session(SparkSettings(), str(log))
    assert not (tmp_path / "victim").exists()


def test_a_manifest_of_the_lake_is_not_written_through_a_link(tmp_path: Path) -> None:
    other = tmp_path / "precious"
    other.write_text("of somebody")
    (tmp_path / f"manifest.json.{os.getpid()}.tmp").symlink_to(other)
    with pytest.raises(OSError, match="symbolic links"):
        write_manifest(str(tmp_path / "manifest.json"), Manifest("orders", "1", 1, (), ()))
    assert other.read_text() == "of somebody"
