"""`dataflow pipeline import`: a project of the first Data Flow becomes one that loads."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.pipelines.old_projects import DAGS, DATASETS, META, write_old_project
from tests.project import Project

HUB = {"HUB_URL": "https://hub.example"}
LEFT = 78


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "new").mkdir()
    return Project(tmp_path / "new", tmp_path)


def bring_in(project: Project, files: dict[str, str], code: int = LEFT) -> dict[str, Any]:
    """Imports an old project and returns the report."""
    old = write_old_project(project.home / "old", files)
    done = project.run("dataflow", "pipeline", "import", str(old), "--json", check=False)
    assert done.returncode == code, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def list_pipelines(project: Project, env: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """The pipelines of the new project; fails if one of its files cannot be loaded."""
    rows = project.json("dataflow", "pipeline", "list", env=HUB if env is None else env)
    return {row["pipeline"]: row for row in rows}


def told(report: dict[str, Any], kind: str) -> list[str]:
    changes = [one for one in report["changes"] if one["kind"] == kind]
    return [f"{one['place'].removeprefix('dataflow/')}: {one['what']}: {one['why']}" for one in changes]


def read_all(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_project_with_classes_in_meta_is_imported_and_loads(project: Project) -> None:
    report = bring_in(project, META)
    assert [file["path"] for file in report["files"]] == [
        "constants.py",
        "pipelines/dataset_pipelines.py",
        "pipelines/view_pipelines.py",
        "dataflow.toml",
    ]
    rows = list_pipelines(project)
    assert list(rows) == [
        "OrdersDatasetPipeline",
        "CompaniesDatasetPipeline",
        "CompletedOrdersViewPipeline",
        "AllOrdersViewPipeline",
    ]
    assert not [row["note"] for row in rows.values() if row["note"].startswith("can never run")]
    shown = project.json("dataflow", "pipeline", "show", "CompletedOrdersViewPipeline", env=HUB)
    assert shown["reads"] == ["orders_dataset", "companies_dataset"]
    assert shown["fields"][1] == ["companies_dataset.name", "Company"]
    assert (shown["schedule"]["retries"], shown["schedule"]["retry_delay_seconds"]) == (1, 300)
    assert shown["params"] == {"first_day": "04-06"}
    assert shown["target"]["url"] == "postgresql://etl@dbhost:5432/datasets"
    mapping = project.json("dataflow", "pipeline", "show", "OrdersDatasetPipeline", env=HUB)["mapping"]
    assert [row["column"] for row in mapping] == [
        "order_reference",
        "company_name",
        "completion_date",
        "company_id",
        "subtotal",
    ]


def test_every_change_is_reported_with_file_line_and_reason(project: Project) -> None:
    report = bring_in(project, META)
    assert told(report, "changed") == [
        "constants.py:4: removed HUB_URL: constants missing from this file are read from the environment: "
        "export HUB_URL=…",
        "meta/dataset_pipelines.py:14: wrote 1 instead of 01: Python 3 does not accept leading zeros",
        "meta/dataset_pipelines.py:25: added the missing comma between two items: "
        "Python treats them as a call",
        "meta/dataset_pipelines.py:31: added the missing comma after 'company_id': Python joins "
        "adjacent strings",
        "meta/dataset_pipelines.py:43: renamed class Events to _Events: the first Data Flow did not run it. "
        "To run it, rename it EventsDatasetPipeline",
        "meta/view_pipelines.py:4: removed `from dataflow.meta.dataset_pipelines import ( "
        "FeedDatasetPipeline, OrdersData…`: pipelines of other files are known by their names",
        "meta/view_pipelines.py:11: added retries = 1; retry_delay_seconds = 300 to "
        "CompletedOrdersViewPipeline: the DAGs of dataflow/dags/view_pipelines.py:7 have this",
        "meta/view_pipelines.py:12: added CompaniesDatasetPipeline to dataset_pipeline of "
        "CompletedOrdersViewPipeline: a view must name everything it reads, so that it waits for it",
        "meta/view_pipelines.py:17: added the missing comma after 'companies_dataset.name': "
        "Python joins adjacent strings",
        "meta/view_pipelines.py:29: renamed table_name of AllOrdersViewPipeline to view_name: "
        "a view is named by view_name",
        "sample.env:2: wrote connection datasets_db to dataflow.toml: AIRFLOW_CONN_DATASETS_DB takes "
        "precedence",
    ]
    assert told(report, "left") == [
        "dags/canary.py:1: not imported: its DAG does not belong to a pipeline: declare a job for it",
        "meta/dataset_pipelines.py:49: left out class FeedDatasetPipeline: it has no field_mapping and no "
        "source_url",
        "meta/view_pipelines.py:33: left out colour of AllOrdersViewPipeline: DataFlow's pipelines "
        "have no such attribute",
        "meta/view_pipelines.py:36: left out class FeedViewPipeline: it reads FeedDatasetPipeline, which is "
        "left out",
        "sample.env:2: password of connection datasets_db: passwords are not copied: run dataflow secret "
        "encrypt --connection datasets_db, or set AIRFLOW_CONN_DATASETS_DB=postgresql://user:password@host/"
        "database",
    ]
    assert "utils.py:1: not imported: it defines no pipeline" in told(report, "note")
    assert "hunter2" not in json.dumps(report)
    assert "hunter2" not in "".join(read_all(project.path).values())


def test_unchanged_code_keeps_its_formatting(project: Project) -> None:
    bring_in(project, META)
    made = (project.path / "pipelines" / "dataset_pipelines.py").read_text()
    expected = DATASETS.replace("12, 01)", "12, 1)").replace(
        "'company_id' 'company_id'", "'company_id', 'company_id'"
    )
    expected = expected.replace("        )\n        (\n", "        ),\n        (\n").replace(
        "class Events", "class _Events"
    )
    expected = expected.partition("\n\n\nclass Feed")[0] + "\n"
    assert made == expected


def test_a_project_with_its_own_dags_is_imported_and_loads(project: Project) -> None:
    report = bring_in(project, DAGS)
    rows = list_pipelines(project)
    assert list(rows) == ["OrdersDatasetPipeline", "CompaniesDatasetPipeline", "OrdersViewPipeline"]
    reached = HUB | {"AIRFLOW_CONN_DATASETS_DB": "postgresql://etl@dbhost/datasets"}
    shown = project.json("dataflow", "pipeline", "show", "CompaniesDatasetPipeline", env=reached)
    assert (shown["schedule"]["retries"], shown["schedule"]["retry_delay_seconds"]) == (2, 90)
    assert shown["source"]["url"] == "https://hub.example/v4/dataset/companies"
    view = project.json("dataflow", "pipeline", "show", "OrdersViewPipeline", env=reached)
    assert view["reads"] == ["orders_dataset", "companies_dataset"]
    text = "".join(read_all(project.path).values())
    assert "airflow" not in text
    assert "get_dag" not in text
    assert told(report, "left") == [
        "dags/dataset_pipelines.py:42: left out class LettersDatasetPipeline: it has no field_mapping",
        "dataflow.toml: connection datasets_db: no file of the project has its URL: set "
        "AIRFLOW_CONN_DATASETS_DB=postgresql://user:password@host/database",
    ]


def test_a_second_import_changes_nothing(project: Project) -> None:
    bring_in(project, META)
    before = read_all(project.path)
    report = bring_in(project, META)
    assert [file["written"] for file in report["files"]] == [False] * 3
    assert read_all(project.path) == before


def test_nothing_is_written_if_a_file_exists_with_other_content(
    project: Project,
) -> None:
    old = write_old_project(project.home / "old", META)
    (project.path / "pipelines").mkdir()
    mine = project.path / "pipelines" / "view_pipelines.py"
    mine.write_text("# mine\n")
    done = project.run("dataflow", "pipeline", "import", str(old), check=False)
    assert done.returncode == 75
    assert f"{mine} exists and differs from the conversion of dataflow/meta/view_pip" in done.stderr
    assert read_all(project.path) == {"pipelines/view_pipelines.py": "# mine\n"}


@pytest.mark.parametrize("package", ["dataflow/", ""])
def test_a_project_can_be_imported_into_its_own_folder_twice(project: Project, package: str) -> None:
    files = {name.replace("dataflow/", package): text for name, text in META.items()}
    files.pop("constants.py", None)
    env = HUB | {"FINANCIAL_YEAR_FIRST_MONTH_DAY": "04-06"}
    write_old_project(project.path, files)
    for _ in range(2):
        # Without -P Python would import the folder's own dataflow/ instead of ours.
        command = (sys.executable, "-P", "-m", "dataflow.cli.main", "pipeline")
        done = project.run(*command, "import", ".", check=False)
        assert done.returncode == LEFT, done.stderr
        assert "left: pipelines/" not in done.stdout  # its own files are not imported again
    assert "CompletedOrdersViewPipeline" in project.run(*command, "list", env=env).stdout


def test_existing_settings_are_kept_and_the_connection_to_add_is_reported(project: Project) -> None:
    (project.path / "dataflow.toml").write_text('environment = "dev"\n')
    report = bring_in(project, META)
    assert any(
        'add [connection.datasets_db] url = "postgresql://etl@dbhost:5432/datasets" to it' in line
        for line in told(report, "left")
    )
    assert (project.path / "dataflow.toml").read_text() == 'environment = "dev"\n'


def test_nothing_of_an_imported_project_is_run(project: Project) -> None:
    ran = project.home / "ran"
    trap = f"open({str(ran)!r}, 'w').close()\n"
    bring_in(project, {name: text + trap * name.endswith(".py") for name, text in META.items()})
    assert not ran.exists()
    assert list_pipelines(project)
    assert ran.exists()  # the trap works: the new project's files contain it and are run


def test_a_file_that_python_cannot_read_is_reported_with_its_line_and_the_others_are_imported(
    project: Project,
) -> None:
    report = bring_in(project, META | {"dataflow/meta/more.py": "x = 1\nclass (:\n"})
    assert "meta/more.py:2: not read: Python cannot read it: invalid syntax" in told(report, "left")
    assert "CompletedOrdersViewPipeline" in list_pipelines(project)


def test_two_files_with_the_same_name_become_two_files(project: Project) -> None:
    text = META["dataflow/meta/dataset_pipelines.py"].replace("Orders", "Other").replace("Companies", "Firms")
    text = text.replace("'orders_", "'other_").replace("'companies_", "'firms_")
    report = bring_in(project, META | {"dataflow/more/dataset_pipelines.py": text})
    assert {"OrdersDatasetPipeline", "OtherDatasetPipeline"} <= set(list_pipelines(project))
    twin = "left out class Events: another file has a class of this name; rename one of them"
    assert f"more/dataset_pipelines.py:43: {twin}" in told(report, "left")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nowhere", "does not exist. Give the project's folder."),
        ("sample.env", "is a file. Give the project's folder."),
        ("empty", "has no pipelines: no class is named …DatasetPipeline or …ViewPipeline."),
    ],
)
def test_a_path_without_pipelines_is_refused(project: Project, path: str, reason: str) -> None:
    write_old_project(project.home / "old", META)
    (project.home / "old" / "empty").mkdir()
    done = project.run("dataflow", "pipeline", "import", str(project.home / "old" / path), check=False)
    assert done.returncode == 65
    assert reason in done.stderr
    assert read_all(project.path) == {}


def test_the_report_can_be_printed_as_text(project: Project) -> None:
    old = write_old_project(project.home / "old", META)
    done = project.run("dataflow", "pipeline", "import", str(old), check=False)
    assert "written: pipelines/view_pipelines.py from dataflow/meta/view_pipelines.py" in done.stdout
    assert "changed: dataflow/meta/dataset_pipelines.py:14: wrote 1 instead of 01: " in done.stdout
    assert "5 left for you to do. Next: dataflow pipeline list" in done.stderr


ORDERS = """\
class OrdersDatasetPipeline:
    table_name = 'orders_dataset'
    source_url = 'https://hub.example'
    field_mapping = [('id', 'id', 'uuid primary key')]
