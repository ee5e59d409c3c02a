"""The reading commands and what they share: arguments, exit codes, JSON, streams, signals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import apsw
import psycopg
import pytest

from dataflow.cli.main import COMMANDS, FIRST, build_parser, main
from dataflow.cli.parser import list_subcommands
from dataflow.runjob.lock import ClaimantLock
from tests.acceptance.commands import Commands, open_commands
from tests.acceptance.flow import Flow
from tests.docs.test_wording import find_phrases
from tests.project import Project

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def dataflow(
    tmp_path: Path, store_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """The command on a store in which loadbob reads bobin and second reads what loadbob makes."""
    return with_two_jobs(open_commands(tmp_path, store_url, monkeypatch, capsys))


@pytest.fixture
def embedded(
    tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """The same on the embedded store only."""
    return with_two_jobs(open_commands(tmp_path, sqlite_url, monkeypatch, capsys))


def with_two_jobs(commands: Commands) -> Commands:
    for name in ("bobin", "bobout", "end"):
        commands("dataset", "add", name)
    commands.say("job add loadbob --in bobin --out bobout")
    commands.say("job add second --in bobout --out end")
    return commands


@pytest.fixture
def worked(flow: Flow) -> Flow:
    """A project in which 1.0 is done, 2.0 failed and 3.0 is open."""
    flow.declare()
    flow.ready("bobin", "1.0", "2.0", "3.0")
    flow.script("loadbob.sh", 'echo "got $dataid"; [ "$dataid" != 2.0 ] || exit 3')
    flow.runjob("./loadbob.sh")
    flow.runjob("./loadbob.sh", code=3)
    return flow


# the frame


def test_without_a_command_the_commands_are_listed_with_the_basic_ones_first(embedded: Commands) -> None:
    out = embedded(code=0).out
    first, others = out.split("More commands:")
    assert re.findall(r"^  ([a-z]+) ", first, re.MULTILINE) == list(FIRST)
    assert sorted(re.findall(r"^  ([a-z]+) ", others, re.MULTILINE)) == sorted(set(COMMANDS) - set(FIRST))
    assert out == embedded("--help").out == embedded("help").out


@pytest.mark.parametrize("word", [word for word in COMMANDS if word not in ("run", "force")])
def test_every_command_has_help_that_fits_80_columns(
    word: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    under = list_subcommands(build_parser(word)[1])
    for words in [[word], *([word, one] for one in under)]:
        assert main([*words, "--help"]) == 0
        shown = capsys.readouterr().out
        assert f"usage: dataflow {' '.join(words)}" in shown
        assert [line for line in shown.splitlines() if len(line) > 80] == []
        assert not find_phrases(shown)


def test_the_version_is_shown(embedded: Commands) -> None:
    assert re.fullmatch(r"dataflow \d.*\n", embedded("--version").out)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("stauts", 'Did you mean "status"?'),
        ("chunks bobin --jsn", 'Did you mean "--json"?'),
        ("why", "No JOB given.\nusage: dataflow why [options] JOB [DATAID]\nSee: dataflow why --help\n"),
        ("force", "No JOB and no DATAID given.\n"),
        ("purge", "No --older-than given.\nusage: dataflow purge --older-than DURATION [options]\n"),
        ("dataset", "No COMMAND given.\nusage: dataflow dataset [options] add|list|show|remove …\n"),
        ("dataset ad x", 'Unknown command "ad". Did you mean "add"? Known: add, list, show, remove.\n'),
        ("dataset list bobin", "Too many arguments.\nusage: dataflow dataset list [options]\n"),
        ("chunks bobin --limit", "--limit needs a value."),
        ("job add x --retries two", '--retries must be a whole number, got "two".'),
        ("run -j two x", '-j must be a whole number, got "two".'),
        ("run", "No script given.\nusage: dataflow run [options] script [args…]\n"),
        ("--jsn", "Unknown option: --jsn."),
        ("chunks bobin --limit 0", "at least 1"),
        ("chunks bobin --limit many", "at least 1"),
        ("chunks bobin --status READYISH", "READY"),
        ("runs --outcome LATE", "DONE"),
        ("runs --outcome bad", 'Unknown outcome "bad".'),
        ("status --fail-if failed,Stuck", 'Unknown condition "Stuck". Known: failed, late.\n'),
        ("status --fail-if lat", 'Unknown condition "lat". Did you mean "late"? Known: failed, late.\n'),
        ("status --late-after soon", "write it like"),
        ("completion tcsh", 'Unknown shell "tcsh". Known: bash, zsh, fish.\n'),
        ("--store sqlite:///x.db", "No command"),
        ("--store", "--store needs a value."),
        ("resubmit loadbob --from 1", "No --to given. A range needs both: --from A --to B."),
        ("hold loadbob --to 1", "No --from given. A range needs both: --from A --to B."),
        (
            "dataset --foo add",
            "Unknown option: --foo.\nusage: dataflow dataset [options] add|",
        ),
        ("dataset --foo add x", "Unknown option: --foo."),
        ("--foo why", "Unknown option: --foo.\nusage: dataflow COMMAND …\n"),
        ("why loadbob 1.0 2.0", "Too many arguments"),
    ],
)
def test_an_invalid_command_line_exits_64_with_a_hint(embedded: Commands, line: str, hint: str) -> None:
    done = embedded(*line.split(), code=64)
    assert done.err.startswith("dataflow: ")
    assert hint in done.err
    assert not done.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("status --json=secret", "--json takes no value."),
        ("logs 1 -fsecret", "-f takes no value."),
        ("status -psecret", "Unknown option: -p."),
        ("status --pass=secret", "Unknown option: --pass."),
        ("run --drain=secret x", "--drain takes no value."),
        ("run -psecret x", "Unknown option: -p."),
        ("-psecret", "Unknown option: -p."),
        ("--json=secret", "Unknown option: --json."),
    ],
)
def test_the_value_of_an_invalid_option_is_not_shown(embedded: Commands, line: str, message: str) -> None:
    done = embedded(*line.split(), code=64)
    assert message in done.err
    assert "secret" not in done.err


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("why nosuch", 66),
        ("chunks bobn", 66),
        ("runs --job nosuch", 66),
        ("logs 99", 66),
        ("logs one", 65),
        ("chunks bobin --from 2.0 --to 1.0", 65),
        ("sql selekt", 65),
        ("why loadbob ..", 65),
    ],
)
def test_an_error_is_one_sentence_on_stderr_with_its_exit_code(
    dataflow: Commands, line: str, code: int
) -> None:
    done = dataflow(*line.split(), code=code)
    assert done.err.startswith("dataflow: ")
    assert not done.out


def test_the_nearest_name_is_offered(dataflow: Commands) -> None:
    assert 'Did you mean "bobin"?' in dataflow("chunks", "bobn", code=66).err
    assert 'Did you mean "loadbob"?' in dataflow("why", "loadbb", code=66).err


def test_a_traceback_is_shown_on_request(project: Project) -> None:
    done = project.run("dataflow", "why", "nosuch", env={"DATAFLOW_DEBUG": "1"}, check=False)
    assert done.returncode == 66
    assert "Traceback" in done.stderr
    assert "Traceback" not in project.run("dataflow", "why", "nosuch", check=False).stderr


def test_a_store_may_be_named_before_or_after_the_command(embedded: Commands, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    embedded("--store", other, "dataset", "add", "elsewhere")
    assert embedded("chunks", "elsewhere", "--store", other, "--json").out == "[]\n"
    assert embedded("--store", other, "chunks", "elsewhere", "--json").out == "[]\n"
    embedded("chunks", "elsewhere", code=66)


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", *(f"{number}" for number in range(20_000)))
    process = sqlite_flow.project.start(
        "dataflow", "chunks", "bobin", env=sqlite_flow.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout and process.stderr
    assert process.stdout.readline().startswith("dataset")
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(30) == 141


PRINTING = (
    ("status",),
    ("status", "--json"),
    ("chunks", "bobin"),
    ("runs",),
    ("logs", "1"),
    ("journal",),
    ("dataset", "list"),
    ("job", "show", "loadbob"),
    ("why", "loadbob"),
    ("sql", "select * from datastatus"),
    ("doctor",),
    ("db", "version"),
    ("export",),
    ("completion", "bash"),
    ("--help",),
    ("status", "--help"),
    ("--version",),
)


def test_a_full_disk_behind_stdout_is_an_error_with_exit_code_74(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1.0")
    sqlite_flow.script("loadbob.sh", "echo done")
    sqlite_flow.runjob("./loadbob.sh")
    for words, unbuffered in [*((words, "") for words in PRINTING), (("status",), "1"), (("logs", "1"), "1")]:
        with open("/dev/full", "w") as full:
            process = sqlite_flow.project.start(
                *("dataflow", *words),
                env=sqlite_flow.env | {"PYTHONUNBUFFERED": unbuffered},
                stdout=full,
                stderr=subprocess.PIPE,
            )
            said = process.communicate(timeout=30)[1]
        assert (process.returncode, said.count("No space left on device")) == (74, 1), (words, said)
        assert "Traceback" not in said
        assert "Exception ignored" not in said


def test_a_reader_that_is_gone_before_the_first_line_ends_the_command_quietly(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    for words in (("status",), ("chunks", "bobin", "--json"), ("--help",)):
        reading, writing = os.pipe()
        os.close(reading)
        process = sqlite_flow.project.start(
            *("dataflow", *words),
            env=sqlite_flow.env | {"PYTHONUNBUFFERED": ""},
            stdout=writing,
            stderr=subprocess.PIPE,
        )
        os.close(writing)
        assert (process.communicate(timeout=300)[1], process.returncode) == ("", 141)


def test_control_c_ends_with_130_and_without_a_traceback(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1.0")
    sqlite_flow.script("loadbob.sh", "echo begun; sleep 60")
    sqlite_flow.start("./loadbob.sh")
    run = wait_for_run(sqlite_flow, "loadbob")
    process = sqlite_flow.project.start(
        *("dataflow", "logs", str(run), "-f"),
        env=sqlite_flow.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=300)[1] == "dataflow: interrupted\n"
    assert process.returncode == 130


# what they tell


def test_chunks_have_a_status_a_version_a_time_and_readers(worked: Flow) -> None:
    found = worked.json("chunks", "bobout")
    assert [(row["dataid"], row["status"], row["version"]) for row in found] == [
        ("1.0", "READY", 1),
        ("2.0", "FAILED", 0),
        ("3.0", "PENDING", 0),
    ]
    plain = ["dataset", "dataid", "status", "version", "modified_at", "readers"]
    assert list(found[0]) == [*plain, "partial", "lacked"]
    assert all(ISO.fullmatch(row["modified_at"]) and row["readers"] == [] for row in found)


def test_chunks_can_be_chosen_by_status_range_and_number(dataflow: Commands) -> None:
    dataflow("ready", "bobin", "--from", "1", "--to", "12")
    listed = dataflow.json("chunks", "bobin", "--from", "9", "--to", "11")
    assert [row["dataid"] for row in listed] == ["9", "10", "11"]
    assert [row["dataid"] for row in dataflow.json("chunks", "bobin", "--limit", "2")] == ["1", "2"]
    assert len(dataflow.json("chunks", "bobout", "--status", "pending")) == 12
    assert dataflow.json("chunks", "bobin", "--status", "STALE") == []


def test_a_chunk_that_is_being_consumed_says_by_whom(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1.0")
    flow.script("loadbob.sh", "while [ ! -e go ]; do sleep 0.05; done")
    flow.start("./loadbob.sh")
    run = wait_for_run(flow, "loadbob")
    assert flow.json("chunks", "bobin")[0]["readers"] == [run]
    assert f"being consumed by run {run}" in flow.dataflow("chunks", "bobin").stdout
    assert flow.json("chunks", "bobout")[0]["status"] == "RUNNING"
    assert ("bobin", "loadbob", "1.0", "IN", "RUNNING") in [
        tuple(row.values())[:5] for row in flow.json("sql", "select * from datastatus")
    ]
    found = flow.json("why", "loadbob", "1.0")
    assert found["verdict"].startswith(f"RUNNING: run {run} on {os.uname().nodename} since ")
    assert found["next"] == f"dataflow logs {run} -f"
    (flow.path / "go").touch()


def test_runs_are_listed_newest_first_with_their_outcome(worked: Flow) -> None:
    newest, oldest = worked.json("runs")
    assert list(newest)[:9] == [
        *("run_id", "job", "dataid", "attempt", "outcome", "exit_code", "host", "started_at", "ended_at")
    ]
    assert (newest["dataid"], newest["outcome"], newest["exit_code"]) == ("2.0", "FAILED", 3)
    assert (oldest["dataid"], oldest["outcome"], oldest["exit_code"]) == ("1.0", "DONE", 0)
    assert [run["dataid"] for run in worked.json("runs", "--outcome", "done")] == ["1.0"]
    assert [run["outcome"] for run in worked.json("runs", "--job", "loadbob", "--dataid", "2.0")] == [
        "FAILED"
    ]
    assert len(worked.json("runs", "--limit", "1")) == 1
    shown = worked.dataflow("runs", "--limit", "1").stderr
    assert shown == "Showing the newest run. To see more: dataflow runs --limit 10\n"
    assert "exited with 3" in worked.dataflow("runs").stdout


def test_a_log_is_shown_byte_for_byte(worked: Flow) -> None:
    assert worked.dataflow("logs", "1").stdout == "got 1.0\n"
    path = worked.path / ".dataflow" / "logs" / "1.log"
    path.write_bytes(b"\xff\x00 no text\r\n")
    done = subprocess.run(
        worked.project.command("dataflow", "logs", "1"),
        cwd=worked.path,
        env=worked.project.environment(worked.env),
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"\xff\x00 no text\r\n"


def test_a_run_without_output_and_one_elsewhere_are_explained(worked: Flow) -> None:
    log = worked.path / ".dataflow" / "logs" / "1.log"
    log.unlink()
    assert "wrote nothing, or its log was deleted" in worked.dataflow("logs", "1").stderr
    poke(worked, "UPDATE run SET host = 'etl7' WHERE run_id = 1")
    assert f"Run 1 was on etl7. Its log is on that machine: {log}" in worked.dataflow("logs", "1").stderr


def test_following_a_log_continues_until_the_run_ends(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1.0")
    flow.script("loadbob.sh", "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo ended")
    flow.start("./loadbob.sh")
    run = wait_for_run(flow, "loadbob")
    follower = flow.project.start("dataflow", "logs", str(run), "-f", env=flow.env, stdout=subprocess.PIPE)
    assert follower.stdout
    assert follower.stdout.readline() == "begun\n"
    (flow.path / "go").touch()
    assert follower.stdout.read() == "ended\n"
    follower.stdout.close()
    assert follower.wait(30) == 0


def test_the_journal_records_who_moved_what_from_which_state_to_which(worked: Flow) -> None:
    newest = worked.json("journal", "--job", "loadbob", "--limit", "1")[0]
    assert (newest["action"], newest["from_state"], newest["to_state"]) == ("finish", "RUNNING", "FAILED")
    assert ISO.fullmatch(newest["at"])
    assert {row["run_id"] for row in worked.json("journal", "--run", "1")} == {1}
    assert worked.json("journal", "--dataset", "bobin")[0]["action"] == "ready"
    assert {row["dataid"] for row in worked.json("journal", "--dataid", "2.0")} == {"2.0"}
    assert "claim" in worked.dataflow("journal").stdout


def test_sql_reads_the_datastatus_view(worked: Flow) -> None:
    rows = worked.json(
        "sql", "select datasetid, dataid, status from datastatus where datasetid = 'bobout' order by dataid"
    )
    assert [row["status"] for row in rows] == ["READY", "FAILED", "PENDING"]
    assert worked.dataflow("sql", "select 1 as one").stdout == "one\n1\n"


def test_sql_takes_a_statement_from_stdin_and_names_columns_once(dataflow: Commands) -> None:
    assert dataflow("sql", "-", stdin="select 1 as a, 2 as a;\n").out == "a  a_2\n1  2\n"
    assert dataflow("sql", "select 1 where 1 = 0").err == "No rows.\n"
    assert "only reads" in dataflow("sql", "delete from job", code=65).err
    assert ISO.fullmatch(dataflow.json("sql", "select modified_at from dataset")[0]["modified_at"])


def test_why_is_an_object_with_five_answers_and_the_next_command(worked: Flow) -> None:
    found = worked.json("why", "loadbob", "2.0")
    assert list(found) == ["job", "dataid", "verdict", "answers", "next", "crashes", "plan"]
    assert [answer["question"] for answer in found["answers"]] == [
        "ready",
        "right",
        "located",
        "valid",
        "safe",
    ]
    assert {answer["answer"] for answer in found["answers"]} <= {"yes", "no", "not checked"}
    assert found["verdict"].startswith("FAILED: run 2 on ")
    assert found["next"] == "dataflow resubmit loadbob 2.0"
    assert found["plan"] == ""
    text = worked.dataflow("why", "loadbob").stdout
    assert text.startswith("loadbob 3.0\nPENDING: nothing blocks it, and the next RunJob takes it\n")
    assert text.endswith("next: RunJob ./loadbob.sh\n")


def test_the_next_command_of_why_can_be_run(worked: Flow) -> None:
    words = worked.json("why", "loadbob", "2.0")["next"].split()
    worked.dataflow(*words[1:])
    assert worked.json("why", "loadbob", "2.0")["verdict"].startswith("RESUBMIT: ")


def test_status_counts_and_is_an_exit_code_for_monitoring(worked: Flow) -> None:
    found = worked.json("status")
    assert found["jobs"][0] | {"oldest": None} == {
        **{"job": "loadbob", "hold": False, "WAITING": 0, "CLAIMABLE": 1, "RUNNING": 0, "DONE": 1},
        **{"FAILED": 1, "INVALID": 0, "HOLD": 0, "oldest": None, "late": False, "due": False, "gone": False},
        **{"overdue": None, "skipped": None, "running": None, "process_gone": False, "quarantined": 0},
        "asking": None,
    }
    assert found["jobs"][0]["oldest"]["dataid"] == "3.0"
    counts = {row["dataset"]: (row["chunks"], row["not_done"]) for row in found["datasets"]}
    assert counts == {"bobin": (3, 0), "bobout": (1, 2)}
    assert len(worked.json("chunks", "bobout")) == sum(counts["bobout"])
    assert found["failures"][0]["next"] == "dataflow resubmit loadbob 2.0"
    assert worked.dataflow("status", "--fail-if", "late").returncode == 0
    failed = worked.dataflow("status", "--fail-if", "failed,late", check=False)
    assert (failed.returncode, failed.stderr) == (1, "dataflow: failed: 1 failed or invalid\n")
    late = worked.dataflow("status", "--fail-if", "late", "--late-after", "0", check=False)
    assert (late.returncode, late.stderr) == (1, "dataflow: late: loadbob\n")
    assert "exited with 3" in failed.stdout


def test_status_names_a_job_on_hold_that_has_no_work(flow: Flow) -> None:
    flow.declare()
    assert "on hold" not in flow.dataflow("status").stdout
    flow.dataflow("hold", "loadbob")
    shown = flow.dataflow("status").stdout
    assert "\nloadbob: on hold" in shown and "; to resume it: dataflow resume loadbob\n" in shown
    assert flow.json("status")["jobs"][0]["hold"] is True


def test_status_reports_overdue_intervals_and_counts_them_as_late(flow: Flow) -> None:
    flow.declare('[job.daily]\nschedule = "@daily"\nstart = "2024-03-01"\nend = "2024-03-01"\ncatchup = true')
    overdue = "1 interval overdue since 2024-03-02T00:00:00Z"
    told = f"daily: {overdue} (daily.calendar); the next RunJob adds it as work"
    shown = flow.dataflow("status")
    assert (shown.stdout.splitlines()[-1], shown.stderr) == (told, "")
    job = flow.json("status")["jobs"][0]
    assert (job["due"], job["late"]) == (True, True)
    assert job["overdue"] | {"age_seconds": 0} == {
        **{"dataset": "daily.calendar", "intervals": 1},
        **{"since_at": "2024-03-02T00:00:00.000Z", "age_seconds": 0},
    }
    late = flow.dataflow("status", "--fail-if", "late", check=False)
    assert (late.returncode, late.stderr) == (1, f"dataflow: late: daily ({overdue})\n")
    flow.dataflow("hold", "daily")
    assert flow.dataflow("status", "--fail-if", "late").returncode == 0
    flow.dataflow("release", "daily")
    flow.script("daily.sh")
    flow.runjob("./daily.sh")
    assert told not in flow.dataflow("status").stdout
    assert flow.json("status")["jobs"][0]["due"] is False


def test_doctor_finds_no_problem_in_a_project_in_use(worked: Flow) -> None:
    found = worked.json("doctor")
    assert {row["level"] for row in found} <= {"ok", "warning"}
    assert {"permissions", "locks", "store", "clock", "leases", "readiness"} <= {
        row["check"] for row in found
    }
    assert list(found[0]) == ["check", "level", "text", "next"]


def test_doctor_removes_the_lock_files_of_dead_processes(worked: Flow) -> None:
    locks = worked.path.parent / "locks"
    stale, other = locks / "abcd.lock", locks / "notes.txt"
    stale.touch()
    other.touch()
    held = ClaimantLock.take(str(locks), "beef")
    found = [row for row in worked.json("doctor") if row["check"] == "locks"]
    held.release()
    assert [row["text"] for row in found] == [f"removed 1 lock file of dead processes from {locks}"]
    assert (stale.exists(), other.exists()) == (False, True)


def test_doctor_keeps_the_lock_file_of_a_dead_process_that_still_holds_a_run(worked: Flow) -> None:
    locks = worked.path.parent / "locks"
    (locks / "abcd.lock").touch()
    poke(
        worked,
        "UPDATE run SET ended_at = NULL, outcome = 'RUNNING', claimant = 'abcd' "
        "WHERE run_id = (SELECT max(run_id) FROM run)",
    )
    done = json.loads(worked.dataflow("doctor", "--json", check=False).stdout)
    found = [row for row in done if row["check"] == "locks"]
    assert [row["level"] for row in found] == ["warning"]
    assert (locks / "abcd.lock").exists()


def test_doctor_finds_a_wrong_count_and_repairs_it(worked: Flow) -> None:
    poke(worked, "UPDATE work SET missing = 1, state = 'WAITING' WHERE dataid = '3.0'")
    done = worked.dataflow("doctor", check=False)
    assert done.returncode == 1
    assert "loadbob/3.0 counts 1 missing inputs, 0 are missing" in done.stdout
    assert "Recomputed: loadbob" in worked.dataflow("doctor", "--repair").stderr
    assert worked.states()["3.0"] == "CLAIMABLE"


def test_doctor_reports_a_store_that_does_not_answer(embedded: Commands) -> None:
    done = embedded("doctor", "--json", "--store", "sqlite:////proc/nowhere/x.db", code=1)
    assert [row["level"] for row in json.loads(done.out) if row["check"] == "store"] == ["problem"]


# completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_completion_script(embedded: Commands, shell: str) -> None:
    assert "dataflow completion words" in embedded("completion", shell).out


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["dataflow", "stat"], ["status"]),
        (["dataflow", "--v"], ["--version"]),
        (["dataflow", "chunks", ""], ["bobin", "bobout", "end"]),
        (["dataflow", "chunks", "bobo"], ["bobout"]),
        (["dataflow", "chunks", "bobin", "--st"], ["--status", "--store"]),
        (["dataflow", "chunks", "--status", "F"], ["FAILED"]),
        (["dataflow", "chunks", "--limit", "5", "e"], ["end"]),
        (["dataflow", "why", ""], ["loadbob", "second"]),
        (["dataflow", "why", "loadbob", ""], []),
        (["dataflow", "runs", "--job", "s"], ["second"]),
        (["dataflow", "job", "re"], ["remove", "reset-script"]),
        (["dataflow", "job", "show", "l"], ["loadbob"]),
        (["dataflow", "job", "add", "new", "--in", "e"], ["end"]),
        (["dataflow", "force", "l"], ["loadbob"]),
        (["dataflow", "run", "--dra"], ["--drain"]),
        (["RunJob", "--job", "l"], ["loadbob"]),
        (["/usr/bin/RunJob", "--dra"], ["--drain"]),
        (["dataflow", "nosuch", ""], []),
        (["dataflow", "completion", ""], ["bash", "zsh", "fish"]),
    ],
)
def test_completion_offers_the_next_words(embedded: Commands, words: list[str], wanted: list[str]) -> None:
    assert embedded("completion", "words", *words).out.split() == wanted


def test_completion_creates_no_store_and_prints_nothing_without_one(project: Project) -> None:
    done = project.run("dataflow", "completion", "words", "dataflow", "chunks", "")
    assert (done.stdout, done.stderr) == ("", "")
    assert not list(project.path.iterdir())
    done = project.run(
        *("dataflow", "completion", "words", "dataflow", "why", ""),
        env={"DATAFLOW_STORE": "postgresql://nobody@127.0.0.1:9/none"},
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_bash_completes_with_the_script(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    bin_folder = sqlite_flow.path / "bin"
    bin_folder.mkdir()
    words = " ".join(sqlite_flow.project.command("dataflow"))
    sqlite_flow.project.script("bin/dataflow", f'exec {words} "$@"')
    typed = 'source <(dataflow completion bash); COMP_WORDS=(dataflow why ""); COMP_CWORD=2; '
    done = sqlite_flow.project.run(
        *("bash", "-c", typed + '_dataflow_complete; echo "${COMPREPLY[@]}"'),
        env=sqlite_flow.env | {"PATH": f"{bin_folder}:{os.environ['PATH']}"},
    )
    assert done.stdout == "loadbob\n"


def wait_for_run(flow: Flow, job: str) -> int:
    """Return the id of the job's running run, once there is one."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        running = [run.run_id for run in flow.runs(job) if run.outcome == "RUNNING"]
        if running:
            return running[0]
        time.sleep(0.05)
    raise AssertionError(f"{job} did not start")


