"""Passwords: stored encrypted, passed to the runs that need them, and visible nowhere else."""

from __future__ import annotations

import base64
import functools
import json
import os
import sys
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from dataflow.actions.register import add_dataset
from dataflow.model.records import Dataset
from dataflow.secrets.cipher import encrypt
from dataflow.store.entries import write_dataset
from tests.acceptance.flow import Flow, family, find_guard, find_guards, finish, kill_together
from tests.acceptance.test_unsafe_variables import smuggle

PASSPHRASE = "correct horse battery staple"
SECRET = 'p@ss/w0\'rd "$HOME" é+%{x}\\'
OTHER = "another-secret-of-mine"
KEY = {"PASSKEY": PASSPHRASE}

TWO_JOBS = """
[dataset.bobin]
[dataset.bobout]
[dataset.private]
[dataset.end]
[job.loadbob]
in = ["bobin"]
out = ["bobout"]
[job.other]
in = ["private"]
out = ["end"]
"""

FORMS = {
    "literal": SECRET,
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "URL": quote(SECRET, safe=""),
    "form": quote_plus(SECRET),
    "JSON": json.dumps(SECRET)[1:-1],
    "JSON in UTF-8": json.dumps(SECRET, ensure_ascii=False)[1:-1],
}


@functools.cache
def make_records() -> dict[str, str]:
    """The encrypted passwords of the two datasets; made once, because a key is costly to derive."""
    salt = bytes(range(16))
    passwords = {"bobin": SECRET, "private": OTHER}
    return {name: encrypt(text, PASSPHRASE, f"dataset:{name}", salt) for name, text in passwords.items()}


@pytest.fixture
def guarded(flow: Flow) -> Flow:
    """A job whose input has a password, and a dataset of another job that has one too."""
    return guard(flow)


@pytest.fixture
def sqlite_guarded(sqlite_flow: Flow) -> Flow:
    """The same on the embedded store, for what does not depend on the store."""
    return guard(sqlite_flow)


def guard(flow: Flow) -> Flow:
    flow.declare(TWO_JOBS)
    for name, record in make_records().items():
        set_record(flow, name, record)
    flow.ready("bobin", "1", "2")
    return flow


def set_record(flow: Flow, dataset: str, record: str) -> None:
    with flow.store() as store:
        add_dataset(store, Dataset(dataset, encryptedpass=record), ["encryptedpass"])


CHAIN = """
[dataset.first]
[dataset.second]
[dataset.third]
[job.make]
in = ["first"]
out = ["second"]
[job.use]
in = ["second"]
out = ["third"]
"""


def test_why_needs_no_passphrase_and_says_what_it_did_not_check(sqlite_guarded: Flow) -> None:
    found = sqlite_guarded.json("why", "loadbob")
    assert found["verdict"].startswith("PENDING: nothing blocks it")
    answers = {answer["question"]: answer for answer in found["answers"]}
    assert (answers["ready"]["answer"], answers["right"]["answer"]) == ("yes", "yes")
    assert answers["safe"]["answer"] == "not checked"
    assert answers["safe"]["evidence"] == "the password of bobin was not decrypted for this answer"


def everything_kept(flow: Flow) -> str:
    """The text of the store and of all project files."""
    tables = ("dataset", "job", "job_environment", "chunk", "work", "run", "journal", "verb_token", "meta")
    rows = [str(flow.select(f"SELECT * FROM {table}")) for table in tables]
    kept = [path for path in flow.path.rglob("*") if path.is_file() and ".dataflow" in path.parts]
    files = [path.read_bytes().decode(errors="surrogateescape") for path in kept]
    return "\n".join([*rows, *files])


def assert_hidden(text: str, *secrets: str) -> None:
    for secret in secrets or (SECRET, OTHER, PASSPHRASE):
        for name, form in _forms(secret).items():
            assert form not in text, f"the {name} form is there"


def _forms(secret: str) -> dict[str, str]:
    encoded = base64.b64encode(secret.encode()).decode()
    return {
        "literal": secret,
        "base64": encoded.rstrip("="),
        "URL": quote(secret, safe=""),
        "JSON": json.dumps(secret)[1:-1],
    }


