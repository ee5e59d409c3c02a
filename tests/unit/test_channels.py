"""The [notify.NAME] tables of dataflow.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.config.channels import KEYS, Channel, find_channels
from dataflow.model.incident import EVENTS
from dataflow.model.record import names_of

RIGHT = """
[notify.ops]
kind = "webhook"
url = "https://ops.example.com/hook?team=etl"
secret_variable = "OPS_SECRET"
on = ["failed", "recovered"]
jobs = ["load_*"]
timeout = "5s"
attempts = 3
retry_delay = "1m"

[notify.team]
kind = "slack"
url_variable = "SLACK_URL"

[notify.mail]
kind = "email"
host = "smtp.example.com"
from = "etl@example.com"
to = ["ops@example.com"]
username = "etl"
password_variable = "MAIL_PASSWORD"

[notify.page]
kind = "command"
command = ["./page.sh", "--loud"]
"""


def read(tmp_path: Path, text: str) -> tuple[tuple[Channel, ...], tuple[str, ...]]:
    (tmp_path / "dataflow.toml").write_text(text)
    found = find_channels(str(tmp_path))
    return found.channels, tuple(problem.replace(f"{tmp_path}/", "") for problem in found.problems)


def test_channels_of_every_kind_are_read(tmp_path: Path) -> None:
    channels, problems = read(tmp_path, RIGHT)
    assert problems == ()
    ops, team, mail, page = channels
    assert (ops.on, ops.jobs, ops.timeout_seconds, ops.attempts) == (
        ("failed", "recovered"),
        ("load_*",),
        5.0,
        3,
    )
    assert (team.url_variable, team.on) == ("SLACK_URL", EVENTS)
    assert (mail.sender, mail.recipients, mail.tls) == ("etl@example.com", ("ops@example.com",), "starttls")
    assert page.command == ("./page.sh", "--loud")


def test_a_project_without_the_file_has_no_channels(tmp_path: Path) -> None:
    found = find_channels(str(tmp_path))
    assert (found.channels, found.problems) == ((), ())


MAIL = 'kind = "email"\nhost = "smtp.example.com"\nfrom = "a@b.c"\nto = ["d@e.f"]\n'
WRONG = {
    'kind = "webhok"': 'dataflow.toml: notify.x.kind: unknown kind "webhok". Did you mean "webhook"?',
    'url = "https://a.b"': "notify.x: has no kind. Known kinds: command, webhook, slack, email.",
    'kind = "webhook"': "dataflow.toml: notify.x: has no url. Set url, url_variable or encryptedurl.",
    'kind = "slack"': "dataflow.toml: notify.x: has no url. Set url_variable or encryptedurl.",
    'kind = "command"': "dataflow.toml: notify.x: has no command",
    'kind = "webhook"\nurl = "ftp://a.b"': "notify.x.url: is not a URL like https://ops.example.com/hook",
    'kind = "webhook"\nurl = "https://a.b/\\u00fc"': "notify.x.url: is not a URL",
    'kind = "webhook"\nurl = "https://a.b:x/"': "notify.x.url: is not a URL",
    'kind = "webhook"\nurl = "https://u:pw12345@a.b/"': "notify.x.url: contains a secret. Put the whole URL",
    'kind = "webhook"\nurl = "https://a.b/"\nurl_variable = "X"': "has both url and url_variable. Keep one",
    'kind = "webhook"\nurl = "https://a.b/"\nsecret = "pw12345"': "x.secret: is a secret in plain text",
    'kind = "slack"\nurl = "https://hooks.example.com/pw12345"': "notify.x.url: is a secret in plain text",
    MAIL + 'password = "pw12345"': "notify.x.password: is a secret in plain text",
    MAIL + 'username = "etl"': "has a username and no password",
    MAIL + 'username = "etl"\npassword_variable = "P"\ntls = "none"': "sends its password without encryption",
    MAIL + 'tls = "startls"': 'notify.x.tls: is "startls". Did you mean "starttls"?',
    'kind = "email"\nhost = "h"': "has no from",
    'kind = "command"\ncommand = ["a"]\non = ["faild"]': 'unknown event "faild". Did you mean "failed"?',
    'kind = "command"\ncommand = ["a"]\nurll = "x"': "notify.x.urll: unknown key.",
    'kind = "command"\ncommand = ["a"]\ntimeout = "2m"': "x.timeout: must be more than 0 and at most 60s",
    'kind = "command"\ncommand = ["a"]\nattempts = 0': "notify.x.attempts: must be between 1 and 100",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_channel_is_named_and_the_others_work(tmp_path: Path, text: str) -> None:
    channels, problems = read(tmp_path, f"[notify.x]\n{text}\n{RIGHT}")
    assert [channel.name for channel in channels] == ["ops", "team", "mail", "page"]
    (problem,) = problems
    assert WRONG[text] in problem
    assert "pw12345" not in problem


def test_tables_without_names_are_refused(tmp_path: Path) -> None:
    assert read(tmp_path, 'notify = "ops"\n')[1] == (
        "dataflow.toml: notify must be named tables, like [notify.NAME]",
    )


def test_a_login_without_encryption_may_stay_on_this_machine(tmp_path: Path) -> None:
    text = MAIL.replace("smtp.example.com", "127.0.0.1")
    text += 'username = "etl"\npassword_variable = "P"\ntls = "none"'
    assert read(tmp_path, f"[notify.x]\n{text}\n")[1] == ()


def test_every_key_is_a_field_of_a_channel() -> None:
    names = set(names_of(Channel("x")))
    assert {field for keys in KEYS.values() for field, _ in keys.values()} <= names


def test_the_repr_of_a_channel_shows_no_encrypted_secret() -> None:
    channel = Channel("x", encryptedurl="aaa111", encryptedsecret="bbb222", encryptedpass="ccc333")
    assert not [secret for secret in ("aaa111", "bbb222", "ccc333") if secret in repr(channel)]
