"""The [server] table: read whole, with every problem named at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.config.server import ServerSettings, load_server_settings
from dataflow.config.server_values import is_loopback, split_listen
from dataflow.config.settings import load_config
from dataflow.errors import BadInput, ConfigError

LOGIN = """
[server.login]
issuer = "https://id.example.com"
client_id = "dataflow"
secret_variable = "SSO_SECRET"
allowed_domains = ["Example.com"]
"""
BROKER = {
    "AUTHBROKER_URL": "https://sso.example.com/",
    "AUTHBROKER_CLIENT_ID": "flow",
    "AUTHBROKER_CLIENT_SECRET": "hunter2-hunter2",
    "AUTHBROKER_ALLOWED_DOMAINS": "digital.trade.example, trade.example",
}


def load(folder: Path, text: str, **environ: str) -> ServerSettings:
    (folder / "dataflow.toml").write_text(text)
    load_config(str(folder), {})  # every other command ignores the table
    return load_server_settings(str(folder), environ)


def problem(folder: Path, text: str, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(folder, text, **environ)
    return str(caught.value)


def test_without_a_file_the_server_is_for_this_machine(tmp_path: Path) -> None:
    settings = load_server_settings(str(tmp_path), {})
    assert settings == ServerSettings()
    assert (settings.host, settings.port, settings.requires_login) == ("127.0.0.1", 8150, False)


def test_every_key_is_read(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
[server]
listen = "0.0.0.0:9000"
url = "https://flow.example.com/"
hosts = ["flow"]
trusted_proxies = ["10.0.0.0/8", "::1"]
users = true
operators = ["Eve@example.com"]
admins = ["bob@example.com"]
session_idle = "30m"
session = "1d"
"""
        + LOGIN,
    )
    assert (settings.host, settings.port, settings.url) == ("0.0.0.0", 9000, "https://flow.example.com")
    assert (settings.hosts, settings.trusted_proxies) == (("flow",), ("10.0.0.0/8", "::1"))
    assert (settings.operators, settings.admins) == (("eve@example.com",), ("bob@example.com",))
    assert (settings.session_idle_seconds, settings.session_seconds) == (1800.0, 86400.0)
    assert settings.users and settings.requires_login
    assert settings.login is not None and settings.login.allowed_domains == ("example.com",)


def test_variables_take_precedence(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        '[server]\nlisten = "127.0.0.1:1"',
        DATAFLOW_LISTEN="[::1]:2",
        DATAFLOW_URL="https://x.example",
    )
    assert (settings.host, settings.port, settings.url) == ("::1", 2, "https://x.example")


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    found = problem(
        tmp_path,
        '[server]\nlsten = "x"\nusers = "yes"\nurl = "http://x.example"\n[server.login]\nclient_id = "x"',
        DATAFLOW_LISTEN="nonsense:port",
    )
    assert 'server.lsten: unknown key. Did you mean "listen"?' in found
    assert "server.users: must be true or false" in found
    assert "server.url: must begin with https://" in found
    assert "server.login: has no allowed_domains" in found
    assert "server.login: has no issuer" in found
    assert "server.login: has no secret" in found
    assert "DATAFLOW_LISTEN: is" in found


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('url = "https://x.example/path"', "only scheme, host and port"),
        ('url = "https://eve@x.example"', "must not contain a user"),
        ('url = "ftp://x.example"', "is not a URL"),
        ('trusted_proxies = ["0.0.0.0/0"]', "everybody could claim"),
        ('trusted_proxies = ["10.0.0.1/8"]', "write an address or a network"),
        ('trusted_proxies = ["*"]', "write an address or a network"),
        ('operators = ["eve"]', "write an e-mail address"),
        ('operators = ["eve@example.com"]', r"needs \[server.login\]"),
        ('session = "10s"', "must be at least 60s"),
        ('session_idle = "x"', "not a duration"),
        ('listen = "127.0.0.1:99999"', "write it like"),
        ("login = 5", "must be a table"),
    ],
)
def test_a_value_that_is_wrong_is_refused(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        load(tmp_path, f"[server]\n{line}")


def test_the_table_must_be_one(tmp_path: Path) -> None:
    assert "server: must be a table" in problem(tmp_path, "server = 5")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('issuer = "http://id.example.com"', "must begin with https://"),
        ('authorize_url = "https://id.example.com/a"', "both issuer and authorize_url"),
        ('encryptedsecret = "df1.x"', "both secret_variable and encryptedsecret"),
        ('allowed_domains = ["*.example.com"]', "write a domain"),
        ('allowed_domains = ["@example.com"]', "write a domain"),
        ("allowed_domains = []", "has no allowed_domains"),
        ('client_secret = "hunter2-hunter2"', "secret in plain text"),
    ],
)
def test_a_provider_that_is_wrong_is_refused(tmp_path: Path, line: str, reason: str) -> None:
    key = line.partition(" ")[0]
    kept = "\n".join(old for old in LOGIN.splitlines() if not old.startswith(f"{key} ="))
    found = problem(tmp_path, f"{kept}\n{line}")
    assert reason in found
    assert "hunter2" not in found


