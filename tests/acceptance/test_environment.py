"""What a child receives: its variables byte for byte, its context file, and nothing else."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from typing import Any

import pytest

from dataflow.model.records import Dataset, Job, JobInput
from tests.acceptance.flow import Flow

DUMP = 'env -0 > "$dataid.env"; cp "$DATAFLOW_CONTEXT" context.json; stat -c %a "$DATAFLOW_CONTEXT" > mode'

NASTY = "a'b\"c$HOME`id`\\n/x y\n\ttab\r;|&*?[]{}~#!%$(id)€😀"

FIELDS = """
[dataset.bobin]
hostname = "db1.example"
database = "sales"
schemaname = "raw"
tablename = "orders"
username = "reader"
location = "in/{dataid}.csv"
format = "csv"
grain = "daily"
timezone = "Europe/Rome"
options = { delimiter = ";", "null.value" = "-" }

[dataset.bobout]
hostname = "db2.example"
database = "lake"
schemaname = "clean"
tablename = "orders_daily"
username = "writer"
location = "out/{environment}/{job}/{dataid}/{run_id}.csv"
format = "parquet"
grain = "daily"
timezone = "Europe/Rome"
mode = "snapshot"

[job.loadbob]
in = ["bobin"]
out = ["bobout"]
[job.loadbob.environment]
REGION = "eu"
batch_size = "500"
"""


def variables(flow: Flow, dataid: str) -> dict[str, bytes]:
    """The whole environment a child dumped."""
    items = (flow.path / f"{dataid}.env").read_bytes().rstrip(b"\0").split(b"\0")
    return {os.fsdecode(name): value for name, _, value in (item.partition(b"=") for item in items)}


def context_of(flow: Flow) -> Any:
    return json.loads((flow.path / "context.json").read_text())


def test_every_field_of_every_dataset_reaches_the_child(flow: Flow) -> None:
    flow.declare(FIELDS, keep=True)
    flow.ready("bobin", "2026-08-20")
    (flow.path / "in").mkdir()
    (flow.path / "in/2026-08-20.csv").write_text("a;b\n")
    flow.script("loadbob.sh", DUMP + '; echo x > "$bobout_location"')
    flow.runjob("loadbob.sh")
    given = {name: value.decode() for name, value in variables(flow, "2026-08-20").items()}
    [run] = flow.runs()
    output = f"{flow.path}/out/dev/loadbob/2026-08-20/{run.run_id}.csv"
    wanted = {
        "dataid": "2026-08-20",
        "jobid": "loadbob",
        "REGION": "eu",
        "batch_size": "500",
        "DATAFLOW_RUN_ID": str(run.run_id),
        "bobin_datasetid": "bobin",
        "bobin_hostname": "db1.example",
        "bobin_database": "sales",
        "bobin_schemaname": "raw",
        "bobin_tablename": "orders",
        "bobin_username": "reader",
        "bobin_location": f"{flow.path}/in/2026-08-20.csv",
        "bobin_format": "csv",
        "bobin_grain": "daily",
        "bobin_timezone": "Europe/Rome",
        "bobin_mode": "partition",
        "bobin_dataid": "2026-08-20",
        "bobin_version": "1",
        "bobin_option_delimiter": ";",
        "bobin_option_null_value": "-",
        "bobout_datasetid": "bobout",
        "bobout_hostname": "db2.example",
        "bobout_database": "lake",
        "bobout_schemaname": "clean",
        "bobout_tablename": "orders_daily",
        "bobout_username": "writer",
        "bobout_location": output,
        "bobout_format": "parquet",
        "bobout_mode": "snapshot",
        "bobout_dataid": "2026-08-20",
        "bobout_version": "1",
    }
    assert {name: given.get(name) for name in wanted} == wanted
    assert not [name for name in given if name.endswith("_password")]


def test_the_context_file_says_the_same_is_private_and_is_gone_afterwards(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1.0")
    flow.script("loadbob.sh", DUMP)
    flow.runjob("loadbob.sh")
    given = variables(flow, "1.0")
    context = context_of(flow)
    assert (flow.path / "mode").read_text() == "600\n"
    assert not os.path.exists(given["DATAFLOW_CONTEXT"])
    assert (context["job"], context["dataid"], context["attempt"]) == ("loadbob", "1.0", 1)
    assert str(context["run_id"]) == given["DATAFLOW_RUN_ID"].decode()
    assert [item["dataset"] for item in context["inputs"]] == ["bobin"]
    assert context["inputs"][0]["version"] == 1
    assert [item["dataset"] for item in context["outputs"]] == ["bobout"]
    assert [answer["question"] for answer in context["answers"]] == [
        "ready",
        "right",
        "located",
        "valid",
        "safe",
    ]
    for name, value in context["environment"].items():
        assert given[name].decode() == value


REPLACE = 'rm "$DATAFLOW_CONTEXT"; '


@pytest.mark.parametrize(
    "what",
    ["rm", "chmod 666", "truncate -s 100000", "true", REPLACE + "ln -s /nowhere", REPLACE + "mkfifo"],
)
def test_whatever_a_script_does_to_its_context_file_the_next_run_gets_its_own(
    sqlite_flow: Flow, what: str
) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1", "2")
    facts = """stat -c %a "$DATAFLOW_CONTEXT" >> modes
        grep -c "\\"dataid\\": \\"$dataid\\"" "$DATAFLOW_CONTEXT" >> found"""
    sqlite_flow.script(
        "loadbob.sh", f'{facts}; tail -c 1 "$DATAFLOW_CONTEXT" >> ends; {what} "$DATAFLOW_CONTEXT"'
    )
    done = sqlite_flow.runjob("--drain", "loadbob.sh", code=0)
    assert "Traceback" not in done.stderr
    assert sqlite_flow.outcomes() == ["DONE", "DONE"]
    assert sqlite_flow.lines("modes") == ["600", "600"]
    assert sqlite_flow.lines("found") == ["1", "1"]
    assert (sqlite_flow.path / "ends").read_text() == "}}"
    assert list((sqlite_flow.path / ".dataflow/context").iterdir()) == []


@pytest.mark.parametrize("keep", ["ln", "mv", "cp"])
def test_a_context_file_that_a_script_has_kept_does_not_change(sqlite_flow: Flow, keep: str) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1", "2", "3")
    sqlite_flow.script("loadbob.sh", f'{keep} "$DATAFLOW_CONTEXT" "kept.$dataid"')
    sqlite_flow.runjob("--drain", "loadbob.sh", code=0)
    kept = [json.loads((sqlite_flow.path / f"kept.{dataid}").read_text())["dataid"] for dataid in "123"]
    assert kept == ["1", "2", "3"]
    assert list((sqlite_flow.path / ".dataflow/context").iterdir()) == []


def test_values_reach_the_child_byte_for_byte(flow: Flow) -> None:
    dataset = Dataset("bobin", hostname=NASTY, username="$(id)", tablename="'; drop table x; --")
    job = Job("loadbob", (JobInput("bobin"),), ("bobout",), (("item", NASTY), ("empty", "")))
    _register(flow, [dataset, Dataset("bobout", database=NASTY)], job)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", DUMP)
    flow.runjob("loadbob.sh", env={"INHERITED": NASTY})
    given = variables(flow, "1")
    assert given["bobin_hostname"] == given["bobout_database"] == given["item"] == NASTY.encode()
    assert given["INHERITED"] == NASTY.encode()
    assert given["bobin_username"] == b"$(id)"
    assert given["bobin_tablename"] == b"'; drop table x; --"
    assert given["empty"] == b""


@pytest.mark.parametrize("dataid", ["1.0", "a b", "größe", "x|y:z=1+2@~", "100%s", "%2e%2e"])
def test_a_dataid_reaches_the_child_byte_for_byte(sqlite_flow: Flow, dataid: str) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", dataid)
    sqlite_flow.script("loadbob.sh", 'printf %s "$dataid" > got; printf %s "$bobin_dataid" >> got')
    sqlite_flow.runjob("loadbob.sh")
    assert (sqlite_flow.path / "got").read_text() == dataid * 2


def test_bytes_that_are_not_utf8_are_passed_on(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1")
    sqlite_flow.script("loadbob.sh", 'env -0 > 1.env; printf %s "$1" > argument')
    odd = os.fsdecode(b"\xff\xfe caf\xe9 \x80")
    sqlite_flow.runjob("loadbob.sh", odd, env={"ODD": odd})
    assert variables(sqlite_flow, "1")["ODD"] == b"\xff\xfe caf\xe9 \x80"
    assert (sqlite_flow.path / "argument").read_bytes() == b"\xff\xfe caf\xe9 \x80"


def test_arguments_reach_the_script_as_they_were_given(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1")
    sqlite_flow.script("loadbob.sh", 'printf "%s\\0" "$@" > arguments')
    words = ["--drain", "-j", "", NASTY, "--", "--help"]
    sqlite_flow.runjob("loadbob.sh", *words)
    assert (sqlite_flow.path / "arguments").read_bytes() == b"".join(word.encode() + b"\0" for word in words)


def test_names_that_are_not_shell_identifiers_are_mapped(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(
        '[dataset."raw-orders.v2"]\n[dataset."2024"]\n'
        '[job."load-orders"]\nin = ["raw-orders.v2"]\nout = ["2024"]\n'
    )
    flow.ready("raw-orders.v2", "1")
    flow.script("load-orders.sh", DUMP)
    flow.runjob("load-orders.sh")
    given = variables(flow, "1")
    assert given["raw_orders_v2_datasetid"] == b"raw-orders.v2"
    assert given["_2024_datasetid"] == b"2024"
    assert given["jobid"] == b"load-orders"


def test_clean_env_passes_only_the_variables_of_dataflow(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1", "2")
    sqlite_flow.script("loadbob.sh", '/usr/bin/env -0 > "$dataid.env"')
    sqlite_flow.runjob("loadbob.sh", env={"MINE": "1"})
    sqlite_flow.runjob("--clean-env", "loadbob.sh", env={"MINE": "1"})
    assert variables(sqlite_flow, "1")["MINE"] == b"1"
    given = variables(sqlite_flow, "2")
    # The shell itself sets PWD, OLDPWD, SHLVL and _.
    rest = set(given) - {"PWD", "OLDPWD", "SHLVL", "_"}
    assert "MINE" not in rest
    assert "HOME" not in rest
    told = (
        "dataid",
        "jobid",
        "bobin_",
        "bobout_",
        "DATAFLOW_RUN_ID",
        "DATAFLOW_CONTEXT",
        "DATAFLOW_GUARD_TOKEN",
    )
    assert not [name for name in rest if not name.startswith(told)]


def test_dataflows_own_secrets_are_not_passed_on(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    (flow.path / "key").write_text("another passphrase\n")
    (flow.path / "key").chmod(0o600)
    flow.script("loadbob.sh", DUMP)
    env = {"PASSKEY": "correct horse battery", "DATAFLOW_PASSKEY_FILE": str(flow.path / "key")}
    flow.runjob("loadbob.sh", env=env)
    given = variables(flow, "1")
    assert "PASSKEY" not in given
    assert "DATAFLOW_PASSKEY_FILE" not in given
    # A store URL with a password in it is one of them; one without is a convenience.
    assert ("DATAFLOW_STORE" in given) is not flow.is_postgres


def test_the_childs_standard_input_is_empty_and_its_folder_is_ours(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1")
    sqlite_flow.script("loadbob.sh", "cat > stdin; pwd > folder")
    sqlite_flow.runjob("loadbob.sh", input="this is for RunJob\n")
    assert (sqlite_flow.path / "stdin").read_text() == ""
    assert (sqlite_flow.path / "folder").read_text() == f"{sqlite_flow.path}\n"


def test_no_descriptor_of_ours_leaks_into_the_child(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    # Not a shell, which opens some of its own; the highest is the listing itself.
    look = "import os\nfds = sorted(map(int, os.listdir('/proc/self/fd')))[:-1]\n"
    flow.script("loadbob.py", look + "open('fds', 'w').write(repr(fds))", interpreter=sys.executable)
    flow.runjob("loadbob.py")
    assert (flow.path / "fds").read_text() == "[0, 1, 2]"


def test_host_user_environment_name_script_and_hash_are_recorded(flow: Flow) -> None:
    import hashlib

    flow.declare()
    flow.ready("bobin", "1")
    script = flow.script("loadbob.sh")
    flow.runjob("./loadbob.sh", env={"DATAFLOW_ENVIRONMENT": "prod"})
    [run] = flow.runs()
    assert run.environment == "prod"
    assert run.host == os.uname().nodename
    assert (
        run.user == subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    )
    assert run.script_path == str(script)
    assert run.script_hash == hashlib.sha256(script.read_bytes()).hexdigest()


def test_logs_are_private(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1")
    sqlite_flow.script("loadbob.sh", "echo hello")
    assert sqlite_flow.runjob("loadbob.sh").stdout == "hello\n"
    [log] = list((sqlite_flow.path / ".dataflow/logs").iterdir())
    assert log.read_text() == "hello\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def _register(flow: Flow, datasets: list[Dataset], job: Job) -> None:
    from dataflow.actions.register import add_dataset, add_job

    with flow.store() as store:
        for dataset in datasets:
            add_dataset(store, dataset)
        add_job(store, job)