def test_a_run_gets_the_passwords_of_its_own_datasets_and_no_others(guarded: Flow) -> None:
    guarded.script("loadbob.sh", 'env -0 > all; printf %s "$bobin_password" > got')
    guarded.runjob("loadbob.sh", env=KEY)
    assert (guarded.path / "got").read_text() == SECRET
    given = (guarded.path / "all").read_bytes().split(b"\0")
    assert [item for item in given if b"_password=" in item] == [b"bobin_password=" + SECRET.encode()]
    assert OTHER.encode() not in (guarded.path / "all").read_bytes()
    assert PASSPHRASE.encode() not in (guarded.path / "all").read_bytes()


def test_passing_passwords_to_a_run_is_journalled(guarded: Flow) -> None:
    guarded.script("loadbob.sh", "true")
    guarded.runjob("loadbob.sh", env=KEY)
    claimed = [row for row in guarded.json("journal") if row["action"] == "claim"]
    assert [row["why"] for row in claimed] == ["received the credentials of bobin"]


def test_a_job_without_passwords_needs_no_passphrase(guarded: Flow) -> None:
    guarded.declare('[dataset.x]\n[dataset.y]\n[job.plain]\nin = ["x"]\nout = ["y"]\n')
    guarded.ready("x", "1")
    guarded.script("plain.sh")
    guarded.runjob("plain.sh")
    assert guarded.lines() == ["1"]


def test_no_form_of_a_secret_is_shown_logged_or_repeated(guarded: Flow) -> None:
    (guarded.path / "forms").write_text("\n".join(FORMS.values()))
    guarded.script(
        "loadbob.py",
        "import sys\n"
        "for number, form in enumerate(open('forms').read().split('\\n')):\n"
        "    print('out', number, form, 'after', flush=True)\n"
        "    print('err', number, form, 'after', file=sys.stderr, flush=True)\n"
        "sys.exit(5)",
        interpreter=sys.executable,
    )
    done = guarded.runjob("loadbob.py", code=5, env=KEY)
    [log] = (guarded.path / ".dataflow/logs").iterdir()
    for number, (name, form) in enumerate(FORMS.items()):
        for text in (done.stdout, done.stderr, everything_kept(guarded)):
            assert form not in text, name
        assert f"out {number} " in done.stdout
        assert f"err {number} " in done.stderr
    assert len([line for line in done.stdout.splitlines() if line.endswith(" after")]) == len(FORMS)
    assert len([line for line in log.read_text().splitlines() if line.endswith(" after")]) == 2 * len(FORMS)
    assert "  | " in done.stderr


@pytest.mark.parametrize("form", ["literal", "base64"])
def test_a_secret_split_across_two_writes_is_hidden(sqlite_guarded: Flow, form: str) -> None:
    (sqlite_guarded.path / "form").write_text(FORMS[form])
    # Each piece is written when the one before has been taken by RunJob.
    sqlite_guarded.script(
        "loadbob.py",
        "import fcntl, os, struct, termios, time\n"
        "secret = open('form', 'rb').read()\n"
        "for piece in (b'before ' + secret[:7], secret[7:11], secret[11:] + b' after\\n'):\n"
        "    os.write(1, piece)\n"
        "    while struct.unpack('i', fcntl.ioctl(1, termios.FIONREAD, b'0000'))[0]:\n"
        "        time.sleep(0.001)\n",
        interpreter=sys.executable,
    )
    done = sqlite_guarded.runjob("loadbob.py", env=KEY)
    [log] = (sqlite_guarded.path / ".dataflow/logs").iterdir()
    for text in (done.stdout, log.read_text()):
        assert FORMS[form][:7] not in text
        assert FORMS[form][11:] not in text
        assert text.startswith("before ")
        assert text.endswith(" after\n")


