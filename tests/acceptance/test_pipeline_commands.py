"""The pipeline commands as typed, on a project that `dataflow init --pipelines` wrote."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.acceptance.commands import Commands
from tests.project import Project

DATASET, VIEW = "OrdersDatasetPipeline", "MonthlyTotalsViewPipeline"
MONTHS = ["2024-01", "2024-02", "2024-03"]
SPARK_SECONDS = 110


@pytest.fixture
def example(project: Project) -> Project:
    project.run("dataflow", "init", "--pipelines")
    return project


def list_files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.full
@pytest.mark.skipif(not shutil.which("java"), reason="Spark needs Java")
def test_the_project_that_init_writes_runs_with_the_commands_it_prints(example: Project) -> None:
    example.run("dataflow", "run", DATASET, timeout=SPARK_SECONDS)
    example.run("dataflow", "run", VIEW, "--drain", timeout=SPARK_SECONDS)
    chunks = example.json("dataflow", "chunks", "monthly_totals")
    assert [(chunk["dataid"], chunk["status"]) for chunk in chunks] == [(month, "READY") for month in MONTHS]
    plan = example.json("dataflow", "pipeline", "plan", VIEW)
    assert [interval["state"] for interval in plan["intervals"]] == ["done"] * 3
    shown = example.run(
        "dataflow", "pipeline", "preview", VIEW, "--dataid", "2024-02", "--json", timeout=SPARK_SECONDS
    )
    assert json.loads(shown.stdout)["rows"] == [{"Company": "Acme", "Orders": 2, "Total": "10.30"}]


@pytest.mark.full
def test_an_interval_that_has_not_ended_is_run_with_a_warning(example: Project) -> None:
    (example.path / "data" / "orders.jsonl").unlink()  # it fails before it needs Spark for long
    done = example.run("dataflow", "run", DATASET, "--dataid", "2999-01-01", check=False)
    assert f"warning: interval 2999-01-01 of {DATASET} has not ended yet" in done.stderr
    done = example.run("dataflow", "run", DATASET, "--dataid", "2024-01-01", check=False)
    assert "has not ended" not in done.stderr


def test_init_prints_the_commands_and_keeps_the_lake_out_of_git(project: Project) -> None:
    told = project.run("dataflow", "init", "--pipelines", "new").stderr
    assert f"dataflow run {DATASET} && dataflow run {VIEW} --drain" in told
    for name in ("dataflow.toml", "pipelines/orders.py", "data/orders.jsonl", ".gitignore"):
        assert str(project.path / "new" / name) in told
    assert (project.path / "new" / ".gitignore").read_text() == ".dataflow/\nlake/\n"
    listed = project.run("dataflow", "pipeline", "list", env={"DATAFLOW_PROJECT": str(project.path / "new")})
    assert DATASET in listed.stdout


def test_showing_planning_and_previewing_leave_nothing_behind_not_even_a_store(example: Project) -> None:
    before = list_files(example.path)
    shown = example.run("dataflow", "pipeline", "show", DATASET).stdout
    assert "pipelines/orders.py:9" in shown
    assert "character varying(20) PRIMARY KEY" in shown
    plan = example.run("dataflow", "pipeline", "plan", VIEW).stdout
    assert "2024-01  waiting  waits for orders to cover 2024-01" in plan
    assert "-- spark_sql" in plan
    preview = example.run("dataflow", "pipeline", "preview", DATASET, "--rows", "2").stdout
    assert preview.splitlines()[0].split() == ["order_reference", "company_name", "subtotal", "completed_at"]
    assert len(preview.splitlines()) == 3
    assert list_files(example.path) == before


def test_a_preview_names_the_rows_that_do_not_fit(example: Project) -> None:
    with (example.path / "data" / "orders.jsonl").open("a") as file:
        file.write('{"reference": "A-7", "company": {"name": "Acme"}, "subtotal": "much"}\n')
    preview = example.run("dataflow", "pipeline", "preview", DATASET).stdout
    assert "reject: row 7 subtotal='much'" in preview


def test_the_clauses_of_a_view_are_shown_as_they_are_written(example: Project) -> None:
    shown = example.run("dataflow", "pipeline", "show", VIEW).stdout
    assert "-- query\nSELECT company_name AS" in shown
    assert "schedule=@monthly" in shown


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("pipeline show OrdersDatasetPipelin", 66, "OrdersDatasetPipeline"),
        ("pipeline plan OrdersDatasetPipeline --dataid soon", 65, "soon"),
        ("pipeline preview OrdersDatasetPipeline --rows 0", 64, 'must be a number of at least 1, got "0".'),
        ("pipeline preview MonthlyTotalsViewPipeline", 65, ". Next: dataflow run OrdersDatasetPipeline\n"),
    ],
)
def test_what_cannot_be_previewed_is_reported(example: Project, words: str, code: int, told: str) -> None:
    done = example.run("dataflow", *words.split(), check=False)
    assert done.returncode == code
    assert told in done.stderr


@pytest.mark.parametrize("words", ["why {}", "resubmit {} --failed", "hold {}"])
def test_a_pipeline_that_has_not_run_is_not_called_unknown(example: Project, words: str) -> None:
    example.run("dataflow", "job", "add", "OrdersDatasetPipelines", "--schedule", "none")
    done = example.run("dataflow", *words.format(DATASET).split(), check=False)
    assert (done.returncode, done.stderr) == (
        66,
        f"dataflow: {DATASET} is a pipeline that has not run yet; see: dataflow pipeline plan {DATASET}, "
        f"or: dataflow run {DATASET}\n",
    )
    done = example.run("dataflow", *words.format("OrdersDatasetPipelin").split(), check=False)
    assert 'No job "OrdersDatasetPipelin"' in done.stderr


@pytest.mark.parametrize("words", ["run --dry-run {}", "run {} --dry-run"])
def test_a_dry_run_of_a_pipeline_shows_its_plan_and_runs_nothing(example: Project, words: str) -> None:
    before = list_files(example.path)
    shown = example.run("dataflow", *words.format(VIEW).split()).stdout
    assert "2024-01  waiting  waits for orders to cover 2024-01" in shown
    assert list_files(example.path) == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("run -j 2 {}", "-j needs --drain"),
        ("run --lease 5m {}", "--lease is only for scripts"),
        ("run {} --grace 5s", "--grace is only for scripts"),
        ("run {} --kill-command true", "--kill-command is only for scripts"),
        ("run --clean-env {}", "--clean-env is only for scripts"),
        ("run {} --job other", "--job is only for scripts"),
        ("run {} --waiting-exit-code 300", "0 to 255"),
        ("run {} --drain --dataid 2024-01-01", "exclude each other"),
        ("run --drain {} --dry-run --dataid 2024-01-01", "exclude each other"),
        ("pipeline run {} --drain --dataid 2024-01-01", "exclude each other"),
    ],
)
def test_an_option_that_pipelines_do_not_accept_is_refused_by_name(
    example: Project, words: str, told: str
) -> None:
    done = example.run("dataflow", *words.format(DATASET).split(), check=False)
    assert done.returncode == 64
    assert told in done.stderr
    assert not (example.path / ".dataflow").exists()


def test_a_pipeline_runs_where_the_connection_of_another_is_missing(example: Project) -> None:
    other = """
