"""Bad input gets an error that names the thing, the reason and the next command; nothing is changed."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from dataflow import errors
from dataflow.actions.apply import apply_changes
from dataflow.actions.make_ready import make_ready
from dataflow.cli.dataset import FIELDS
from dataflow.config.declarations import read_declarations
from dataflow.store.opener import open_store
from dataflow.store.sqlite import SqliteDatabase
from tests.acceptance.commands import Commands, open_commands

USAGE, BAD, UNKNOWN, DENIED, FILES, CONFLICT, MISMATCH, SECRET, CONFIG = 64, 65, 66, 77, 74, 75, 76, 77, 78

JOB_OPTIONS = ("in", "out", "env", "schedule", "lease", "grace", "retry-delay", "retries", "priority")
SCHEDULE_OPTIONS = ("start", "end", "timezone")
LONG = "x" * 10_000
NASTIEST = ("", "-x", "../../etc/passwd", "'", "a\nb", "a\0b", "\udcff", "{dataid}", LONG, "1e309")
"""What `make test` tries."""
NASTY = (
    *(" ", "-", ".", "..", "a/b", "a,b", '"', "; drop table chunk", "$HOME", "`id`", "\x1b[31m", "🦆"),
    *("e\u0301", "\u202e", "%s", "a=b", "NULL", "2026-02-30", "2026-13-01", "0", "-1"),
    *("99999999999999999999", "nan", "@daily"),
)
STRINGS = [
    *(pytest.param(text, id=ascii(text)[:20]) for text in NASTIEST),
    *(pytest.param(text, id=ascii(text)[:20], marks=pytest.mark.full) for text in NASTY),
]


TWO_CHAINS = """
[dataset]
bobin = {}
bobout = {}
days = { grain = "daily" }
sums = { grain = "daily" }
[job]
loadbob = { in = ["bobin"], out = ["bobout"] }
sum = { in = ["days"], out = ["sums"] }
"""


@pytest.fixture(scope="module")
def filled_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two chains, one of days and one of words, and a chunk of each."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "chains.toml").write_text(TWO_CHAINS)
    store = open_store(f"sqlite:///{folder / 'dataflow.db'}", "test@test")
    apply_changes(store, read_declarations([str(folder / "chains.toml")]))
    make_ready(store, "bobin", ["1.0"])
    make_ready(store, "days", ["2026-08-20"])
    store.close()
    return folder / "dataflow.db"


@pytest.fixture
def dataflow(
    tmp_path: Path,
    sqlite_url: str,
    filled_store: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Commands:
    """A copy of the filled store and a shell to use it."""
    shutil.copy(filled_store, tmp_path / "dataflow.db")
    return open_commands(tmp_path, sqlite_url, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        # names
        (
            "dataset show bobn",
            UNKNOWN,
            'Did you mean "bobin"? List them: dataflow dataset list',
        ),
        ("dataset remove bobn", UNKNOWN, 'Did you mean "bobin"?'),
        ("job show lodbob", UNKNOWN, 'Did you mean "loadbob"? List them: dataflow job list'),
        ("job remove lodbob", UNKNOWN, 'Did you mean "loadbob"?'),
        ("ready bobn 1", UNKNOWN, 'Did you mean "bobin"?'),
        ("withdraw bobn 1", UNKNOWN, 'Did you mean "bobin"?'),
        ("resubmit lodbob 1.0", UNKNOWN, 'Did you mean "loadbob"?'),
        ("hold lodbob", UNKNOWN, 'Did you mean "loadbob"?'),
        ("mark lodbob 1.0 READY", UNKNOWN, 'Did you mean "loadbob"?'),
        ("cancel 4711", UNKNOWN, "No run 4711"),
        ("cancel five", BAD, '"five" is not a run id. List runs: dataflow runs'),
        ("resubmit loadbob 9.9", UNKNOWN, "no work 9.9; nothing was changed. See: dataflow why loadbob 9.9"),
        ("mark loadbob 1.0 DONE", BAD, "Known: READY, FAILED, INVALID, RESUBMIT, HOLD"),
        ("secret decrypt --dataset bobin --yes", UNKNOWN, "dataflow dataset add bobin --password-stdin"),
        # dates and ranges
        ("ready days 2026-02-30", BAD, '"2026-02-30" is not a calendar date'),
        ("ready days 2026-08-21 today", BAD, "It is number 2 in the list; nothing was changed"),
        ("ready days --from 2026-08-22 --to 2026-08-21", BAD, "Swap them"),
        ("ready days --from 2026-08-22", USAGE, "--from A --to B"),
        ("ready days", USAGE, "DATAID…, --from A --to B, or --file F"),
        ("ready days 2026-08-21 --file list", USAGE, "in one way"),
        ("ready bobin --from a --to b", BAD, "List the dataids, or use --file"),
        ("ready bobin --file nowhere", FILES, 'Cannot read --file "nowhere": No such file or directory'),
        ("ready bobin --file .", FILES, 'Cannot read --file ".": Is a directory'),
        ("resubmit sum --from 2026-08-22 --to 2026-08-21", BAD, "Swap them"),
        ("resubmit sum --from 2026-08-22", USAGE, "--from A --to B"),
        ("resubmit sum", USAGE, "No work selected"),
        ("resubmit sum 2026-08-20 --failed", USAGE, "in one way"),
        ("job add sum --start 2026-02-30", BAD, "--start"),
        # registration
        ("job add x", BAD, "neither an input nor a schedule"),
        (
            "job add x --in bobn",
            UNKNOWN,
            'Did you mean "bobin"? Otherwise register it first: dataflow dataset add bobn',
        ),
        ("job add x --in bobin:befor", BAD, "Known mappings: same, previous"),
        ("job add x --in bobin:", BAD, "must be a dataset, or a dataset and a mapping"),
        ("job add x --in bobin --out bobout", CONFLICT, "already produced by job loadbob"),
        ("job add x --in bobout --out bobin", CONFLICT, "x → loadbob → x"),
        (
            "job add x --in bobin --in days",
            BAD,
            "containing, all or pairs. If days has no chunks yet: dataflow dataset add",
        ),
        ("job add x --in bobin --lease 15s", BAD, "lease 15s is too short for grace 10s"),
        ("job add x --in bobin --lease 5mn", BAD, '--lease "5mn" is not a duration'),
        ("job add x --in bobin --lease -5", BAD, "negative"),
        ("job add x --in bobin --retries -1", BAD, "--retries is -1"),
        ("job add x --in bobin --retries many", USAGE, "--retries"),
        ("job add x --in bobin --env REGION", BAD, '--env "REGION" is not NAME=VALUE'),
        ("job add x --in bobin --env A=1 --env A=2", BAD, "given twice"),
        ("job add x --in bobin --env BASH_ENV=$(id)", BAD, "--env BASH_ENV is refused"),
        ("job add x --in bobin --env LD_PRELOAD=/tmp/x.so", BAD, "--env LD_PRELOAD is refused"),
        ("job add x --in bobin --env PATH=/tmp", BAD, "[job.x.environment] in the dataflow.toml"),
        ("job add x --in bobin --env http_proxy=evil", BAD, "Choose a name in lower case, such as job_http"),
        ("job add x --schedule */61-*-*-*-*", BAD, "Use a preset such as @daily, or a cron expression"),
        ("job add x --schedule @daily --timezone Europe/Londn", BAD, 'Did you mean "Europe/London"?'),
        ("job add x --schedule @daily --start 2026-01-02 --end 2026-01-01", BAD, "Swap them"),
        ("dataset add today", BAD, "that DataFlow maintains"),
        ("dataset add x --grain dayly", BAD, 'Did you mean "daily"?'),
        ("dataset add x --timezone Mars", BAD, "is not a time zone"),
        ("dataset add x --mode half", BAD, "Known modes: partition, snapshot"),
        ("dataset add x --location /data/{date}", BAD, "Known: {dataid}"),
        ("dataset add bobin --grain daily", CONFLICT, "has chunks"),
        ("dataset remove bobin", CONFLICT, "used by loadbob"),
        ("dataset add", USAGE, "NAME"),
        ("dataset", USAGE, "add|list|show|remove"),
        ("dataset ad x", USAGE, "ad"),
        ("dataset add x --hostnme y", USAGE, "--hostnme"),
        ("purge --older-than soon", BAD, '--older-than "soon" is not a duration'),
        (
            "purge --older-than 90",
            BAD,
            "--older-than 90 has no unit. Write 90d for days, or 90s for seconds.",
        ),
        ("purge", USAGE, "--older-than"),
        ("--password hunter2 status", USAGE, "Unknown option: --password. See: dataflow --help"),
        ("--json status", USAGE, "--json belongs after the command."),
        ("status --jsno", USAGE, 'Unknown option: --jsno. Did you mean "--json"?'),
        ("apply nowhere.toml", FILES, '"nowhere.toml" does not exist'),
        ("apply", USAGE, "dataflow init"),
        ("db upgrade --print", USAGE, "PostgreSQL"),
        ("dataset list --store mysql://x", USAGE, "sqlite:///path"),
        (
            "dataset list --store postgresql://etl:hunter2@db/x",
            USAGE,
            "everyone on this machine can read arguments",
        ),
        # secrets
        (
            "dataset add bobin --password hunter2hunter2",
            USAGE,
            "visible to everyone on this machine (ps)",
        ),
        ("dataset add bobin --password=hunter2hunter2", USAGE, "--password-stdin"),
        ("secret encrypt hunter2hunter2", USAGE, "shell's history"),
        ("secret rotate hunter2hunter2", USAGE, "shell's history"),
        ("secret encrypt", SECRET, "Set PASSKEY"),
    ],
)
def test_it_is_refused_with_the_reason_and_the_next_step(
    dataflow: Commands, line: str, code: int, told: str
) -> None:
    before = dataflow.facts()
    done = dataflow.say(line, code=code)
    assert told in done.err
    assert done.err.startswith("dataflow: ")
    assert done.out == ""
    assert "hunter2" not in done.err
    assert dataflow.facts() == before


@pytest.mark.parametrize("text", ["'", '"', "a,b", "a/b", "../x", "a\nb", "a\0b", "🦆", "\udcff", LONG, ""])
def test_an_invalid_dataid_is_refused_wherever_it_is_given(dataflow: Commands, text: str) -> None:
    before = dataflow.facts()
    for words in (
        ("ready", "bobin", text),
        ("ready", "bobin", "--from", text, "--to", "9"),
        ("withdraw", "bobin", text),
        ("resubmit", "loadbob", text),
        ("hold", "loadbob", text),
        ("mark", "loadbob", text, "READY"),
    ):
        done = dataflow(*words, code=BAD)
        assert len(done.err) < 1000
        assert "\0" not in done.err
    assert dataflow.facts() == before


def test_a_bad_line_of_a_file_is_named_and_repeating_is_harmless(
    dataflow: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dataflow.facts()
    done = dataflow("ready", "bobin", "--file", "-", stdin=b"2.0\n\n3.0\n\xff\n4.0\n", code=BAD)
    assert "stdin, line 4: Dataid" in done.err
    assert "INVALID UTF-8" in done.err
    assert "nothing was changed" in done.err
    assert dataflow.facts() == before
    monkeypatch.setattr("dataflow.actions.make_ready.BULK_BATCH", 2)
    (dataflow.path / "list").write_text("2.0\n3.0\n4.0\na/b\n5.0\n")
    done = dataflow.say("ready bobin --file list", code=BAD)
    assert "list, line 4" in done.err
    assert "the 2 before it were made ready" in done.err
    (dataflow.path / "list").write_text("2.0\n3.0\n4.0\n5.0\n")
    assert "2 made ready, 2 already ready" in dataflow.say("ready bobin --file list").err


@pytest.mark.parametrize("text", STRINGS)
def test_no_string_anywhere_causes_a_traceback_or_half_a_change(dataflow: Commands, text: str) -> None:
    commands = (
        ("dataset", "add", text),
        *(("dataset", "add", "new", f"--{field}={text}") for field in FIELDS),
        ("dataset", "add", "new", f"--option=k={text}"),
        ("dataset", "add", "new", f"--option={text}"),
        ("dataset", "show", text),
        ("dataset", "remove", text),
        ("job", "add", text, "--in", "bobin"),
        *(
            ("job", "add", "new", "--in", "bobin", f"--{name}={text}")
            for name in ("in", "out", "env", "schedule")
        ),
        *(
            ("job", "add", "new", "--schedule", "@daily", f"--{name}={text}")
            for name in ("start", "end", "timezone")
        ),
        *(
            ("job", "add", "new", "--in", "bobin", f"--{name}={text}")
            for name in ("lease", "grace", "retry-delay")
        ),
        *(("job", "add", "new", "--in", "bobin", f"--{name}={text}") for name in ("retries", "priority")),
        *(
            ("job", "add", "new", "--in", "bobin", f"--{name}={text}")
            for name in (
                "pool",
                "order",
                "retry-backoff",
                "retry-max-delay",
                "final-exit-codes",
                "max-crashes",
            )
        ),
        ("pause", text),
        ("pause", f"--why={text}"),
        ("resume", text),
        ("scale", "sum", text),
        ("scale", text, "1"),
        ("pool", "set", text, "1"),
        ("pool", "set", "warehouse", text),
        ("pool", "remove", text),
        ("job", "show", text),
        ("ready", text, "1"),
        ("ready", "days", text),
        ("ready", "days", f"--from={text}", "--to=2026-08-20"),
        ("ready", "bobin", f"--file={text}"),
        ("withdraw", "days", text),
        ("resubmit", text, "--failed"),
        ("hold", "sum", text),
        ("hold", "sum", f"--why={text}"),
        ("mark", "sum", "2026-08-20", text),
        ("cancel", text),
        ("purge", f"--older-than={text}"),
        ("secret", "decrypt", f"--dataset={text}", "--yes"),
        ("apply", text),
    )
    _assert_all_or_nothing(dataflow, commands)


def _assert_all_or_nothing(dataflow: Commands, commands: Iterable[tuple[str, ...]]) -> None:
    """Each command does its work or changes nothing, and says so briefly on stderr."""
    before = dataflow.facts()
    for words in commands:
        done = dataflow(*words, code=None)
        assert done.code in (0, USAGE, BAD, UNKNOWN, FILES, CONFLICT, SECRET, CONFIG), (words, done)
        assert len(done.err) < 4000
        assert not re.search(r"[\x00-\x08\x1b]", done.err), (words, done)
        after = dataflow.facts()
        if done.code:
            assert after == before, (words, done)
        before = after


def test_a_wrong_passphrase_a_tampered_and_a_swapped_record_are_distinguished(dataflow: Commands) -> None:
    dataflow.environment.setenv("PASSKEY", "open sesame")
    dataflow.say("dataset add bobin --password-stdin", stdin="correct horse")
    dataflow.say("dataset add bobout --password-stdin", stdin="battery staple")
    records = re.findall(r'encryptedpass = "(.*)"', dataflow.say("export --with-secrets").out)
    ours, other = records
    messages = []
    for passkey, record in (
        ("guess", ours),
        ("open sesame", ours[:-2] + ("A" if ours[-2] != "A" else "B") + ours[-1]),
        ("open sesame", other),
    ):
        (dataflow.path / "flow.toml").write_text(f'[dataset.bobin]\nencryptedpass = "{record}"\n')
        dataflow.environment.setenv("PASSKEY", "open sesame")
        dataflow.say("apply --yes flow.toml")
        dataflow.environment.setenv("PASSKEY", passkey)
        done = dataflow.say("secret decrypt --dataset bobin --yes", code=SECRET)
        assert "dataflow dataset add bobin --password-stdin" in done.err
        messages.append(done.err)
        assert dataflow.json("dataset", "show", "bobin")["password"] is True
    assert "passphrase does not decrypt" in messages[0]
    assert "modified, or copied" in messages[2]
    dataflow.environment.setenv("PASSKEY", "open sesame")
    dataflow.say("dataset add bobin --password-stdin", stdin="replaced it")
    assert dataflow.say("secret decrypt --dataset bobin --yes").out == "replaced it\n"


@pytest.mark.parametrize(
    ("password", "reason"), [("short", "shorter than 8 bytes"), ("", "No password on stdin")]
)
def test_a_password_that_cannot_be_stored_is_refused(dataflow: Commands, password: str, reason: str) -> None:
    dataflow.environment.setenv("PASSKEY", "open sesame")
    before = dataflow.facts()
    assert reason in dataflow.say("dataset add bobin --password-stdin", stdin=password, code=SECRET).err
    assert dataflow.facts() == before


def test_a_password_in_a_declaration_is_refused(dataflow: Commands) -> None:
    (dataflow.path / "flow.toml").write_text('[dataset.bobin]\npassword = "hunter2hunter2"\n')
    done = dataflow.say("apply --yes flow.toml", code=CONFIG)
    assert "password in plain text" in done.err
    (dataflow.path / "flow.toml").write_text('[dataset.bobin]\nencryptedpass = "hunter2hunter2"\n')
    more = dataflow.say("apply --yes flow.toml", code=BAD)
    assert "is not an encrypted record" in more.err
    assert "hunter2" not in done.err + more.err


def test_all_faults_of_a_declaration_are_named(dataflow: Commands) -> None:
    before = dataflow.facts()
    text = '[dataset.x]\ngrane = "daily"\n[job.y]\nin = "x"\nretries = -1\n'
    (dataflow.path / "flow.toml").write_text(text)
    done = dataflow.say("apply --yes flow.toml", code=CONFIG)
    for told in ('grane: unknown key. Did you mean "grain"?', "job.y.in", "job.y.retries"):
        assert told in done.err
    assert dataflow.facts() == before


def test_each_way_a_server_refuses_has_its_own_message(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dataflow = open_commands(tmp_path, postgres_url, monkeypatch, capsys)
    parts = urlsplit(postgres_url)
    user, _, rest = parts.netloc.partition(":")
    password, _, host = rest.rpartition("@")
    wrong = {
        "rejected the user or password. Check store_encryptedpass in dataflow.toml": parts._replace(
            netloc=f"{user}:not-the-password@{host}"
        ),
        "store_encryptedpass in dataflow.toml, or set DATAFLOW_STORE or PGPASSWORD": parts._replace(
            netloc=f"{user}@{host}"
        ),
        "has no such database. Create it: createdb -h": parts._replace(path="/nowhere"),
        "cannot be used: connection is bad: invalid sslmode value": parts._replace(query="sslmode=nonsense"),
    }
    for told, url in wrong.items():
        monkeypatch.setenv("DATAFLOW_STORE", urlunsplit(url))
        done = dataflow.say("dataset list", code=DENIED)
        assert told in done.err
        assert password not in done.err
        assert "not-the-password" not in done.err
    monkeypatch.setenv("DATAFLOW_STORE", postgres_url)
    monkeypatch.setenv("DATAFLOW_SCHEMA", "elsewhere")
    assert "no DataFlow tables in schema elsewhere" in dataflow.say("dataset list", code=MISMATCH).err
    monkeypatch.delenv("DATAFLOW_SCHEMA")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("INSERT INTO dataflow.migration VALUES (999, 'from_the_future')")
        connection.execute("UPDATE dataflow.meta SET value = '999' WHERE key = 'oldest_schema'")
    for line in ("dataset list", "ready bobin 1", "db upgrade"):
        assert "Upgrade DataFlow on this machine" in dataflow.say(line, code=MISMATCH).err


def test_the_store_url_overrides_our_own_settings(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dataflow = open_commands(tmp_path, postgres_url, monkeypatch, capsys)
    ask = "select current_setting('application_name') as name, current_setting('work_mem') as memory"
    assert dataflow.json("sql", ask)[0]["name"] == "dataflow"
    query = "application_name=night%20load&options=-c%20work_mem%3D5MB"
    separator = "&" if "?" in postgres_url else "?"
    monkeypatch.setenv("DATAFLOW_STORE", f"{postgres_url}{separator}{query}")
    assert dataflow.json("sql", ask) == [{"name": "night load", "memory": "5MB"}]


def test_a_statement_that_cannot_run_names_what_exists(dataflow: Commands) -> None:
    done = dataflow("sql", "select * from nosuch", code=65)
    assert "nosuch" in done.err
    command = done.err.partition("To see what you can read: dataflow sql '")[2].rstrip().removesuffix("'")
    assert "chunk" in dataflow("sql", command).out


def test_a_removed_working_directory_is_reported(dataflow: Commands, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    dataflow.environment.chdir(gone)
    gone.rmdir()
    try:
        done = dataflow.say("dataset list", code=78)
        assert "The working directory no longer exists" in done.err
    finally:
        dataflow.environment.chdir(dataflow.path)


def test_a_newer_store_or_a_missing_one_is_refused(dataflow: Commands, tmp_path: Path) -> None:
    future = tmp_path / "future.db"
    dataflow.say(f"db upgrade --store sqlite:///{future}")
    with closing(sqlite3.connect(future)) as connection:
        connection.executescript("UPDATE meta SET value = '999' WHERE key = 'oldest_schema'")
        connection.executescript("PRAGMA user_version = 999")
    assert "has schema 999" in dataflow.say(f"dataset list --store sqlite:///{future}", code=MISMATCH).err
    (tmp_path / "text.db").write_text("This is no database. " * 100)
    done = dataflow.say(f"dataset list --store sqlite:///{tmp_path / 'text.db'}", code=DENIED)
    assert "is not a DataFlow store" in done.err
    done = dataflow.say("dataset add x --store sqlite:////proc/none/dataflow.db", code=69)
    assert "Choose another location with --store or DATAFLOW_STORE" in done.err


def test_a_file_that_cannot_be_read_or_written_is_named_once(dataflow: Commands) -> None:
    dataflow.say("dataset add joined")
    dataflow.say("job add join --in bobin:pairs --out joined")
    done = dataflow.say("job pairs join bobin nowhere", code=FILES)
    assert done.err == 'dataflow: Cannot read FILE "nowhere": No such file or directory.\n'
    (dataflow.path / "plain").write_text("")
    done = dataflow.say("init plain", code=FILES)
    assert done.err.startswith("dataflow: Cannot write ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_store_of_another_user_is_denied(tmp_path: Path) -> None:
    path = tmp_path / "closed" / "dataflow.db"
    SqliteDatabase(str(path)).close()
    path.chmod(0o600)
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    path.parent.chmod(0o755)
    os.seteuid(65534)
    try:
        with pytest.raises(errors.StoreDenied, match="This user may not open the store"):
            SqliteDatabase(str(path))
        path_in_closed = tmp_path / "new" / "dataflow.db"
        with pytest.raises(errors.StoreDenied, match=r"Permission denied. SQLite needs"):
            SqliteDatabase(str(path_in_closed))
    finally:
        os.seteuid(0)