def test_text_that_only_begins_like_a_secret_is_shown_whole(sqlite_guarded: Flow) -> None:
    sqlite_guarded.script("loadbob.sh", "printf 'p@ss/w0 is not it, nor is p@ss'")
    done = sqlite_guarded.runjob("loadbob.sh", env=KEY)
    assert done.stdout == "p@ss/w0 is not it, nor is p@ss"


def test_a_check_is_redacted_too(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(
        '[dataset.bobin]\n[dataset.bobout]\nformat = "csv"\ncheck = ["./check.sh"]\n'
        '[job.loadbob]\nin = ["bobin"]\nout = ["bobout"]\n',
        keep=True,
    )
    flow.dataflow("dataset", "add", "bobout", "--password-stdin", input=SECRET, env=KEY)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "true")
    flow.script("check.sh", 'echo "connecting with $bobout_password"; exit 1')
    done = flow.runjob("loadbob.sh", code=1, env=KEY)
    assert "connecting with" in done.stdout
    for text in (done.stdout, done.stderr, everything_kept(flow)):
        assert_hidden(text)


def test_secrets_are_in_no_context_file_and_in_no_argument_list(guarded: Flow) -> None:
    guarded.script(
        "loadbob.sh",
        'cp "$DATAFLOW_CONTEXT" context; echo $$ > pid; until test -e go; do sleep 0.01; done',
    )
    running = guarded.start("loadbob.sh", env=KEY)
    guarded.wait_for_pid("pid")
    pids = [running.pid, find_guard(running.pid), *family(running.pid)]
    lines = [
        Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace") for pid in set(pids) if _lives(pid)
    ]
    (guarded.path / "go").touch()
    assert finish(running)[0] == 0
    context = (guarded.path / "context").read_text()
    assert "bobin_password" not in context
    for text in [context, *lines]:
        assert_hidden(text)


def _lives(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}/cmdline")


def test_nothing_readable_is_kept_anywhere(guarded: Flow) -> None:
    guarded.script("loadbob.sh", 'echo "$bobin_password" >&2; exit 1')
    guarded.runjob("--drain", "loadbob.sh", code=1, env=KEY)
    assert_hidden(everything_kept(guarded))
    for words in (
        ["dataset", "show", "bobin"],
        ["dataset", "list", "--json"],
        ["export"],
        ["journal"],
        ["runs"],
    ):
        done = guarded.dataflow(*words)
        assert_hidden(done.stdout + done.stderr)


def test_dry_run_masks_passwords(guarded: Flow) -> None:
    guarded.script("loadbob.sh")
    done = guarded.runjob("--dry-run", "loadbob.sh")
    assert "bobin_password=********" in done.stdout
    assert "safe? not checked: the password of bobin was not decrypted for this answer\n" in done.stdout
    assert_hidden(done.stdout + done.stderr)


@pytest.mark.parametrize("trouble", ["wrong", "none", "tampered", "swapped"])
def test_a_password_that_does_not_decrypt_stops_before_anything_is_claimed(
    sqlite_guarded: Flow, trouble: str
) -> None:
    sqlite_guarded.script("loadbob.sh")
    env = {"wrong": {"PASSKEY": "a wrong passphrase"}, "none": {}}.get(trouble, KEY)
    if trouble in ("tampered", "swapped"):
        [(record,)] = sqlite_guarded.select("SELECT encryptedpass FROM dataset WHERE name = 'private'")
        if trouble == "tampered":
            [(record,)] = sqlite_guarded.select("SELECT encryptedpass FROM dataset WHERE name = 'bobin'")
            record = record[:-1] + ("A" if record[-1] != "A" else "Q")
        set_record(sqlite_guarded, "bobin", record)
    done = sqlite_guarded.runjob("loadbob.sh", code=77, env=env)
    assert "Traceback" not in done.stderr
    assert_hidden(done.stderr)
    assert sqlite_guarded.runs() == []
    assert set(sqlite_guarded.states().values()) == {"CLAIMABLE"}
    # It can still be listed and replaced.
    sqlite_guarded.dataflow("dataset", "list")
    sqlite_guarded.dataflow("dataset", "add", "bobin", "--password-stdin", input=SECRET + "\n", env=KEY)
    sqlite_guarded.runjob("--drain", "loadbob.sh", env=KEY)
    assert sqlite_guarded.lines() == ["1", "2"]


