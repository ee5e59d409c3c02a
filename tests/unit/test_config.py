"""One Config from flags, variables, dataflow.toml, dataflow.properties and defaults."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.config.settings import Config, load_config
from dataflow.config.store_url import split_store_url
from dataflow.config.variables import OWN_VARIABLES, SETTINGS, VARIABLES
from dataflow.errors import ConfigError, UsageError
from dataflow.model.url_text import masked_url

PASSWORDS = st.text("QXZ789", min_size=8)  # of signs that the rest of the URL has not


def load(folder: Path, store: str | None = None, **environ: str) -> Config:
    return load_config(str(folder), environ, store)


def refused(folder: Path, store: str | None = None, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(folder, store, **environ)
    return str(caught.value)


def write_toml(folder: Path, text: str) -> Path:
    path = folder / "dataflow.toml"
    path.write_text(text)
    return path


def test_a_folder_without_any_file_is_a_project_with_an_embedded_store(tmp_path: Path) -> None:
    config = load(tmp_path)
    assert config.project_dir == str(tmp_path)
    assert config.store_url == f"sqlite:///{tmp_path}/.dataflow/dataflow.db"
    assert config.log_dir == f"{tmp_path}/.dataflow/logs"
    assert config.lock_dir == f"{tmp_path}/.dataflow/locks"
    assert (config.environment, config.store_schema) == ("dev", "dataflow")
    assert config.actor == f"{config.user}@{config.host}"
    assert config.host == os.uname().nodename
    assert (config.passkey, config.passkey_file, config.store_password_record) == (None, None, None)
    assert config.checks == {}


@pytest.mark.parametrize("name", ["a?b", "a b", "~x", "50%25", "a@b:c", "é"])
def test_the_embedded_store_works_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    found = split_store_url(load(tmp_path / name).store_url)
    assert (found.kind, found.path) == ("sqlite", f"{tmp_path}/{name}/.dataflow/dataflow.db")


@pytest.mark.parametrize("marker", ["dataflow.toml", "dataflow.properties", ".dataflow/dataflow.db"])
def test_the_project_is_found_upward_from_the_working_directory(tmp_path: Path, marker: str) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / marker).parent.mkdir(exist_ok=True)
    (tmp_path / marker).write_text("url=jdbc:postgresql://h/d\n" if marker.endswith("properties") else "")
    assert load(below).project_dir == str(tmp_path)


def test_the_nearest_project_wins(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    (inner / ".dataflow").mkdir(parents=True)
    (inner / ".dataflow" / "dataflow.db").write_text("")
    write_toml(tmp_path, 'environment = "outer"')
    config = load(inner)
    assert (config.project_dir, config.environment) == (str(inner), "dev")


def test_a_state_folder_without_a_store_is_not_a_project(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / ".dataflow" / "logs").mkdir(parents=True)
    assert load(below).project_dir == str(below)


def test_a_file_called_dot_dataflow_is_not_a_project(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / ".dataflow").write_text("")
    assert load(below).project_dir == str(below)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize("planted", ["dataflow.toml", ".dataflow"])
def test_a_project_of_another_user_in_a_shared_folder_is_ignored(tmp_path: Path, planted: str) -> None:
    shared = tmp_path / "shared"
    below = shared / "mine"
    below.mkdir(parents=True)
    shared.chmod(stat.S_ISVTX | 0o777)
    (shared / ".dataflow").mkdir()
    if planted == ".dataflow":
        (shared / planted / "dataflow.db").write_text("")
    else:
        write_toml(shared, '[dataset.a]\ncheck = "echo pwned"')
    os.chown(shared / planted, 12345, 12345)
    config = load(below)
    assert (config.project_dir, config.checks) == (str(below), {})
    (shared / ".dataflow" / "dataflow.db").write_text("")
    os.chown(shared / ".dataflow", 0, 0)
    assert load(below).checks == {}


def test_the_variable_names_the_project_in_any_working_directory(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "elsewhere").mkdir()
    write_toml(tmp_path / "p", 'environment = "prod"')
    assert load(tmp_path / "elsewhere", DATAFLOW_PROJECT="../p").environment == "prod"
    assert "DATAFLOW_PROJECT" in refused(tmp_path, DATAFLOW_PROJECT="nowhere")


def test_flag_beats_variable_beats_toml_beats_properties_beats_default(tmp_path: Path) -> None:
    flag, variable = "sqlite:////f.db", "sqlite:////v.db"
    (tmp_path / "dataflow.properties").write_text("url=jdbc:postgresql://h:5432/p\nuser=etl\n")
    assert load(tmp_path).store_url == "postgresql://etl@h:5432/p"
    write_toml(tmp_path, 'store = "sqlite:////t.db"')
    assert load(tmp_path).store_url == "sqlite:////t.db"
    assert load(tmp_path, DATAFLOW_STORE=variable).store_url == variable
    assert load(tmp_path, flag, DATAFLOW_STORE=variable).store_url == flag


@pytest.mark.parametrize(
    ("name", "attribute"),
    [("environment", "environment"), ("schema", "store_schema"), ("log_dir", "log_dir"),
     ("lock_dir", "lock_dir"), ("passkey_file", "passkey_file")],
)  # fmt: skip
def test_a_variable_beats_the_toml_for_every_setting(tmp_path: Path, name: str, attribute: str) -> None:
    write_toml(tmp_path, f'{name} = "fromtoml"')
    assert getattr(load(tmp_path), attribute).endswith("fromtoml")
    assert getattr(load(tmp_path, **{f"DATAFLOW_{name.upper()}": "other"}), attribute).endswith("other")


def test_every_setting_is_a_key_of_the_toml_and_described(tmp_path: Path) -> None:
    lines = {name: f'{name} = "x"' for name in SETTINGS} | {"store": 'store = "postgresql://h/d"'}
    write_toml(tmp_path, "\n".join(lines.values()))
    assert load(tmp_path).store_password_record == "x"
    assert all({**SETTINGS, **VARIABLES, **OWN_VARIABLES}.values())


def test_relative_paths_start_at_the_file_or_for_variables_at_the_working_directory(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    write_toml(tmp_path, 'store = "sqlite:///data/s.db"\nlog_dir = "logs"')
    config = load(below)
    assert config.store_url == f"sqlite:///{tmp_path}/data/s.db"
    assert config.log_dir == f"{tmp_path}/logs"
    assert load(below, DATAFLOW_STORE="sqlite:///s.db").store_url == f"sqlite:///{below}/s.db"
    assert load(below, "sqlite:///../s.db").store_url == f"sqlite:///{tmp_path}/s.db"


def test_an_empty_variable_counts_as_unset(tmp_path: Path) -> None:
    config = load(tmp_path, DATAFLOW_STORE="", DATAFLOW_ENVIRONMENT="", PASSKEY="")
    assert (config.environment, config.passkey) == ("dev", None)


def test_everything_wrong_is_reported_at_once(tmp_path: Path) -> None:
    path = write_toml(
        tmp_path,
        'stor = "x"\nenvironment = 3\nschema = "pg_x"\n'
        '[dataset.a]\ngrian = "daily"\n[job.b]\nretries = "two"',
    )
    message = refused(tmp_path, DATAFLOW_ENVIRONMENT="a b", DATAFLOW_STOER="x")
    assert message.startswith("7 problems in the configuration:")
    assert f'{path}: stor: unknown key. Did you mean "store"?' in message
    assert f"{path}: environment: must be a quoted string, not a whole number" in message
    assert f"{path}: schema: must not start with pg_" in message
    assert f'{path}: dataset.a.grian: unknown key. Did you mean "grain"?' in message
    assert f"{path}: job.b.retries: must be a whole number, not a string" in message
    assert 'DATAFLOW_STOER: unknown setting. Did you mean "DATAFLOW_STORE"?' in message
    assert "DATAFLOW_ENVIRONMENT: must be" in message


def test_an_unknown_key_that_resembles_none_lists_the_known_ones(tmp_path: Path) -> None:
    write_toml(tmp_path, "zzz = 1")
    message = refused(tmp_path)
    assert "zzz: unknown key. Known names:" in message
    assert all(name in message for name in SETTINGS)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'store = "a"\nenvironment 3\n', ":2:13: Expected '='"),
        (b'a = "\n', ":1:6: "),
        (b"a = [1,\n2", ":2:2: "),
        (b'# \xc3\xa9\nstore = "\xff"\n', ":2:10: is not UTF-8"),
        (b"a = " + b"[" * 5000, "nesting that is too deep"),
        (b"a = " + b"1" * 5000, "number that is too long"),
    ],
    ids=["no equals sign", "line end", "end of file", "not UTF-8", "nesting", "number"],
)
def test_a_toml_that_cannot_be_read_says_file_line_and_column(
    tmp_path: Path, content: bytes, place: str
) -> None:
    (tmp_path / "dataflow.toml").write_bytes(content)
    message = refused(tmp_path)
    assert message.startswith(f"{tmp_path}/dataflow.toml:")
    assert place in message


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "dataflow.toml").write_bytes('\ufeffenvironment = "prod"\r\n'.encode())
    assert load(tmp_path).environment == "prod"


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "dataflow.toml").mkdir()
    assert "cannot be read: Is a directory" in refused(tmp_path)


@pytest.mark.parametrize("name", [*OWN_VARIABLES, "DATAFLOW_CONN_BOBIN", "DATAFLOW_hostname", "DATAFLOWER"])
def test_variables_that_are_known_or_unrelated_are_accepted(tmp_path: Path, name: str) -> None:
    load(tmp_path, **{name: "x"})


@pytest.mark.parametrize(
    "name",
    ["DATAFLOW_SERVICE_HOST", "DATAFLOW_SERVICE_PORT_HTTP", "DATAFLOW_PORT", "DATAFLOW_PORT_80_TCP_ADDR",
     "DATAFLOW_API_SERVICE_PORT"],
)  # fmt: skip
def test_variables_that_kubernetes_sets_for_a_service_called_dataflow_are_ignored(
    tmp_path: Path, name: str
) -> None:
    load(tmp_path, **{name: "x"})


@pytest.mark.parametrize("value", ["", "a b", "-x", "x" * 64, "prod\n", "é"])
def test_an_environment_name_is_short_and_plain(tmp_path: Path, value: str) -> None:
    write_toml(tmp_path, f"environment = '''{value}'''")
    assert f"{tmp_path}/dataflow.toml: environment" in refused(tmp_path)


def test_a_schema_name_that_postgresql_would_truncate_is_refused(tmp_path: Path) -> None:
    assert load(tmp_path, DATAFLOW_SCHEMA="é" * 31).store_schema == "é" * 31
    assert "1 to 63 bytes" in refused(tmp_path, DATAFLOW_SCHEMA="é" * 32)


def test_checks_are_commands_on_this_machine(tmp_path: Path) -> None:
    write_toml(
        tmp_path, '[dataset.a]\ncheck = ["test", "-s", "f"]\n[dataset.b]\ncheck = "wc -l < f | grep 3"'
    )
    assert load(tmp_path).checks == {
        "a": ("test", "-s", "f"),
        "b": ("/bin/sh", "-c", "wc -l < f | grep 3"),
    }


def test_the_text_of_a_config_shows_no_secret(tmp_path: Path) -> None:
    config = load(tmp_path, PASSKEY="open-sesame", DATAFLOW_STORE="postgresql://u:hunter22@h/d")
    assert (config.passkey, config.store_password) == ("open-sesame", "hunter22")
    assert config.store_url == "postgresql://u@h/d"
    assert "open-sesame" not in repr(config)
    assert "hunter22" not in repr(config)


@pytest.mark.parametrize(
    "url",
    ["postgresql://u:hunter22@h/d", "postgresql://h/d?password=hunter22", "postgres://h?pass%77ord=hunter22"],
)
def test_a_password_is_refused_in_an_argument_and_in_the_toml_but_accepted_in_the_variable(
    tmp_path: Path, url: str
) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, url)
    assert all(word in str(caught.value) for word in ("--store", "ps", "DATAFLOW_STORE", "PGPASSWORD"))
    config = load(tmp_path, DATAFLOW_STORE=url)
    assert config.store_password == "hunter22"
    assert "hunter22" not in config.store_url
    write_toml(tmp_path, f'store = "{url}"')
    message = refused(tmp_path)
    assert f"{tmp_path}/dataflow.toml: store: contains a password in plain text" in message
    assert "store_encryptedpass" in message
    assert "hunter22" not in message + str(caught.value)


def test_an_encrypted_password_is_sent_only_to_the_store_declared_with_it(tmp_path: Path) -> None:
    write_toml(tmp_path, 'store = "postgresql://u@h/d"\nstore_encryptedpass = "abc"')
    assert load(tmp_path).store_password_record == "abc"
    assert load(tmp_path, "postgresql://u@other/d").store_password_record is None
    assert load(tmp_path, DATAFLOW_STORE="postgresql://u@other/d").store_password_record is None
    (tmp_path / "dataflow.toml").unlink()
    (tmp_path / "dataflow.properties").write_text("url=jdbc:postgresql://h/d\nschema=etl\nencrypted=abc\n")
    assert load(tmp_path).store_password_record == "abc"
    config = load(tmp_path, "postgresql://u@other/d")
    assert (config.store_password_record, config.store_schema) == (None, "dataflow")


@pytest.mark.parametrize("store", ["", 'store = "sqlite:///x.db"\n'])
def test_an_encrypted_password_without_a_server_is_refused(tmp_path: Path, store: str) -> None:
    write_toml(tmp_path, f'{store}store_encryptedpass = "abc"')
    assert "store_encryptedpass: has no effect without a PostgreSQL `store`" in refused(tmp_path)


def test_a_broken_properties_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "dataflow.properties").write_text("url=jdbc:h2:mem:x\n")
    assert refused(tmp_path).startswith(f"{tmp_path}/dataflow.properties: url jdbc:h2 is not supported")


@pytest.mark.parametrize(
    "url",
    ["mysql://u:hunter22@h/d", "hunter22", "sqlite://x.db", "sqlite:x.db", "sqlite:///", "sqlite:///dir/",
     "sqlite:///x.db?mode=ro", "sqlite:///~/x.db", "postgresql:h/d", "postgresql://u:hunter22/x@h/d",
     "postgresql://u:1/hunter22@h/d", "postgresql://u:1?hunter22@h/d", "postgresql://h:port/d",
     "postgresql://h/d?sslpassword=hunter22", "jdbc:postgresql://h/d?password=hunter22", "",
     "host=h password=hunter22"],
)  # fmt: skip
def test_a_url_that_is_not_a_store_is_refused_with_the_two_forms_and_without_its_password(
    tmp_path: Path, url: str
) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, url)
    messages = [str(caught.value)]
    if url:
        messages.append(refused(tmp_path, DATAFLOW_STORE=url))
    write_toml(tmp_path, f'store = "{url}"')
    messages.append(refused(tmp_path))
    for message in messages:
        assert "hunter22" not in message
    if url.startswith(("mysql", "hunter", "host")):
        assert "sqlite:///path" in messages[0]
        assert "postgresql://user@host" in messages[0]


@pytest.mark.parametrize(
    ("url", "hosts", "user", "database"),
    [
        ("postgresql://u@h:5432/d", "h:5432", "u", "d"),
        ("postgres://u@h/d", "h", "u", "d"),
        ("postgresql:///d", "", "", "d"),
        ("postgresql://[::1]:5432,b:1/d", "[::1]:5432,b:1", "", "d"),
        ("postgresql://a%40b@%2Fvar%2Frun/d%20e?sslmode=require", "%2Fvar%2Frun", "a@b", "d e"),
    ],
)
def test_a_postgresql_url_is_split_and_joined_unchanged(
    url: str, hosts: str, user: str, database: str
) -> None:
    found = split_store_url(url)
    assert (found.hosts, found.user, found.database, found.password) == (hosts, user, database, None)
    assert found.url == url.replace("postgres://", "postgresql://")
    assert split_store_url(found.url) == found


@given(
    user=st.text(st.characters(codec="utf-8"), min_size=1),
    password=st.text(st.characters(codec="utf-8"), min_size=1),
    database=st.text(st.characters(codec="utf-8")),
)
def test_any_user_password_and_database_survive_the_url(user: str, password: str, database: str) -> None:
    from urllib.parse import quote

    parts = (quote(part, safe="") for part in (user, password, database))
    found = split_store_url("postgresql://{}:{}@h:1/{}?sslmode=require".format(*parts))
    assert (found.user, found.password, found.database) == (user, password, database)
    assert split_store_url(found.url) == split_store_url(f"postgresql://{found.url[13:]}")
    assert split_store_url(found.url).password is None


@given(password=PASSWORDS, noise=st.text("/?@:&=#%. x", max_size=3), after=st.text("/?@:&=#%. x", max_size=3))
def test_masking_hides_any_password_before_a_host(password: str, noise: str, after: str) -> None:
    secret = noise + password + after
    assert password not in masked_url(f"postgresql://user:{secret}@host/db?sslmode=require")


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("postgresql://u:hunter22@h:5432/d", "postgresql://u:***@h:5432/d"),
        ("postgresql://u@h:5432/d?application_name=a@b", "postgresql://u@h:5432/d?application_name=a@b"),
        ("postgresql://h:5432/d?application_name=a%40b", "postgresql://h:5432/d?application_name=a%40b"),
        ("postgresql://h/d?password=x&sslmode=a", "postgresql://h/d?password=***&sslmode=a"),
        ("postgresql://h/d?%70assword=x", "postgresql://h/d?%70assword=***"),
        (
            "postgresql://h/d?oauth_client_id=me&oauth_client_secret=x&sslkey=/k&target_session_attrs=any",
            "postgresql://h/d?oauth_client_id=me&oauth_client_secret=***&sslkey=/k&target_session_attrs=any",
        ),
        ("postgresql://h/d?options=-cpassword=x&sslmode=a", "postgresql://h/d?options=***&sslmode=a"),
        ("postgresql://h/d?options=-c%20app.passwd%3Dx%26y", "postgresql://h/d?options=***"),
        ("postgresql://h/d?options=-csearch_path=a", "postgresql://h/d?options=-csearch_path=a"),
        ("host=h password='a b' user=u", "host=h password=*** user=u"),
        ("postgresql:u:x@h/d", "postgresql:***@h/d"),
        ("sqlite:////a@b:c/d@e.db", "sqlite:////a@b:c/d@e.db"),
    ],
)
def test_a_masked_url_shows_everything_but_the_password(url: str, masked: str) -> None:
    assert masked_url(url) == masked


def test_processes_that_share_a_sqlite_file_share_its_lock_folder(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    (one / ".dataflow").mkdir(parents=True)
    two.mkdir()
    (tmp_path / "link").symlink_to(one)
    url = f"sqlite:///{tmp_path}/link/.dataflow/dataflow.db"
    assert load(two, url).lock_dir == load(one).lock_dir == f"{one}/.dataflow/locks"
    assert load(two, f"sqlite:///{one}/s.db").lock_dir == f"{one}/s.db-locks"


def test_processes_that_share_a_server_share_a_lock_folder_whatever_their_project(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    url = "postgresql://u@h/d"
    assert load(tmp_path / "a", url, TMPDIR="/x").lock_dir == load(tmp_path / "b", url).lock_dir


def test_a_project_without_a_toml_does_not_import_the_toml_reader(tmp_path: Path) -> None:
    slow = [
        "tomllib",
        "typing",
        "pathlib",
        "datetime",
        "difflib",
        "urllib",
        "subprocess",
        "zoneinfo",
        "logging",
    ]
    code = (
        "import sys\n"
        "from dataflow.config.settings import load_config\n"
        "load_config(sys.argv[1], {})\n"
        f"print([name for name in {slow} if name in sys.modules])"
    )
    command = [sys.executable, "-S", "-c", code, str(tmp_path)]
    environ = {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout == "[]\n"