def test_a_provider_on_this_machine_may_use_http(tmp_path: Path) -> None:
    settings = load(tmp_path, LOGIN.replace("https://id.example.com", "http://127.0.0.1:9"))
    assert settings.login is not None and settings.login.issuer == "http://127.0.0.1:9"


def test_an_administrator_of_another_domain_is_refused(tmp_path: Path) -> None:
    text = f'[server]\nadmins = ["eve@example.org"]\n{LOGIN}'
    assert "eve@example.org, whose domain is not in allowed_domains" in problem(tmp_path, text)


def test_the_variables_of_the_first_dataflow_are_a_provider(tmp_path: Path) -> None:
    settings = load(tmp_path, '[server]\nadmins = ["eve@trade.example"]', **BROKER)
    login = settings.login
    assert login is not None
    assert (login.authorize_url, login.token_url, login.profile_url) == (
        "https://sso.example.com/o/authorize/",
        "https://sso.example.com/o/token/",
        "https://sso.example.com/api/v1/user/me/",
    )
    assert login.allowed_domains == ("digital.trade.example", "trade.example")
    assert (login.client_id, login.secret_variable) == ("flow", "AUTHBROKER_CLIENT_SECRET")
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize("name", BROKER)
def test_all_variables_of_the_first_dataflow_are_needed(tmp_path: Path, name: str) -> None:
    assert f"{name}: is not set, and AUTHBROKER_" in problem(tmp_path, "", **BROKER | {name: ""})


def test_the_variables_of_the_first_dataflow_are_checked(tmp_path: Path) -> None:
    found = problem(
        tmp_path,
        "",
        **BROKER | {"AUTHBROKER_URL": "http://sso.example.com", "AUTHBROKER_ALLOWED_DOMAINS": "a@b.c"},
    )
    assert "AUTHBROKER_URL: must begin with https://" in found
    assert "AUTHBROKER_ALLOWED_DOMAINS: has" in found


def test_two_providers_are_one_too_many(tmp_path: Path) -> None:
    assert "dataflow.toml has [server.login]. Keep one" in problem(tmp_path, LOGIN, **BROKER)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("localhost", ("localhost", 8150)),
        (":9000", ("127.0.0.1", 9000)),
        ("[::1]:9000", ("::1", 9000)),
        ("[::1]", ("::1", 8150)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
    ],
)
def test_an_address_to_listen_on(text: str, found: tuple[str, int]) -> None:
    assert split_listen(text) == found


@pytest.mark.parametrize("text", ["::1", "::1:80", "x:", "x:y", "x:-1", "x:١", "x:65536", "x:999999999"])
def test_an_address_that_is_not_one(text: str) -> None:
    with pytest.raises(BadInput):
        split_listen(text)


def test_loopback_is_this_machine_and_nothing_else() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.example.com", "", "1")))