def test_the_passphrase_may_come_from_a_private_file(sqlite_guarded: Flow) -> None:
    sqlite_guarded.script("loadbob.sh", 'printf %s "$bobin_password" > got')
    key = sqlite_guarded.path / "key"
    key.write_text(PASSPHRASE + "\n")
    key.chmod(0o644)
    refused = sqlite_guarded.runjob("loadbob.sh", code=77, env={"DATAFLOW_PASSKEY_FILE": str(key)})
    assert "chmod 600" in refused.stderr
    key.chmod(0o600)
    sqlite_guarded.runjob("loadbob.sh", env={"DATAFLOW_PASSKEY_FILE": str(key)})
    assert (sqlite_guarded.path / "got").read_text() == SECRET


def test_a_secret_on_the_command_line_is_refused(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    for words in (["--password", "hunter2hunter2"], ["--password=hunter2hunter2"]):
        done = sqlite_flow.dataflow("dataset", "add", "bobin", *words, check=False)
        assert done.returncode == 64
        assert "hunter2hunter2" not in done.stderr
        assert "--password-stdin" in done.stderr


def test_a_secret_too_short_to_be_hidden_is_refused(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    done = sqlite_flow.dataflow(
        "dataset", "add", "bobin", "--password-stdin", input="1234567", env=KEY, check=False
    )
    assert done.returncode == 77
    assert "shorter than 8 bytes" in done.stderr
    assert "1234567" not in done.stderr


def test_a_secret_in_a_location_is_refused_and_not_shown(sqlite_flow: Flow) -> None:
    url = "https://reader:hunter2@store.example/{dataid}"
    done = sqlite_flow.dataflow("dataset", "add", "bobin", "--location", url, check=False)
    (sqlite_flow.path / "flow.toml").write_text(f"[dataset.bobin]\nlocation = '{url}'")
    applied = sqlite_flow.dataflow("apply", "flow.toml", "--yes", check=False)
    assert (done.returncode, applied.returncode) == (65, 65)
    for told in (done.stderr, applied.stderr):
        assert '"https://reader:***" contains a password' in told
        assert "dataflow dataset add bobin --password-stdin. Scripts get it as bobin_password." in told
        assert "hunter2" not in told
    assert sqlite_flow.json("dataset", "list") == []


def test_a_secret_in_the_location_of_an_older_store_reaches_only_the_script(flow: Flow) -> None:
    flow.declare()
    url = "https://me:sec%2Fret-pass@store.example/{dataid}?sv=2026&sig=se%2Fcret-signature"
    with flow.store() as store:
        store.register(lambda tx: write_dataset(tx, Dataset("bobin", location=url)))
        store.register(
            lambda tx: write_dataset(tx, Dataset("bobout", location=url.replace("/{", "/{run_id}/{")))
        )
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", 'echo "$bobin_location" | tee got; echo se/cret-signature sec/ret-pass >&2')
    tried = flow.runjob("--dry-run", "loadbob.sh")
    done = flow.runjob("loadbob.sh")
    assert flow.lines("got") == [url.replace("{dataid}", "1")]
    shown = "https://me:***@store.example/1?sv=2026&sig=***"
    assert done.stdout == f"{shown}\n"
    assert f"bobin_location={shown}\n" in tried.stdout
    told = [tried.stdout, tried.stderr, done.stderr]
    for words in (
        *(("dataset", "show", "bobin"), ("dataset", "list"), ("dataset", "list", "--json"), ("export",)),
        *(("versions", "bobout", "1"), ("versions", "bobout", "1", "--json"), ("why", "loadbob", "1")),
        *(("journal", "--json"), ("runs", "--json"), ("sql", "select * from dataset, chunk", "--json")),
        ("sql", "select 'x ' || location as location from dataset", "--json"),
    ):
        command = flow.dataflow(*words)
        told += [command.stdout, command.stderr]
    told += [path.read_text() for path in (flow.path / ".dataflow/logs").iterdir()]
    told += [text for row in flow.select("SELECT answers FROM run") for text in row]
    assert "cret-signature" not in "".join(told)
    assert "ret-pass" not in "".join(told)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("dataset add bobin --option password=hunter2", "option password contains a password"),
        ("dataset add bobin --hostname bob:hunter2@db1", 'hostname "bob:***@db1" contains a password'),
        ("job add loadbob --env db_password=hunter2", "--env db_password contains a password"),
    ],
)
def test_a_secret_in_an_option_or_variable_is_refused_and_not_shown(
    sqlite_flow: Flow, words: str, told: str
) -> None:
    sqlite_flow.declare()
    done = sqlite_flow.dataflow(*words.split(), check=False)
    assert done.returncode == 65
    assert told in done.stderr
    assert "--password-stdin" in done.stderr
    assert "hunter2" not in done.stderr