class OtherDatasetPipeline:
    table_name = "other"
    target_db = "elsewhere"
    source_url = "https://api.example"
    field_mapping = [("id", "bigint")]
"""
    (example.path / "pipelines" / "other.py").write_text(other)
    done = example.run("dataflow", "run", VIEW, "--waiting-exit-code", "75", check=False)
    assert done.returncode == 75
    assert "waits for orders to cover 2024-01" in done.stderr
    assert "OtherDatasetPipeline is not registered: pipelines/other.py:2: OtherDatasetPipeline: Unknown" in (
        done.stderr
    )
    refused = example.run("dataflow", "run", "OtherDatasetPipeline", check=False)
    assert refused.returncode == 78
    assert "pipelines/other.py:2: OtherDatasetPipeline: Unknown connection" in refused.stderr


def test_the_store_knows_what_each_job_is_and_status_marks_one_whose_class_is_gone(example: Project) -> None:
    job = """
from dataflow import job

@job(inputs=["orders"], outputs=["copies"])
def copy(run):
    pass
"""
    (example.path / "pipelines" / "copies.py").write_text(job)
    example.run("dataflow", "run", VIEW, "--waiting-exit-code", "75", check=False)
    example.run("dataflow", "job", "add", "load", "--in", "orders")
    names = {DATASET: "dataset", VIEW: "view", "copy": "job", "load": None}
    found = {name: example.json("dataflow", "job", "show", name)["kind"] for name in names}
    assert found == names
    assert "not defined" not in example.run("dataflow", "status").stdout
    (example.path / "pipelines" / "copies.py").unlink()
    told = "no longer defined in pipelines/, so its work cannot run. Define it again, or remove the job"
    assert f"copy: {told}: dataflow job remove copy" in example.run("dataflow", "status").stdout
    jobs = example.json("dataflow", "status")["jobs"]
    assert [job["job"] for job in jobs if job["gone"]] == ["copy"]


def test_a_pipeline_that_waits_ends_with_the_exit_code_asked_for_and_says_nothing(example: Project) -> None:
    done = example.run("dataflow", "run", VIEW, "--quiet", "--waiting-exit-code", "75", check=False)
    assert done.returncode == 75
    assert [line for line in done.stderr.splitlines() if not line.startswith("Created store ")] == []


@pytest.fixture
def commands(
    tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    from tests.acceptance.commands import open_commands

    return open_commands(tmp_path, sqlite_url, monkeypatch, capsys)


def test_the_record_of_a_connection_decrypts_for_it_and_for_no_other(commands: Commands) -> None:
    from dataflow.errors import SecretError
    from dataflow.pipelines.declare.settings import PipelineSettings

    commands.environment.setenv("PASSKEY", "a long enough passphrase")
    record = commands("secret", "encrypt", "--connection", "datasets_db", stdin="hunter2-hunter2").out.strip()
    tables = "".join(
        f'[connection.{name}]\nurl = "postgresql://etl@db/{name}"\nencryptedpass = "{record}"\n'
        for name in ("datasets_db", "other")
    )
    (commands.path / "dataflow.toml").write_text(tables)
    settings = PipelineSettings(str(commands.path), {}, lambda: "a long enough passphrase")
    assert settings.get_connection("datasets_db").password == "hunter2-hunter2"
    assert settings.get_place("other").password is None
    with pytest.raises(SecretError):
        settings.get_connection("other")
    commands("secret", "encrypt", "--connection", "a", "--dataset", "b", code=64)


def test_a_new_passphrase_re_encrypts_the_records_of_connections(commands: Commands) -> None:
    from dataflow.secrets.cipher import decrypt

    commands.environment.setenv("PASSKEY", "a long enough passphrase")
    record = commands("secret", "encrypt", "--connection", "db", stdin="hunter2-hunter2").out.strip()
    (commands.path / "dataflow.toml").write_text(
        f'[connection.db]\nurl = "postgresql://etl@db/x"\nencryptedpass = "{record}"\n'
    )
    new = commands("secret", "rotate", stdin="another long passphrase").out.strip()
    assert decrypt(new, "another long passphrase", "connection:db") == "hunter2-hunter2"


def test_a_new_passphrase_re_encrypts_the_records_of_channels(commands: Commands) -> None:
    from dataflow.secrets.cipher import decrypt

    commands.environment.setenv("PASSKEY", "a long enough passphrase")
    record = commands("secret", "encrypt", "--notify", "team", stdin="https://chat.example.com/1").out.strip()
    (commands.path / "dataflow.toml").write_text(
        f'[notify.team]\nkind = "slack"\nencryptedurl = "{record}"\n'
    )
    new = commands("secret", "rotate", stdin="another long passphrase").out.strip()
    assert decrypt(new, "another long passphrase", "notify:team") == "https://chat.example.com/1"
    commands("secret", "encrypt", "--notify", "a", "--connection", "b", code=64)


def test_every_next_command_of_a_pipeline_is_one_that_runs_it(example: Project) -> None:
    waits = example.run("dataflow", "run", VIEW, check=False)
    assert f"next: dataflow run {DATASET}\n" in waits.stderr
    (store,) = (example.path / ".dataflow").glob("*.db")
    elsewhere = Project(example.path / "elsewhere", example.home)
    elsewhere.path.mkdir()
    (elsewhere.path / "dataflow.toml").touch()
    told = [
        example.run("dataflow", "why", DATASET).stdout,
        elsewhere.run("dataflow", "why", DATASET, "--store", f"sqlite:///{store}").stdout,
        example.run("dataflow", "status").stdout,
    ]
    for text in told:
        assert f"the next dataflow run {DATASET} adds it" in text
        assert "RunJob" not in text
    past = example.run("dataflow", "why", DATASET, "2024-01-31").stdout
    assert f"next: dataflow run {DATASET} --dataid 2024-01-31" in past


def test_a_project_without_a_store_names_the_command_that_creates_it(project: Project) -> None:
    project.run("dataflow", "init", "--example")
    declared = project.run("dataflow", "status", check=False).stderr
    assert declared.endswith("To create a new store: dataflow apply\n")
    (project.path / "pipelines").mkdir()
    piped = project.run("dataflow", "status", check=False).stderr
    assert "To create a new store: dataflow run PIPELINE" in piped


def test_the_name_of_a_dataset_leads_to_the_pipeline_that_makes_it(example: Project) -> None:
    done = example.run("dataflow", "run", "orders", check=False)
    assert f"orders is made by: {DATASET}." in done.stderr


def test_a_preview_shows_a_few_rejects_and_how_many_more_there_are(example: Project) -> None:
    with (example.path / "data" / "orders.jsonl").open("a") as file:
        for number in range(8):
            file.write(f'{{"reference": "B-{number}", "company": {{"name": "B"}}, "subtotal": "much"}}\n')
    preview = example.run("dataflow", "pipeline", "preview", DATASET).stdout
    assert preview.count("reject: ") == 5
    assert "and 3 more rejects" in preview


def test_a_pipeline_that_cannot_be_registered_does_not_stop_the_others(example: Project) -> None:
    job = "import dataflow\n\n\n@dataflow.job(inputs=['{0}'], outputs=['{1}'])\ndef {1}(run):\n    pass\n"
    (example.path / "pipelines" / "typo.py").write_text(job.format("orderss", "typo"))
    (example.path / "pipelines" / "ranks.py").write_text(job.format("orders", "ranks"))
    told = example.run("dataflow", "run", VIEW, check=False).stderr
    assert "warning: typo is not registered: pipelines/typo.py:" in told
    assert {one["job"] for one in example.json("dataflow", "status")["jobs"]} == {DATASET, VIEW, "ranks"}


SECRET = "speak-mellon-Xy47-Gandalf-pq92-Bilbo-and-enter"
SECRET_VIEW = """
import os

