"""What a child must not inherit: DataFlow's own secrets, and those of an outer run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dataflow.actions.register import add_dataset
from dataflow.config.settings import load_config
from dataflow.model.record import replace
from dataflow.model.records import Dataset
from dataflow.runjob.environment import own_secrets
from dataflow.secrets.cipher import encrypt
from tests.acceptance.flow import Flow

PASSPHRASE = "correct horse battery staple"
OUTER = "secret-of-the-outer-run"


def log_text(flow: Flow) -> str:
    """The text of all logs of the project."""
    folder = flow.path / ".dataflow" / "logs"
    return "".join(path.read_text() for path in sorted(folder.glob("*.log")))


def test_the_password_of_a_store_that_was_not_chosen_is_kept_from_the_child(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "env")
    elsewhere = {"DATAFLOW_STORE": "postgresql://etl:sup3rsecret@nowhere/dataflow"}
    done = flow.runjob("--store", flow.url, "./loadbob.sh", env=elsewhere)
    assert "dataid=1" in done.stdout
    assert "sup3rsecret" not in done.stdout + done.stderr + log_text(flow)


def test_the_password_that_opens_the_store_is_kept_from_the_child(postgres_flow: Flow) -> None:
    flow = postgres_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "env; echo pgpass-of-store")
    done = flow.runjob("./loadbob.sh", env=flow.env | {"PGPASSWORD": "pgpass-of-store"})
    assert "PGPASSWORD" not in done.stdout
    assert "pgpass-of-store" not in done.stdout + log_text(flow)
    assert "DATAFLOW_STORE" not in done.stdout


def test_pgpassword_is_passed_on_when_the_store_is_a_file(tmp_path: Path) -> None:
    environ = {"PGPASSWORD": "mine", "PASSKEY": "ours"}
    config = load_config(str(tmp_path), {})
    assert own_secrets(environ, config) == {"PASSKEY": "ours"}
    assert own_secrets(environ, replace(config, store_url="postgresql://h/d")) == environ


CHANNELS = """
[notify.team]
kind = "slack"
url_variable = "TEAM_URL"
[notify.mail]
kind = "email"
host = "127.0.0.1"
username = "etl"
password_variable = "MAIL_WORD"
from = "etl@example.com"
to = ["ops@example.com"]
[notify.hook]
kind = "webhook"
url = "http://127.0.0.1:9/"
secret_variable = "HOOK_KEY"
[server.login]
issuer = "https://id.example.com"
client_id = "dataflow"
secret_variable = "LOGIN_WORD"
allowed_domains = ["example.com"]
[connection.warehouse]
host = "nowhere"
password_variable = "WAREHOUSE_WORD"
"""


def test_the_secrets_of_channels_and_of_the_login_are_kept_from_the_child(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    (flow.path / "dataflow.toml").write_text(CHANNELS)
    flow.script("loadbob.sh", "env; env > given; echo sup3r-mail")
    own = {
        "TEAM_URL": "http://127.0.0.1:9/services/sup3r-team",
        "MAIL_WORD": "sup3r-mail",
        "HOOK_KEY": "whsec_c3VwM3ItaG9vaw==",
        "LOGIN_WORD": "sup3r-login",
        "AUTHBROKER_CLIENT_SECRET": "sup3r-broker",
    }
    done = flow.runjob("./loadbob.sh", env=own | {"WAREHOUSE_WORD": "sup3r-warehouse"})
    given = (flow.path / "given").read_text()
    assert "dataid=1" in given and not any(name in given for name in own)
    assert "WAREHOUSE_WORD=sup3r-warehouse" in given  # scripts may need it
    assert "WAREHOUSE_WORD=***" in log_text(flow)
    assert "sup3r" not in done.stdout + done.stderr + log_text(flow)


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg2"])
def test_the_password_of_a_pipelines_connection_is_kept_from_the_child(
    sqlite_flow: Flow, scheme: str
) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1")
    sqlite_flow.script("loadbob.sh", "env; echo sup3rsecret")
    connections = {
        "DATAFLOW_CONN_WAREHOUSE": f"{scheme}://etl:sup3rsecret@nowhere/warehouse",
        "DATAFLOW_CONN_OPEN": "postgresql://nowhere/open",
    }
    done = sqlite_flow.runjob("./loadbob.sh", env=connections)
    assert "DATAFLOW_CONN_OPEN=postgresql://nowhere/open" in done.stdout
    assert "DATAFLOW_CONN_WAREHOUSE" not in done.stdout
    assert "sup3rsecret" not in done.stdout + log_text(sqlite_flow)


def test_a_secret_that_a_script_inherits_reaches_it_and_no_log(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "env; env > given")
    inherited = {
        "AIRFLOW_CONN_WAREHOUSE": "mysql://etl:sup3r%2Fsecret@nowhere/warehouse",
        "AIRFLOW_CONN_OTHER": "postgresql://airflow:airflow@nowhere/other",  # too short
        "HAWK_KEY": "the-key-of-hawk",
        "OAUTH_CLIENT_SECRET": "the-secret-of-a-client",
        "PGPASSWORD": "the-password-of-another-server",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": "the-token-of-spark",
    }
    done = flow.runjob("./loadbob.sh", env=inherited)
    given = (flow.path / "given").read_text().splitlines()
    assert {f"{name}={value}" for name, value in inherited.items()} <= set(given)
    shown = [line for line in done.stdout.splitlines() if line.partition("=")[0] in inherited]
    assert sorted(shown) == [
        "AIRFLOW_CONN_OTHER=postgresql://airflow:airflow@nowhere/other",
        "AIRFLOW_CONN_WAREHOUSE=mysql://etl:***@nowhere/warehouse",
        "HAWK_KEY=***",
        "OAUTH_CLIENT_SECRET=***",
        "PGPASSWORD=***",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN=***",
    ]
    assert set(shown) <= set(log_text(flow).splitlines())


def test_a_run_inside_a_run_does_not_get_the_outer_ones_passwords(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(
        '[dataset.a]\n[dataset.b]\n[dataset.c]\n[dataset.d]\n[job.outer]\nin = ["a"]\nout = ["b"]\n'
        '[job.inner]\nin = ["c"]\nout = ["d"]\n'
    )
    with flow.store() as store:
        record = encrypt(OUTER, PASSPHRASE, "dataset:a")
        add_dataset(store, Dataset("a", encryptedpass=record), given=("encryptedpass",))
    flow.ready("a", "1")
    flow.ready("c", "1")
    inner = flow.script("inner.sh", 'env > inner-env; echo "and $a_password"')
    flow.script(
        "outer.sh", f'test -n "$a_password" && {sys.executable} -m dataflow.cli.runjob {inner}; echo done'
    )
    flow.runjob("./outer.sh", env=flow.env | {"PASSKEY": PASSPHRASE})
    told = (flow.path / "inner-env").read_text()
    assert "dataid=1" in told
    assert OUTER not in told + log_text(flow)
    assert flow.outcomes() == ["DONE", "DONE"]


def test_a_misspelt_secret_option_is_not_echoed(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    for words in (["--passkey=hunter22secret", "x.sh"], ["--passkey", "hunter22secret", "x.sh"]):
        done = sqlite_flow.runjob(*words, code=None)
        assert done.returncode != 0
        assert "hunter22secret" not in done.stderr


@pytest.mark.parametrize("words", [["--passkey=hunter22secret"], ["-x=hunter22secret"]])
def test_force_does_not_echo_it_either(sqlite_flow: Flow, words: list[str]) -> None:
    done = sqlite_flow.dataflow("force", "j", "1", *words, "--", "true", check=False)
    assert done.returncode == 64
    assert "hunter22secret" not in done.stderr


def test_the_context_file_belongs_to_one_process_alone(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1", "2")
    flow.script(
        "loadbob.sh", 'echo "$DATAFLOW_CONTEXT"; cat "$DATAFLOW_CONTEXT" | tr , "\\n" | grep \'"dataid"\''
    )
    paths = []
    for dataid in ("1", "2"):
        lines = flow.runjob("./loadbob.sh").stdout.splitlines()
        assert f'"dataid": "{dataid}"' in lines[1]
        paths.append(Path(lines[0]))
    assert paths[0] != paths[1]
    assert not any(path.exists() for path in paths)