"""
SHARED = """\
MAPPING = [('id', 'id', 'text')]


class Common:
    retries = 3


class BaseDatasetPipeline:
    source_url = 'https://hub.example'
"""


def test_files_that_pipelines_import_from_are_imported_too(project: Project) -> None:
    orders = """\
        from .shared import MAPPING, Common
        from dataflow.meta import bases

        class OrdersDatasetPipeline(Common, bases.BaseDatasetPipeline):
            table_name = 'orders_dataset'
            field_mapping = MAPPING
    """
    factory = "from airflow import DAG\n\nfor name in 'DatasetPipeline', 'ViewPipeline':\n    DAG(name)\n"
    files = {
        "dataflow/meta/orders.py": dedent(orders),
        "dataflow/meta/shared.py": SHARED.partition("\n\n\nclass Base")[0],
        "dataflow/meta/bases.py": "class Base" + SHARED.partition("class Base")[2],
        "dataflow/meta/notes.py": "NOTES = 1\n",
        "dataflow/dags/shared.py": factory,
    }
    report = bring_in(project, files, code=0)
    assert [file["path"] for file in report["files"]] == [
        "pipelines/bases.py",
        "pipelines/orders.py",
        "pipelines/shared.py",
        "dataflow.toml",
    ]
    assert told(report, "changed") == [
        "meta/orders.py:2: removed `from dataflow.meta import bases`: DataFlow finds pipelines by the names "
        "of their classes",
        "meta/orders.py:4: wrote BaseDatasetPipeline instead of bases.BaseDatasetPipeline: DataFlow finds "
        "pipelines by the names of their classes",
    ]
    assert list(list_pipelines(project)) == ["OrdersDatasetPipeline"]


def test_a_renamed_pipeline_is_also_renamed_in_references_through_its_module(project: Project) -> None:
    files = {
        "dataflow/meta/data.py": ORDERS.replace(
            "OrdersDatasetPipeline:", "Orders:\n    get_dag = classmethod(print)"
        )
        + ORDERS.replace("Orders", "Other").replace("'orders_", "'other_"),
        "dataflow/meta/views.py": "from dataflow.meta import data\n\nclass AllViewPipeline:\n"
        "    view_name = 'every'\n    dataset_pipeline = data.OtherDatasetPipeline\n"
        "    join_clause = 'JOIN orders_dataset ON true'\n",
    }
    bring_in(project, files)
    text = (project.path / "pipelines" / "views.py").read_text()
    assert "dataset_pipeline = [OtherDatasetPipeline, " in text


def test_classes_created_by_a_loop_are_imported(project: Project) -> None:
    loop = """\
        for name in ('A', 'B'):
            kind = name + 'DatasetPipeline'
            parts = {'table_name': name, 'source_url': 'https://hub.example'}
            parts['field_mapping'] = [('id', 'text')]
            globals()[kind] = type(kind, (), parts)
    """
    bring_in(project, {"dataflow/meta/many.py": dedent(loop)}, code=0)
    assert list(list_pipelines(project)) == ["ADatasetPipeline", "BDatasetPipeline"]


def test_a_file_is_reported_if_all_its_pipeline_names_are_taken(project: Project) -> None:
    files = {"dataflow/meta/a.py": ORDERS, "dataflow/meta/b.py": ORDERS}
    assert told(bring_in(project, files), "left") == [
        "meta/b.py:1: left out class OrdersDatasetPipeline: another file has a class of this name; rename "
        "one of them"
    ]


def test_the_last_of_two_pipelines_with_the_same_name_in_a_file_is_imported(
    project: Project,
) -> None:
    files = {"dataflow/meta/a.py": f"{ORDERS}\n\n{ORDERS.replace('orders_dataset', 'later')}"}
    assert told(bring_in(project, files), "left") == [
        "meta/a.py:1: left out class OrdersDatasetPipeline: this file has a class of this name; rename "
        "one of them"
    ]
    assert list_pipelines(project)["OrdersDatasetPipeline"]["dataset"] == "later"


def test_a_missing_comma_with_an_unclear_position_is_reported_and_not_added(project: Project) -> None:
    text = ORDERS.replace("('id', 'id', 'uuid primary key')", "('id', 'id', 'uuid'), ('a' 'text')")
    report = bring_in(project, {"dataflow/meta/a.py": text})
    assert told(report, "left") == [
        "meta/a.py:4: comma missing after 'a': Python joins adjacent strings; the item has 3 parts"
    ]
    assert told(report, "changed") == []


def test_a_file_of_unused_bases_is_listed(project: Project) -> None:
    files = {"dataflow/meta/a.py": ORDERS, "dataflow/meta/b.py": "class _Base:\n    table_name = 'x'\n"}
    report = bring_in(project, files, code=0)
    assert told(report, "note") == ["meta/b.py:1: not imported: no pipeline uses its classes"]


PLAIN = """
class PlainDatasetPipeline:
    table_name = "plain"
    source_url = "https://plain.example"
    target_db = {target!r}
    field_mapping = [("id", "id", "uuid primary key")]