class GuessViewPipeline:
    view_name = "guess"
    dataset_pipeline = OrdersDatasetPipeline
    schedule_interval = "@once"
    params = {{"pw": os.environ["WH_PW"]}}
    query = {query!r}
"""


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("select length('{{ pw }}') as n from orders", "LENGTH('***')"),
        ("select '{{ pw }}'::bigint as n from orders", "***"),
        ("select '{{ pw }}' as n, ' from orders", "no closing ' for the one at line 1"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [("pipeline", "plan"), ("pipeline", "plan", "--json"), ("pipeline", "preview"), ("run", "--dry-run")],
    ids=" ".join,
)
def test_planning_and_previewing_show_no_part_of_a_secret(
    example: Project, command: tuple[str, ...], query: str, shown: str
) -> None:
    with (example.path / "dataflow.toml").open("a") as file:
        file.write('\n[connection.wh]\nurl = "postgresql://u@h/d"\npassword_variable = "WH_PW"\n')
    (example.path / "pipelines" / "guess.py").write_text(SECRET_VIEW.format(query=query))
    done = example.run("dataflow", *command, "GuessViewPipeline", env={"WH_PW": SECRET}, check=False)
    said = done.stdout + done.stderr
    assert "Gandalf" not in said
    assert shown in said or "preview" in command
