"""The commands that declare and maintain: init, dataset, job, apply, export, db, secret, purge."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.acceptance.commands import Commands, on_terminal, open_commands
from tests.acceptance.flow import Flow
from tests.project import Project


@pytest.fixture
def dataflow(
    tmp_path: Path, store_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """The command on each kind of store."""
    return open_commands(tmp_path, store_url, monkeypatch, capsys)


@pytest.fixture
def embedded(
    tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """The command on the embedded store, for what does not depend on the kind."""
    return open_commands(tmp_path, sqlite_url, monkeypatch, capsys)


def test_the_original_quick_start_works_unchanged(flow: Flow) -> None:
    for words in (
        ("dataset", "add", "bobin"),
        ("dataset", "add", "bobout"),
        ("job", "add", "loadbob", "--in", "bobin", "--out", "bobout"),
        ("ready", "bobin", "1.0"),
    ):
        flow.dataflow(*words)
    flow.script("loadbob.sh", 'echo "got $dataid of $bobin_datasetid"')
    assert "got 1.0 of bobin" in flow.runjob("./loadbob.sh").stdout
    assert "got" not in flow.runjob("./loadbob.sh").stdout
    assert flow.json("runs")[0]["outcome"] == "DONE"
    assert "bobout" in flow.dataflow("sql", "select * from datastatus").stdout
    flow.dataflow("resubmit", "loadbob", "1.0")
    assert "got 1.0 of bobin" in flow.runjob("./loadbob.sh").stdout


def test_an_example_project_runs_by_its_own_instructions(project: Project) -> None:
    told = project.run("dataflow", "init", "--example", "demo").stderr
    steps = told.partition("Next: cd demo && ")[2].strip().split(" && ")
    inside = Project(project.path / "demo", project.home)
    for step in steps:
        inside.run(*step.split())
    statuses = inside.json("dataflow", "chunks", "squares")
    assert [(row["dataid"], row["status"]) for row in statuses] == [(name, "READY") for name in "123"]
    [output] = (inside.path / "data" / "squares" / "2").iterdir()
    assert output.read_text() == "100\n400\n900\n"
    assert (inside.path / ".gitignore").read_text() == ".dataflow/\n"


def test_init_overwrites_nothing(embedded: Commands) -> None:
    (embedded.path / ".gitignore").write_text("*.pyc")
    embedded("init")
    assert (embedded.path / ".gitignore").read_text() == "*.pyc\n.dataflow/\n"
    written = (embedded.path / "dataflow.toml").read_text()
    done = embedded("init", "--example", code=75)
    assert "dataflow.toml already exists; nothing was written" in done.err
    assert (embedded.path / "dataflow.toml").read_text() == written
    assert not (embedded.path / "square.sh").exists()
    embedded("init", ".", code=75)
    embedded("init", "below/it")
    assert (embedded.path / "below" / "it" / "dataflow.toml").exists()


def test_apply_without_a_terminal_names_the_command_for_the_same_file(embedded: Commands) -> None:
    (embedded.path / "other file.toml").write_text("[dataset.numbers]\n")
    done = embedded("apply", "other file.toml", code=64)
    assert "Do not ask: dataflow apply 'other file.toml' --yes\n" in done.err


def test_the_projects_that_init_writes_are_valid(embedded: Commands) -> None:
    embedded("init", "--example")
    assert os.stat(embedded.path / "square.sh").st_mode & stat.S_IXUSR
    done = embedded("apply", code=64)
    assert "+ dataset numbers" in done.out
    assert "dataflow apply --yes" in done.err
    assert embedded.json("dataset", "list") == []
    assert "3 added" in embedded("apply", "--yes").err
    assert "Nothing to change" in embedded("apply").err


def test_datasets_are_added_changed_listed_shown_and_removed(dataflow: Commands) -> None:
    assert "Dataset bobin added" in dataflow.say("dataset add bobin --hostname db1 --grain daily").err
    assert "Dataset bobin unchanged" in dataflow.say("dataset add bobin").err
    assert "format: csv" in dataflow.say("dataset add bobin --format csv --option sep=; --option null=").err
    [row] = dataflow.json("dataset", "list")
    assert (row["dataset"], row["hostname"], row["format"], row["grain"]) == ("bobin", "db1", "csv", "daily")
    assert row["options"] == {"sep": ";", "null": ""}
    dataflow.say("dataset add bobout")
    dataflow.say("job add loadbob --in bobin --out bobout")
    dataflow.say("ready bobin 2026-08-20")
    shown = dataflow.json("dataset", "show", "bobin")
    assert (shown["read_by"], shown["produced_by"], shown["chunks"]) == (["loadbob"], None, 1)
    assert dataflow.json("dataset", "show", "bobout")["produced_by"] == "loadbob"
    assert "used by loadbob" in dataflow.say("dataset remove bobin", code=75).err
    dataflow.say("job remove loadbob")
    assert "Removed dataset bobin and 1 chunk." in dataflow.say("dataset remove bobin").err
    assert [row["dataset"] for row in dataflow.json("dataset", "list")] == ["bobout"]


def test_jobs_are_added_changed_listed_shown_and_removed(dataflow: Commands) -> None:
    for name in ("orders", "prices", "totals"):
        dataflow.say(f"dataset add {name} --grain daily")
    dataflow.say(
        "job add sum --in orders --in prices --in totals:previous --out totals --env region=eu --env a=b=c "
        "--start 2026-01-01 --ordered --retries 3 --retry-delay 2m --max-running 4 --lease 1m --grace 5 "
        "--priority -2"
    )
    shown = dataflow.json("job", "show", "sum")
    assert shown["in"] == ["orders", "prices", "totals:previous"]
    assert shown["environment"] == {"a": "b=c", "region": "eu"}
    assert (shown["retries"], shown["retry_delay_seconds"], shown["max_running"]) == (3, 120, 4)
    assert (shown["lease_seconds"], shown["grace_seconds"], shown["priority"]) == (60, 5, -2)
    assert (shown["start"], shown["ordered"], shown["grain"], shown["hold"]) == (
        "2026-01-01",
        True,
        "daily",
        False,
    )
    told = dataflow.say("job add sum --no-ordered --in orders").err
    assert "ordered: yes → no" in told
    assert "in: orders, prices, totals:previous → orders" in told
    assert [row["job"] for row in dataflow.json("job", "list")] == ["sum"]
    dataflow.say("job remove sum")
    assert dataflow.json("job", "list") == []


def test_a_schedule_is_added_and_removed(dataflow: Commands) -> None:
    dataflow.say("dataset add days --grain daily")
    dataflow.say("job add load --in days --schedule @daily --start 2026-01-01 --end 2026-01-31 --catchup")
    assert "load.calendar" in [row["dataset"] for row in dataflow.json("dataset", "list")]
    dataflow("job", "add", "load", "--schedule", "")
    shown = dataflow.json("job", "show", "load")
    assert (shown["schedule"], shown["end"], shown["catchup"]) == ("", "", False)
    assert [row["dataset"] for row in dataflow.json("dataset", "list")] == ["days"]


def test_what_export_writes_apply_reads_back_elsewhere(dataflow: Commands) -> None:
    dataflow.say("dataset add bobin --location /data/{dataid}/{run_id} --mode snapshot")
    dataflow("dataset", "add", "bobout", "--tablename", 'a "b" \\ c')
    dataflow.say("job add loadbob --in bobin --out bobout --env k=v --retries 2")
    (dataflow.path / "flow.toml").write_text(dataflow("export").out)
    assert "= 3 unchanged" in dataflow("apply", "flow.toml").out
    dataflow.say("job remove loadbob")
    dataflow.say("dataset remove bobout")
    assert "+ dataset bobout" in dataflow("apply", "--yes", "flow.toml").out
    assert dataflow("export").out == (dataflow.path / "flow.toml").read_text()


def test_checks_are_shown_by_apply_and_by_dataset_show(dataflow: Commands) -> None:
    check = 'check = ["/bin/sh", "-c", "test -s $bobout_location"]'
    (dataflow.path / "dataflow.toml").write_text(
        f'[dataset.bobin]\n[dataset.bobout]\nformat = "csv"\n{check}\n'
    )
    shown = "/bin/sh -c 'test -s $bobout_location'"
    assert f"+ dataset bobout\n    format: csv\n    check: {shown}\n" in dataflow("apply", "--yes").out
    assert f"= 2 unchanged\n    check of bobout: {shown}\n" in dataflow("apply").out
    assert f"check         {shown}\n" in dataflow("dataset", "show", "bobout").out
    assert dataflow.json("dataset", "show", "bobout")["check"] == [
        *("/bin/sh", "-c", "test -s $bobout_location")
    ]
    assert dataflow.json("dataset", "show", "bobin")["check"] is None


def test_a_password_is_kept_encrypted_and_shown_to_nobody(dataflow: Commands) -> None:
    dataflow.environment.setenv("PASSKEY", "open sesame")
    dataflow.say("dataset add bobin --password-stdin", stdin="correct horse\n")
    kept = dataflow.facts()["dataset"][0]
    assert "df1." in kept
    assert "correct horse" not in kept
    for words in (
        "dataset list",
        "dataset show bobin",
        "dataset show bobin --json",
        "export",
        "journal --json",
    ):
        out = dataflow.say(words).out
        assert "df1." not in out
        assert "correct horse" not in out
    assert dataflow.json("dataset", "show", "bobin")["password"] is True
    assert "df1." in dataflow.say("export --with-secrets").out
    refused = dataflow.say("secret decrypt --dataset bobin", code=64)
    assert "stdout is not a terminal" in refused.err
    assert dataflow.say("secret decrypt --dataset bobin --yes").out == "correct horse\n"


def test_a_typed_password_is_not_shown(project: Project, sqlite_url: str) -> None:
    env = {"DATAFLOW_STORE": sqlite_url, "PASSKEY": "open sesame"}
    words = ["dataflow", "dataset", "add", "bobin", "--password-stdin"]
    code, shown = on_terminal(
        project, words, [("Password:", "correct horse"), ("again:", "correct house")], env
    )
    assert (code, "The two passwords differ" in shown) == (77, True)
    code, shown = on_terminal(
        project, words, [("Password:", "correct horse"), ("again:", "correct horse")], env
    )
    assert (code, "password: a new password" in shown) == (0, True)
    assert "horse" not in shown
    code, shown = on_terminal(project, ["dataflow", "secret", "decrypt", "--dataset", "bobin"], [], env)
    assert (code, shown) == (0, "correct horse\r\n")


def test_apply_asks_on_a_terminal(project: Project, sqlite_url: str) -> None:
    (project.path / "dataflow.toml").write_text("[dataset.bobin]\n")
    env = {"DATAFLOW_STORE": sqlite_url}
    code, shown = on_terminal(project, ["dataflow", "apply"], [("[y/N]", "")], env)
    assert (code, "Apply these changes? [y/N]" in shown, "Nothing changed" in shown) == (1, True, True)
    assert not Path(sqlite_url.removeprefix("sqlite:///")).exists()
    assert on_terminal(project, ["dataflow", "apply"], [("[y/N]", "y")], env)[0] == 0
    assert len(project.json("dataflow", "dataset", "list", env=env)) == 1


def test_a_record_made_by_secret_encrypt_can_be_declared(embedded: Commands) -> None:
    embedded.environment.setenv("PASSKEY", "open sesame")
    record = embedded.say("secret encrypt --dataset bobin", stdin="correct horse").out.strip()
    (embedded.path / "flow.toml").write_text(f'[dataset.bobin]\nencryptedpass = "{record}"\n')
    embedded.say("apply --yes flow.toml")
    assert embedded.say("secret decrypt --dataset bobin --yes").out == "correct horse\n"


def test_a_new_passphrase_decrypts_everything_after_a_rotation(dataflow: Commands) -> None:
    dataflow.environment.setenv("PASSKEY", "open sesame")
    dataflow.say("dataset add bobin --password-stdin", stdin="correct horse")
    new = dataflow.path / "new"
    new.write_text("another one\n")
    new.chmod(0o644)
    assert "chmod 600" in dataflow.say("secret rotate --new-file new", code=77).err
    new.chmod(0o600)
    assert "Re-encrypted 1 password." in dataflow.say("secret rotate --new-file new").err
    assert "does not decrypt" in dataflow.say("secret decrypt --dataset bobin --yes", code=77).err
    dataflow.environment.setenv("PASSKEY", "another one")
    assert dataflow.say("secret decrypt --dataset bobin --yes").out == "correct horse\n"
    assert "is the same as the old one" in dataflow.say("secret rotate", stdin="another one", code=77).err


def test_the_schema_is_created_once_and_its_number_shown(dataflow: Commands) -> None:
    assert "nothing to do" in dataflow.say("db upgrade").err
    shown = dataflow.json("db", "version")
    assert shown["schema"] == shown["needed"]


def test_a_postgresql_store_is_refused_until_its_schema_is_created(
    project: Project, postgres_url: str
) -> None:
    env = {"DATAFLOW_STORE": postgres_url}
    refused = project.run("dataflow", "dataset", "list", env=env, check=False)
    assert refused.returncode == 76
    assert "dataflow db upgrade" in refused.stderr
    printed = project.run("dataflow", "db", "upgrade", "--print", env=env)
    assert "CREATE TABLE chunk" in printed.stdout
    assert project.run("dataflow", "dataset", "list", env=env, check=False).returncode == 76
    assert "0001_handoff" in project.run("dataflow", "db", "upgrade", env=env).stderr
    assert project.json("dataflow", "dataset", "list", env=env) == []


def test_purge_says_what_it_deleted(dataflow: Commands) -> None:
    dataflow.say("dataset add bobin")
    assert (
        "Deleted 0 runs and journal entries, 0 logs and 0 context files."
        in dataflow.say("purge --older-than 90d").err
    )
    assert "Deleted 1 run or journal entry, 0 logs" in dataflow.say("purge --older-than 0").err


def test_a_job_that_reads_its_own_output_says_how_to_begin(embedded: Commands, tmp_path: Path) -> None:
    embedded.say("dataset add days --grain daily")
    embedded.say("dataset add total --grain daily")
    line = "job add cumulate --in days --in total:previous --out total"
    told = embedded.say(line).err
    assert "dataflow job add cumulate --start DATAID" in told
    assert "dataflow ready total DATAID" in told
    declared = tmp_path / "more.toml"
    declared.write_text(
        '[job.again]\nin = ["days", "sum:previous"]\nout = ["sum"]\n[dataset.sum]\ngrain = "daily"\n'
    )
    assert "dataflow job add again --start DATAID" in embedded("apply", "--yes", str(declared)).err
    embedded.say("dataset add total --location out/{run_id}")
    told = embedded.say(line).err
    assert "--start DATAID" in told and "dataflow ready" not in told
    assert "--start" not in embedded.say(f"{line} --start 2026-08-01").err.partition("\n  ")[0]
    assert "is the first" not in embedded.say("job add cumulate --retries 1").err


def test_a_job_that_gets_another_input_says_which_work_is_not_done_again(dataflow: Commands) -> None:
    for name in ("orders", "prices", "rates"):
        dataflow.say(f"dataset add {name} --grain sequence")
    dataflow.say("job add sum --in orders")
    dataflow.say("ready orders 1 2 3 4")
    for dataid in ("1", "2", "3"):
        dataflow.say(f"mark sum {dataid} READY")
    dataflow.say("ready prices 1 3")
    told = dataflow.say("job add sum --in orders --in prices").err
    # Work 2 lacks the new input: when that comes, it is done again by itself.
    assert "Job sum: 2 dataids stay DONE without the new input prices." in told
    command = told.rpartition("To do them again: dataflow ")[2].strip()
    assert command == "resubmit sum --from 1 --to 3"
    dataflow.say(command)
    assert "DONE" not in dataflow.say("job add sum --in orders --in prices --retries 1").err
    assert "DONE" not in dataflow.say("job add sum --in orders").err


def test_apply_says_which_work_is_not_done_again_too(embedded: Commands, tmp_path: Path) -> None:
    for name in ("orders", "rates"):
        embedded.say(f"dataset add {name}")
    embedded.say("job add sum --in orders")
    embedded.say("ready orders 1")
    embedded.say("ready rates 1")
    embedded.say("mark sum 1 READY")
    declared = tmp_path / "more.toml"
    declared.write_text('[job.sum]\nin = ["orders", "rates:latest"]\n')
    told = embedded("apply", "--yes", str(declared)).err
    assert "Job sum: 1 dataid stays DONE without the new input rates:latest." in told
    assert told.endswith("To do it again: dataflow resubmit sum 1\n")