def test_a_secret_in_an_option_or_variable_of_an_older_store_reaches_only_the_script(flow: Flow) -> None:
    flow.declare()
    dataset = Dataset("bobin", hostname="bob:host-pass1@db1", options=(("password", "option-pass1"),))
    flow.ready("bobin", "1")
    with flow.store() as store:
        store.register(lambda tx: write_dataset(tx, dataset))
    smuggle(flow, "db_password", "variable-pass1")
    flow.script("loadbob.sh", 'echo "$bobin_hostname $bobin_option_password $db_password" | tee got')
    told = [flow.runjob("--dry-run", "loadbob.sh").stdout]
    exported = flow.dataflow("export").stdout
    (flow.path / "flow.toml").write_text(exported)
    assert flow.dataflow("apply", "flow.toml", "--yes").stderr == "Nothing to change.\n"
    (flow.path / "flow.toml").write_text(exported + "[dataset.new]\n")
    told += [exported, flow.dataflow("apply", "flow.toml", "--yes").stdout, flow.runjob("loadbob.sh").stdout]
    assert flow.lines("got") == ["bob:host-pass1@db1 option-pass1 variable-pass1"]
    for words in (("dataset", "show", "bobin"), ("job", "show", "loadbob"), ("journal", "--json")):
        told.append(flow.dataflow(*words).stdout)
    assert "pass1" not in "".join(told)
    assert all("***" in text for text in told[:2])
    flow.dataflow("dataset", "add", "bobin", "--format", "csv")
    flow.dataflow("job", "add", "loadbob", "--retries", "1")


def test_a_secret_in_the_location_of_an_older_version_is_redacted(flow: Flow) -> None:
    flow.declare(CHAIN)
    flow.ready("first", "1")
    flow.script("make.sh", "true")
    with flow.store() as store:
        old = Dataset("second", location="https://store.example/{run_id}/{dataid}?sig=old-signature")
        store.register(lambda tx: write_dataset(tx, old))
    flow.runjob("make.sh")
    with flow.store() as store:
        store.register(lambda tx: write_dataset(tx, Dataset("second", location="/data/{run_id}/{dataid}")))
    flow.script("use.sh", 'echo "$second_location" | tee got; cp "$DATAFLOW_CONTEXT" context.json')
    done = flow.runjob("use.sh")
    assert "sig=old-signature" in flow.lines("got")[0]
    assert "sig=***" in done.stdout
    shown = done.stdout + (flow.path / "context.json").read_text()
    assert "old-signature" not in shown + "".join(
        path.read_text() for path in (flow.path / ".dataflow/logs").iterdir()
    )


def test_the_context_file_of_a_killed_runjob_is_removed_by_the_next_one(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "echo $$ > pid; exec sleep 600")
    killed = flow.start("loadbob.sh")
    flow.wait_for_pid("pid")
    contexts = flow.path / ".dataflow/context"
    assert len(list(contexts.iterdir())) == 1
    kill_together(killed.pid, *find_guards(killed.pid))
    killed.wait()
    flow.script("loadbob.sh")
    flow.runjob("loadbob.sh")
    assert flow.outcomes() == ["LOST", "DONE"]
    assert list(contexts.iterdir()) == []
