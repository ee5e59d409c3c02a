"""Files of the first Data Flow in pipelines/: they work, or are reported with line and replacement."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dataflow.pipelines.declare.catalog import Catalog
from dataflow.pipelines.declare.definitions import DatasetDefinition, ViewDefinition
from tests.pipelines.workshop import Workshop
from tests.project import Project

DATASETS = """\
from datetime import datetime

from dataflow import constants


class OrdersDatasetPipeline:
    table_name = 'orders_dataset'
    source_url = '{0}/v4/dataset/orders'.format(constants.HUB_URL)
    start_date = datetime(2019, 11, 5)
    field_mapping = [
        ('id', 'id', 'uuid primary key'),
        ('company_id', 'company_id', 'uuid'),
        ('country__code', 'country_code', 'character(2)'),
        ('placed_on', 'placed_on', 'timestamp with time zone'),
    ]


class CompaniesDatasetPipeline:
    table_name = 'companies_dataset'
    source_url = '{0}/v4/dataset/companies'.format(constants.HUB_URL)
    field_mapping = [('id', 'id', 'uuid primary key'), ('name', 'name', 'character varying(255)')]
"""
VIEWS = """\
from datetime import datetime

from dataflow.meta.dataset_pipelines import OrdersDatasetPipeline


class OrdersViewPipeline:
    view_name = 'orders'
    dataset_pipeline = OrdersDatasetPipeline
    start_date = datetime(2019, 11, 1)
    fields = '__all__'
    where_clause = "{{ table_name }}.placed_on < '{{ ds }}'"
    schedule_interval = '@monthly'
"""
HUB = {"HUB_URL": "https://hub.example"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "dataflow.toml").touch()
    return tmp_path


def load(folder: Path, **files: str) -> Catalog:
    for name, text in files.items():
        (folder / "pipelines" / f"{name}.py").write_text(text)
    return Catalog(str(folder), HUB)


def list_notes(folder: Path, **env: str) -> dict[str, str]:
    rows = Project(folder, folder).json("dataflow", "pipeline", "list", env=HUB | env)
    return {row["pipeline"]: row["note"] for row in rows}


def test_files_from_the_meta_folder_load_unchanged(folder: Path) -> None:
    catalog = load(folder, dataset_pipelines=DATASETS, view_pipelines=VIEWS)
    assert catalog.problems == []
    orders, view = catalog.get("OrdersDatasetPipeline"), catalog.get("OrdersViewPipeline")
    assert isinstance(orders, DatasetDefinition)
    assert isinstance(view, ViewDefinition)
    assert orders.source.url == "https://hub.example/v4/dataset/orders"  # type: ignore[union-attr]
    assert view.reads == ("orders_dataset",)


@pytest.mark.parametrize(
    ("imported", "used"),
    [
        ("from dataflow import constants as own", "own.HUB_URL"),
        ("from dataflow.constants import HUB_URL", "HUB_URL"),
        ("from dataflow import config", "config.HUB_URL"),
        ("from dataflow.config import HUB_URL as hub", "hub"),
        ("from dataflow import job, config", "config.HUB_URL if job else ''"),
    ],
)
@pytest.mark.parametrize("file", ["constants.py", "config.py", ""])
def test_constants_can_be_imported_in_every_way_of_the_first_data_flow(
    folder: Path, imported: str, used: str, file: str
) -> None:
    if file:
        (folder / file).write_text("HUB_URL = 'https://own.example'\n")
    text = DATASETS.replace("from dataflow import constants", imported).replace("constants.HUB_URL", used)
    definition = load(folder, datasets=text).get("OrdersDatasetPipeline")
    url = definition.source.url  # type: ignore[union-attr]
    reads = file == "constants.py" or (file == "config.py" and "config" in imported)
    assert url.startswith("https://own.example/" if reads else "https://hub.example/")


def test_a_config_file_that_no_pipeline_imports_is_not_run(folder: Path) -> None:
    (folder / "config.py").write_text("raise SystemExit('not mine')\n")
    assert load(folder, datasets=DATASETS).problems == []


def test_a_broken_config_file_is_reported_with_its_line(folder: Path) -> None:
    (folder / "config.py").write_text("A = 1\nB = 1 / 0\n")
    catalog = load(folder, datasets=DATASETS.replace("constants", "config"))
    assert catalog.problems[0].startswith("config.py:2: ")
    assert "config has no HUB_URL. Add it to config.py" in catalog.problems[1]


def test_a_url_with_a_constant_that_is_none_is_reported(folder: Path) -> None:
    (folder / "constants.py").write_text("import os\nHUB_URL = os.environ.get('NO_SUCH_VARIABLE')\n")
    problem = load(folder, datasets=DATASETS).problems[0]
    assert problem.startswith(
        'pipelines/datasets.py:6: OrdersDatasetPipeline.source_url is "None/v4/dataset/'
    )
    assert "a constant in it is None. Set its variable." in problem


@pytest.mark.parametrize(
    "imported",
    [
        "from .dataset_pipelines import OrdersDatasetPipeline",
        "from pipelines.dataset_pipelines import OrdersDatasetPipeline",
        "from dataflow.dags.dataset_pipelines import *",
        "from dataflow.meta.dataset_pipelines import OrdersDatasetPipeline as O\nOrdersDatasetPipeline = O",
    ],
)
def test_a_pipeline_can_be_imported_from_the_file_that_defines_it(folder: Path, imported: str) -> None:
    views = VIEWS.replace("from dataflow.meta.dataset_pipelines import OrdersDatasetPipeline", imported)
    catalog = load(folder, a_views=views, dataset_pipelines=DATASETS)
    assert catalog.problems == []
    assert list(catalog.definitions)[-1] == "OrdersViewPipeline"


def test_an_import_of_an_undefined_pipeline_is_reported_with_its_line(folder: Path) -> None:
    problem = load(folder, views=VIEWS).problems[0]
    assert problem.startswith("pipelines/views.py:3: OrdersDatasetPipeline is not defined here")


DAGS = """\
from datetime import datetime, timedelta