def poke(flow: Flow, sql: str) -> None:
    """Run any statement on a flow's store, for states that no command produces."""
    if flow.is_postgres:
        with psycopg.connect(flow.url, options="-c search_path=dataflow") as connection:
            connection.execute(sql.encode())
    else:
        apsw.Connection(flow.url.removeprefix("sqlite:///")).execute(sql)


def test_words_of_pipeline_are_suggested_and_help_of_a_command_is_its_help(embedded: Commands) -> None:
    for word in ("plan", "preview"):
        done = embedded(word, "OrdersDatasetPipeline", code=64)
        assert f'Did you mean "pipeline {word}"?' in done.err
    assert embedded.say("help ready").out == embedded.say("ready --help").out


def test_the_answer_located_names_an_input_without_a_location_once(embedded: Commands) -> None:
    embedded.say("dataset add hours --grain hourly")
    embedded.say("dataset add days --grain daily")
    embedded.say("job add sum --in hours:within --out days")
    embedded.say("ready hours --from 2026-01-01T00 --to 2026-01-01T23")
    found = {answer["question"]: answer["evidence"] for answer in embedded.json("why", "sum")["answers"]}
    assert found["located"].count("hours declares no location") == 1


def test_ready_of_what_is_ready_names_the_option_for_a_new_version(embedded: Commands) -> None:
    embedded.say("ready bobin 1.0")
    done = embedded.say("ready bobin 1.0")
    assert done.err == "bobin: 0 made ready, 1 already ready. To publish a new version: --again\n"
    assert "--again" not in embedded.say("ready bobin 1.0 2.0").err


def test_invalidating_one_chunk_speaks_of_it_in_the_singular(embedded: Commands) -> None:
    embedded.say("ready bobin 1.0 2.0")
    assert "1 chunk of bobin; 0 results made from it." in embedded.say("invalidate bobin 1.0 --dry-run").err
    assert "0 results made from them." in embedded.say("invalidate bobin 1.0 2.0 --dry-run").err