"""


def write_plain(project: Project, path: str = "dataflow/dags/plain.py", target: str = "datasets_db") -> Path:
    """Writes an old project of one pipeline; returns the folder of its file."""
    file = project.home / "old" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PLAIN.format(target=target))
    return file.parent


def test_pipes_devices_and_links_out_of_the_project_are_not_read(project: Project) -> None:
    folder = write_plain(project)
    (project.home / "elsewhere.py").write_text(PLAIN.format(target="lake").replace("Plain", "Other"))
    os.mkfifo(folder / "a_pipe.py")
    (folder / "b_device.py").symlink_to("/dev/zero")
    (folder / "c_link.py").symlink_to(project.home / "elsewhere.py")
    (folder / "plain.py").rename(folder.parent / "text")
    (folder / "plain.py").symlink_to("../text")
    os.mkfifo(project.home / "old" / ".env")
    report = bring_in(project, {})
    assert [one["path"] for one in report["files"]] == ["pipelines/plain.py", "dataflow.toml"]
    assert told(report, "left")[:3] == [
        "dags/a_pipe.py:1: not read: it is not a file",
        "dags/b_device.py:1: not read: it is a link out of the project",
        "dags/c_link.py:1: not read: it is a link out of the project",
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"x = {'-' * 200_000}1",
        f"x = {'+'.join(['1'] * 100_000)}",
        f"x = [{','.join(['01'] * 20_000)}]",
        f"x = 1\n#{' ' * 10_000_000}",
    ],
    ids=["minus", "plus", "zeros", "size"],
)
def test_a_file_too_large_or_too_deep_to_read_is_left_out(project: Project, text: str) -> None:
    (write_plain(project) / "bomb.py").write_text(text)
    left = told(bring_in(project, {}), "left")
    assert [one for one in left if one.startswith("dags/bomb.py:1: not read: ")]


@pytest.mark.parametrize("path", ["__init__.py", "__.py", "dataflow/__init__.py", "dataflow/___.py"])
def test_a_file_without_a_usable_name_gets_one_that_is_loaded(project: Project, path: str) -> None:
    write_plain(project, path)
    bring_in(project, {})
    assert list(list_pipelines(project)) == ["PlainDatasetPipeline"]


def test_values_of_the_project_cannot_inject_settings(project: Project) -> None:
    name = 'a"]\n[job.x.environment]\nPATH = "/evil'
    write_plain(project, target=name)
    variable = "AIRFLOW_CONN_" + re.sub("[^A-Z0-9]", "_", name.upper())
    url = 'postgresql://etl:hunter2-hunter2@db/x"y?sslpassword=hunter3-hunter3&connect_timeout=5'
    (project.home / "old" / ".env").write_text(f"{variable}={url}")
    report = bring_in(project, {})
    written = (project.path / "dataflow.toml").read_text()
    assert tomllib.loads(written) == {
        "connection": {name: {"url": 'postgresql://etl@db/x"y?connect_timeout=5'}}
    }
    assert "hunter" not in written + json.dumps(report)