from airflow import DAG
from dataflow.operators.dataset import run_fetch
from dataflow.meta import view_pipelines


class BaseDatasetPipeline:
    start_date = datetime(2019, 11, 5)

    @classmethod
    def get_dag(pipeline):
        return DAG(pipeline.__name__, start_date=pipeline.start_date)


class OrdersDatasetPipeline(BaseDatasetPipeline):
    table_name = 'orders_dataset'
    fetch = run_fetch
    field_mapping = [('id', 'id', 'uuid')]


with DAG('all') as everything:
    run_fetch()


for pipeline in BaseDatasetPipeline.__subclasses__():
    globals()[pipeline.__name__ + '__dag'] = pipeline.get_dag()
"""


def test_all_airflow_code_is_reported_at_once_with_line_and_replacement(folder: Path) -> None:
    catalog = load(folder, dags=DAGS)
    assert catalog.definitions == {}
    told = [problem.removeprefix("pipelines/dags.py:") for problem in catalog.problems]
    assert told == [
        "3: remove `from airflow import DAG`: DataFlow schedules and runs pipelines without Airflow. "
        "To convert a whole project: dataflow pipeline import PATH",
        "4: remove `from dataflow.operators.dataset import run_fetch`: dataflow.operators.dataset is part of "
        "the first Data Flow only.",
        "5: remove `from dataflow.meta import view_pipelines`: DataFlow finds pipelines by the names of "
        "their classes.",
        "11: remove get_dag of BaseDatasetPipeline: DataFlow does not build DAGs. A pipeline's schedule is "
        "in schedule_interval, start_date, end_date and catchup, its retries in retries and "
        "retry_delay_seconds.",
        "18: remove fetch of OrdersDatasetPipeline: it uses run_fetch from dataflow.operators.dataset, which "
        "DataFlow does not have.",
        "22: remove this statement: it uses DAG from airflow, which DataFlow does not have.",
        "26: remove this loop: DataFlow finds pipelines by the names of their classes.",
    ]


def test_only_airflow_names_must_be_removed_from_a_mixed_import(folder: Path) -> None:
    (problem,) = load(folder, dags="import os, airflow\n").problems
    assert problem.startswith("pipelines/dags.py:1: remove airflow from `import os, airflow`: ")


def test_a_loop_may_add_the_classes_it_creates_to_globals(folder: Path) -> None:
    loop = (
        "for name in ('A', 'B'):\n    globals()[name + 'DatasetPipeline'] = type(name + 'DatasetPipeline', "
        "(), {'table_name': name.lower(), 'source_url': 'http://a', 'field_mapping': [('id', 'text')]})\n"
    )
    catalog = load(folder, many=loop)
    assert catalog.problems == []
    assert list(catalog.definitions) == ["ADatasetPipeline", "BDatasetPipeline"]


BASES = """\
class BaseDatasetPipeline:
    source_url = 'https://hub.example'
    retries = 2


class _OtherDatasetPipeline(BaseDatasetPipeline):
    retries = 3
