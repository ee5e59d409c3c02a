"""Rare imports, names and files of the first Data Flow: none is ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.pipelines.declare.catalog import Catalog
from dataflow.pipelines.declare.definitions import ViewDefinition
from tests.project import Project

ORDERS = """\
class OrdersDatasetPipeline:
    table_name = 'orders_dataset'
    source_url = {}
    field_mapping = [('id', 'id', 'uuid primary key')]
"""
PLAIN = ORDERS.format("'https://hub.example'")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "dataflow.toml").touch()
    return tmp_path


def load(folder: Path, files: dict[str, str]) -> Catalog:
    for name, text in files.items():
        path = folder / "pipelines" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Catalog(str(folder), {"HUB_URL": "https://hub.example"})


@pytest.mark.parametrize(
    ("imported", "used"),
    [
        ("import dataflow.constants as own", "own.HUB_URL"),
        ("import os, dataflow.constants as own", "os.fspath(own.HUB_URL)"),
        ("import dataflow.constants", "dataflow.constants.HUB_URL"),
        ("import dataflow.config", "dataflow.config.HUB_URL"),
        ("import dataflow.config, dataflow", "dataflow.config.HUB_URL if dataflow.job else ''"),
        ("from dataflow.constants import *", "HUB_URL"),
        ("from dataflow.config import *\nOWN = 1", "HUB_URL if OWN else ''"),
        ("from dataflow import *", "constants.HUB_URL"),
        ("from dataflow import *", "config.HUB_URL"),
    ],
)
def test_constants_may_be_imported_whole(folder: Path, imported: str, used: str) -> None:
    catalog = load(folder, {"orders.py": f"{imported}\n{ORDERS.format(used)}"})
    assert catalog.problems == []
    definition = catalog.get("OrdersDatasetPipeline")
    assert definition.source.url == "https://hub.example"  # type: ignore[union-attr]


def test_a_constant_may_have_a_lower_case_name(folder: Path) -> None:
    (folder / "config.py").write_text("hub_url = 'https://own.example'\n")
    catalog = load(folder, {"orders.py": f"from dataflow.config import hub_url\n{ORDERS.format('hub_url')}"})
    assert catalog.problems == []


def test_an_undefined_constant_of_a_star_import_is_reported(folder: Path) -> None:
    text = f"from dataflow.constants import *\n{ORDERS.format('NO_SUCH')}"
    (problem,) = load(folder, {"orders.py": text}).problems
    assert problem.startswith("pipelines/orders.py:1: AttributeError: constants has no NO_SUCH. Add it to ")


@pytest.mark.parametrize(
    "imported", ["from dataflow.meta import data as d", "import dataflow.meta.data as d"]
)
def test_a_pipeline_named_through_its_module_is_reported_with_its_replacement(
    folder: Path, imported: str
) -> None:
    view = "class AllViewPipeline:\n    view_name = 'every'\n    dataset_pipeline = d.OrdersDatasetPipeline\n"
    told = load(folder, {"data.py": PLAIN, "views.py": f"{imported}\n\n{view}"}).problems
    why = "DataFlow finds pipelines by the names of their classes."
    assert told == [
        f"pipelines/views.py:1: remove `{imported}`: {why}",
        f"pipelines/views.py:5: write OrdersDatasetPipeline instead of d.OrdersDatasetPipeline: {why}",
    ]


@pytest.mark.parametrize("imported", ["from dataflow.meta.shared import {}", "from .shared import {}"])
@pytest.mark.parametrize("name", ["MAPPING, Common", "*"])
def test_other_names_can_be_imported_from_another_pipeline_file(
    folder: Path, imported: str, name: str
) -> None:
    shared = "MAPPING = [('id', 'id', 'text')]\n\nclass Common:\n    retries = 3\n"
    text = PLAIN.replace("[('id', 'id', 'uuid primary key')]", "MAPPING").replace(
        "Pipeline:", "Pipeline(Common):"
    )
    catalog = load(folder, {"orders.py": f"{imported.format(name)}\n{text}", "shared.py": shared})
    assert catalog.problems == []
    assert catalog.get("OrdersDatasetPipeline").timing.retries == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "if True:\n    from airflow import DAG\n",
            "pipelines/orders.py:2: ModuleNotFoundError: No module named 'airflow'. Remove its import: "
            "DataFlow schedules and runs pipelines without Airflow. To convert a whole project: dataflow "
            "pipeline import PATH",
        ),
        (
            "if True:\n    import dataflow.operators\n",
            "pipelines/orders.py:2: ModuleNotFoundError: No module named 'dataflow.operators'. Remove its "
            "import: dataflow.operators is part of the first Data Flow only.",
        ),
        (
            f"{PLAIN}    get_dag = None\n",
            "pipelines/orders.py:1: OrdersDatasetPipeline.get_dag is not an attribute of a pipeline. "
            "Remove it: DataFlow does not build DAGs.",
        ),
        (
            f"{PLAIN}    default_args = {{'retries': 3}}\n",
            "pipelines/orders.py:1: OrdersDatasetPipeline.default_args is not an attribute of a pipeline. "
            "Write retries = 3 and retry_delay_seconds = 300, with your own numbers.",
        ),
        (
            f"{PLAIN}{PLAIN}",
            "pipelines/orders.py:5: OrdersDatasetPipeline is already defined at pipelines/orders.py:1. "
            "Rename one.",
        ),
        (
            "class Orders:\n    query = 'select 1'\n    schedule_interval = '@daily'\n",
            "pipelines/orders.py:1: Orders looks like a pipeline but is not named as one. Rename it "
            "OrdersViewPipeline to run it, or _Orders if it is not one.",
        ),
        (
            "class Orders:\n    fields = []\n    where_clause = 'true'\n",
            "pipelines/orders.py:1: Orders looks like a pipeline but is not named as one. Rename it "
            "OrdersViewPipeline to run it, or _Orders if it is not one.",
        ),
    ],
)
def test_required_changes_are_reported_with_line_and_replacement(folder: Path, text: str, told: str) -> None:
    assert load(folder, {"orders.py": text}).problems == [told]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("meta/sub/orders.py", "only files directly in pipelines/ are. Move this file there."),
        ("__init__.py", "__init__.py is never loaded. Rename this file."),
        ("meta/__init__.py", "__init__.py is never loaded. Rename this file."),
    ],
)
def test_pipelines_in_a_file_that_is_not_loaded_are_reported(folder: Path, name: str, reason: str) -> None:
    told = f"pipelines/{name}:1: OrdersDatasetPipeline is not loaded: {reason}"
    assert load(folder, {name: PLAIN}).problems == [told]


def test_a_list_containing_all_fields_is_reported_with_its_replacement(folder: Path) -> None:
    view = "class AllViewPipeline:\n    view_name = 'every'\n    dataset_pipeline = OrdersDatasetPipeline\n"
    load(folder, {"data.py": PLAIN, "views.py": f"{view}    fields = ['__all__']\n"})
    rows = Project(folder, folder).json("dataflow", "pipeline", "list")
    assert "AllViewPipeline.fields: must be '__all__' or a list of" in rows[1]["note"]


def test_a_folder_of_the_first_data_flow_is_reported_with_the_import_command(folder: Path) -> None:
    (folder / "dataflow" / "meta").mkdir(parents=True)
    said = Project(folder, folder).run("dataflow", "pipeline", "list").stderr
    assert said.endswith("To convert dataflow/: dataflow pipeline import .\n")


def test_a_view_knows_the_class_of_a_renamed_import(folder: Path) -> None:
    view = "class AllViewPipeline:\n    view_name = 'every'\n    dataset_pipeline = O\n"
    text = f"from dataflow.meta.data import OrdersDatasetPipeline as O\n{view}"
    definition = load(folder, {"data.py": PLAIN, "a_views.py": text}).get("AllViewPipeline")
    assert isinstance(definition, ViewDefinition)
    assert definition.reads == ("orders_dataset",)
