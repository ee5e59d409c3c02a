"""Attributes that are allowed in a lake, and those only for a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dataflow.actions.register import add_dataset
from dataflow.errors import BadInput
from dataflow.model.records import Dataset
from dataflow.pipelines.declare.catalog import Catalog
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.register.pipeline_jobs import find_misplaced, refuse_misplaced, register_pipelines
from dataflow.store.opener import open_store

PIPELINE = """
class OrdersDatasetPipeline:
    table_name = "orders"
    target_db = "there"
    source_url = "http://a/orders"
    field_mapping = [("id", "id", "bigint PRIMARY KEY"), ("day", "dataid", "text")]
"""
DATABASE = "postgresql://nowhere.example/x"


def place(folder: Path, attribute: str, url: str) -> None:
    """Check the target of a pipeline with that attribute."""
    (folder / "pipelines").mkdir(exist_ok=True)
    (folder / "pipelines" / "orders.py").write_text(f"{PIPELINE}    {attribute}\n")
    catalog = Catalog(str(folder), {})
    assert catalog.problems == []
    environ = {"DATAFLOW_CONN_THERE": url} if url else {}
    settings = PipelineSettings(str(folder), environ, lambda: "")
    found = find_misplaced(catalog.definitions.values(), settings)
    assert not found or found.startswith("pipelines/orders.py:2: OrdersDatasetPipeline")
    if url:
        refuse_misplaced(catalog.definitions.values(), settings)


@pytest.mark.parametrize(
    "attribute",
    ['write = "append"', 'write = "merge"', 'write = "swap"', 'indexes = ["id"]', 'partition_column = "day"'],
)
def test_table_attributes_are_refused_in_a_lake(tmp_path: Path, attribute: str) -> None:
    name = attribute.partition(" ")[0]
    told = f"Pipeline.{name} applies only to a database table, but orders goes to there, a lake"
    with pytest.raises(BadInput, match=told):
        place(tmp_path, attribute, "lake:elsewhere")
    place(tmp_path, attribute, DATABASE)
    place(tmp_path, attribute, "")  # an unknown connection is not checked


def test_a_comment_and_a_column_named_dataid_are_accepted_in_a_lake(tmp_path: Path) -> None:
    place(tmp_path, 'comment = "All orders"; mode = "partition"', "lake:elsewhere")


def test_a_column_named_like_the_partition_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="dataid is a column of field_mapping, but in mode partition DataFlow"):
        place(tmp_path, 'mode = "partition"', DATABASE)
    place(tmp_path, 'mode = "partition"; partition_column = "loaded_for"', DATABASE)
    place(tmp_path, 'mode = "snapshot"', DATABASE)


def test_registering_a_pipeline_again_keeps_the_limits_that_were_set_on_its_dataset(
    tmp_path: Path, sqlite_url: str
) -> None:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "orders.py").write_text(PIPELINE)
    definitions = Catalog(str(tmp_path), {}).definitions.values()
    settings = PipelineSettings(str(tmp_path), {"DATAFLOW_CONN_THERE": "lake:elsewhere"}, lambda: "")
    store = open_store(sqlite_url, "test@test")
    register_pipelines(store, definitions, settings)
    limits: dict[str, Any] = {"fresh_within_seconds": 3600.0, "due_by": "06:00"}
    add_dataset(store, Dataset("orders", **limits), limits)
    changes = register_pipelines(store, definitions, settings)
    assert {change.what for change in changes} == {"unchanged"}
    found = store.find_dataset("orders")
    assert found is not None
    assert (found[1].fresh_within_seconds, found[1].due_by) == (3600.0, "06:00")
    store.close()