"""


def test_a_base_without_a_mapping_is_not_a_pipeline_and_may_be_in_another_file(folder: Path) -> None:
    text = "class AllDatasetPipeline({}):\n    table_name = 'every'\n    field_mapping = [('id', 'text')]\n"
    first = text.format("BaseDatasetPipeline")
    second = text.format("_OtherDatasetPipeline").replace("All", "More").replace("every", "more")
    catalog = load(folder, a=first, b=second, z_bases=BASES)
    assert catalog.problems == []
    retries = {name: one.timing.retries for name, one in catalog.definitions.items()}
    assert retries == {"AllDatasetPipeline": 2, "MoreDatasetPipeline": 3}


def test_a_pipeline_without_a_mapping_or_subclasses_is_reported(folder: Path) -> None:
    (problem,) = load(folder, bases=BASES.split("\n\n\n", maxsplit=1)[0]).problems
    assert problem == (
        "pipelines/bases.py:1: BaseDatasetPipeline.field_mapping is missing. Add it, or call the class "
        "_BaseDatasetPipeline if it is a base of others."
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "class Orders:\n    table_name = 'x'\n    field_mapping = [('id', 'text')]\n",
            "OrdersDatasetPipeline",
        ),
        ("class Orders:\n    view_name = 'x'\n", "OrdersViewPipeline"),
        ("class Orders(_ViewPipeline):\n    pass\n", "OrdersViewPipeline"),
        ("class OrdersDatasetpipeline:\n    source_url = 'x'\n", "OrdersDatasetpipelineDatasetPipeline"),
    ],
)
def test_a_class_that_looks_like_a_pipeline_is_reported_with_the_name_it_needs(
    folder: Path, text: str, name: str
) -> None:
    catalog = load(folder, orders=f"class _ViewPipeline:\n    pass\n\n{text}")
    given = re.split(r"\W+", text)[1]
    assert catalog.problems == [
        f"pipelines/orders.py:4: {given} looks like a pipeline but is not named as one. Rename it {name} to "
        f"run it, or _{given} if it is not one."
    ]
    private = load(folder, orders=f"class _ViewPipeline:\n    pass\n\n{text.replace('class ', 'class _', 1)}")
    assert private.problems == []


def test_a_base_class_of_pipelines_may_have_any_name(folder: Path) -> None:
    mixin = "class Common:\n    source_url = 'https://hub.example'\n\n"
    text = DATASETS.replace(
        "class CompaniesDatasetPipeline:", f"{mixin}class CompaniesDatasetPipeline(Common):"
    )
    assert load(folder, datasets=text).problems == []


def test_pipelines_in_a_folder_that_is_not_loaded_are_reported(folder: Path) -> None:
    (folder / "pipelines" / "meta").mkdir()
    (folder / "pipelines" / "meta" / "dataset_pipelines.py").write_text(DATASETS)
    (folder / "pipelines" / "meta" / "notes.py").write_text("class Notes:\n    pass\n")
    assert load(folder).problems == [
        "pipelines/meta/dataset_pipelines.py:1: OrdersDatasetPipeline is not loaded: only files directly in "
        "pipelines/ are. Move this file there."
    ]


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ("('country__code' 'country_code', 'text'),", "between 'country__code' and 'country_code'"),
        (
            "('country__code',\n         'country_code'  # the code\n         'text'),",
            "'country_code' and 'text'",
        ),
        ("(r'country__code' 'country_code' 'text'),", "between r'country__code' and 'country_code'"),
    ],
)
def test_two_strings_without_a_comma_are_reported_with_their_line(folder: Path, item: str, told: str) -> None:
    text = DATASETS.replace("('country__code', 'country_code', 'character(2)'),", item)
    line = 14 if "#" in item else 13
    (problem,) = load(folder, datasets=text).problems
    assert problem.startswith(f"pipelines/datasets.py:{line}: a comma is missing")
    assert told in problem


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ("[('id' 'Id'), ('company_id', 'Company')]", 10),
        ("[\n        ('id', 'Id'),\n        ('company_id'\n         'Company'),\n    ]", 12),
        ("['id' 'company_id']", 10),
    ],
)
def test_a_field_joined_with_its_alias_is_reported(folder: Path, fields: str, line: int) -> None:
    views = VIEWS.replace("'__all__'", fields)
    (problem,) = load(folder, dataset_pipelines=DATASETS, views=views).problems
    assert problem.startswith(f"pipelines/views.py:{line}: a comma is missing between ")


def test_a_long_expression_may_be_written_as_several_strings(folder: Path) -> None:
    views = VIEWS.replace("'__all__'", "[('case when id is null then 0 '\n 'else 1 end', 'Known')]")
    assert load(folder, dataset_pipelines=DATASETS, views=views).problems == []


@pytest.mark.parametrize(
    ("old", "new", "advice"),
    [
        ("view_name = 'orders'", "table_name = 'orders'", "A view is named by view_name: rename it."),
        (
            "dataset_pipeline = OrdersDatasetPipeline",
            "table_name = 'orders_dataset'",
            "Name what the view reads: dataset_pipeline = 'orders_dataset'.",
        ),
        (
            "fields = '__all__'",
            "table_name = 'orders_dataset'",
            "A view reads the table of its dataset_pipeline: remove it.",
        ),
    ],
)
def test_a_view_with_a_table_name_is_reported_with_its_replacement(
    folder: Path, old: str, new: str, advice: str
) -> None:
    catalog = load(folder, dataset_pipelines=DATASETS, views=VIEWS.replace(old, new))
    assert catalog.problems == [
        f"pipelines/views.py:6: OrdersViewPipeline.table_name is not an attribute of a pipeline. {advice}"
    ]


def test_the_list_notes_every_joined_dataset_that_a_view_does_not_name_and_the_fix(
    folder: Path,
) -> None:
    join = "'join companies_dataset on company_id = companies_dataset.id join teams on true'"
    load(
        folder,
        dataset_pipelines=DATASETS,
        views=VIEWS.replace("where_clause", f"join_clause = {join}\n    where_clause"),
    )
    assert list_notes(folder)["OrdersViewPipeline"] == (
        'can never run: pipelines/views.py:6: OrdersViewPipeline reads "companies_dataset" and "teams", '
        "which dataset_pipeline does not list. List everything it reads, by dataset or class: "
        'dataset_pipeline = ["orders_dataset", "companies_dataset", "teams"]'
    )


def test_the_list_notes_a_view_that_spark_refuses_whatever_the_lake_is_named(folder: Path) -> None:
    datasets = DATASETS.replace(
        "    table_name = 'orders_dataset'", "    table_name = 'orders_dataset'; target_db = 'archive'"
    )
    views = VIEWS.replace("'__all__'", "[('no_such_column', 'Gone')]")
    load(folder, dataset_pipelines=datasets, views=views)
    assert list_notes(folder)["OrdersViewPipeline"] == ""  # the connection may be set elsewhere
    (folder / "dataflow.toml").write_text('[connection.archive]\nurl = "lake:/srv/archive"\n')
    assert 'unknown column "no_such_column"' in list_notes(folder)["OrdersViewPipeline"]
    (folder / "dataflow.toml").touch()
    database = {"DATAFLOW_CONN_ARCHIVE": "postgresql://etl@nowhere.example/x"}
    assert list_notes(folder, **database)["OrdersViewPipeline"] == ""  # a table may have more columns


def test_a_column_of_an_unsupported_type_is_noted_only_for_views_that_read_it(folder: Path) -> None:
    views = VIEWS.replace("'__all__'", "[('id', 'Id')]")
    load(folder, dataset_pipelines=DATASETS, views=views)
    assert list_notes(folder)["OrdersViewPipeline"] == ""


def test_all_fields_means_those_of_the_first_dataset_only(workshop: Workshop) -> None:
    (workshop.path / "orders.jsonl").write_text('{"id": 1, "company": 7}\n')
    (workshop.path / "companies.jsonl").write_text('{"id": 7, "name": "Acme"}\n')
    workshop.write(
        "orders.py",
        """
        from dataflow.pipelines.declare.sources import files

        class OrdersDatasetPipeline:
            table_name = "orders"
            source = files("orders.jsonl")
            field_mapping = [("id", "bigint"), ("company", "bigint")]

        class CompaniesDatasetPipeline:
            table_name = "companies"
            source = files("companies.jsonl")
            field_mapping = [("id", "bigint"), ("name", "text")]

        class AcmeViewPipeline:
            view_name = "acme"
            dataset_pipeline = [OrdersDatasetPipeline, CompaniesDatasetPipeline]
            fields = "__all__"
            join_clause = "join companies on companies.id = {{ table_name }}.company"
            where_clause = "companies.name = 'Acme' and '{{ view_name }}' = 'acme'"
            start_date = datetime(2026, 9, 1)
            end_date = datetime(2026, 9, 1)
            schedule_interval = "@monthly"
            catchup = True
        """,
    )
    for name in ("OrdersDatasetPipeline", "CompaniesDatasetPipeline"):
        workshop.run(name, "2026-11-14")
    assert workshop.run("AcmeViewPipeline").done == 1, workshop.said
    assert workshop.rows("acme", "2026-09") == [{"id": 1, "company": 7}]
