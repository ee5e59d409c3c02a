"""`dataflow user` and `dataflow token`: the real commands, and no secret in what they leave behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.commands import Commands, on_terminal, open_commands
from tests.project import Project

PASSWORD = "correct horse battery"


@pytest.fixture
def commands(
    tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    return open_commands(tmp_path, sqlite_url, monkeypatch, capsys)


def test_a_user_is_added_listed_changed_and_removed(commands: Commands) -> None:
    done = commands("user", "add", "eve", "--role", "operator", stdin=PASSWORD + "\n")
    assert (done.out, done.err) == ("", "Added user eve with the role operator.\n")
    (row,) = commands.json("user", "list")
    assert (row["name"], row["role"], row["login_at"]) == ("eve", "operator", None)
    assert "eve   operator" in commands("user", "list").out
    assert "Their sessions have ended" in commands("user", "password", "eve", stdin="another " * 3).err
    assert "Removed user eve." in commands("user", "remove", "eve").err
    assert "No users yet. Add one: dataflow user add NAME" in commands("user", "list").err
    actions = [(row["action"], row["why"]) for row in reversed(commands.json("journal"))]
    assert actions == [
        ("user add", "user eve, role operator"),
        ("user password", "user eve"),
        ("user remove", "user eve"),
    ]


@pytest.mark.parametrize(
    ("words", "stdin", "code", "reason"),
    [
        ("user add eve", "short", 77, "shorter than 12 characters"),
        ("user add eve", "", 77, "No password on stdin"),
        ("user add eve hunter2-hunter2", PASSWORD, 64, "A secret on the command line"),
        ("user password eve hunter2-hunter2", PASSWORD, 64, "A secret on the command line"),
        ("user add eve --role root", PASSWORD, 64, 'Unknown role "root". Known: viewer, operator, admin.'),
        ("user add eve@example.com", PASSWORD, 65, "not a valid name for a user"),
        ("user password eve", PASSWORD, 66, 'No user "eve"'),
        ("user remove eve", "", 66, 'No user "eve"'),
        ("user", "", 64, "dataflow user --help"),
        ("token create ci --expires never", "", 65, "--expires"),
        ("token create ci --expires 800d", "", 65, "must expire in at most 730d"),
        ("token create ci --expires 0", "", 65, "must expire in at most 730d"),
        ("token revoke ci", "", 66, 'No token "ci"'),
    ],
)
def test_what_is_wrong_changes_nothing(
    commands: Commands, words: str, stdin: str, code: int, reason: str
) -> None:
    done = commands(*words.split(), stdin=stdin, code=code)
    assert reason in done.err
    assert "hunter2" not in done.err + done.out
    assert commands.json("user", "list") == commands.json("token", "list") == commands.json("journal") == []


def test_a_second_user_of_a_name_is_a_conflict(commands: Commands) -> None:
    commands("user", "add", "eve", stdin=PASSWORD)
    assert "User eve exists" in commands("user", "add", "eve", "--role", "admin", stdin=PASSWORD, code=75).err
    assert commands.json("user", "list")[0]["role"] == "viewer"


def test_a_token_is_printed_once_and_kept_nowhere(commands: Commands) -> None:
    done = commands("token", "create", "ci", "--role", "operator", "--expires", "1d")
    token = done.out.strip()
    assert token.startswith("dft_") and len(token) == 40
    assert "shown only this once" in done.err and token not in done.err
    other = commands.json("token", "create", "cd")
    assert other["token"] != token and (other["name"], other["role"]) == ("cd", "viewer")
    listed = commands("token", "list", "--json").out
    assert token not in listed and other["token"] not in listed
    assert [(row["name"], row["expired"]) for row in commands.json("token", "list")] == [
        ("cd", False),
        ("ci", False),
    ]
    assert "Revoked token ci." in commands("token", "revoke", "ci").err
    kept = b"".join(path.read_bytes() for path in commands.path.parent.rglob("*") if path.is_file())
    assert token.encode() not in kept and PASSWORD.encode() not in kept


def test_a_password_is_typed_twice_on_a_terminal_and_not_shown(project: Project) -> None:
    project.run("dataflow", "db", "upgrade")
    answers = [("Password: ", PASSWORD), ("Password again: ", PASSWORD)]
    code, screen = on_terminal(project, ["dataflow", "user", "add", "eve"], answers, {})
    assert code == 0, screen
    assert "Added user eve with the role viewer." in screen
    assert PASSWORD not in screen
    assert project.json("dataflow", "user", "list")[0]["name"] == "eve"


def test_the_secret_of_the_login_is_encrypted_for_it_alone_and_rotated(commands: Commands) -> None:
    commands.environment.setenv("PASSKEY", "correct horse battery staple")
    record = commands("secret", "encrypt", "--login", stdin="hunter2-hunter2").out.strip()
    assert "one of" in commands("secret", "encrypt", "--login", "--notify", "x", stdin="x", code=64).err
    text = f'[server.login]\nissuer = "https://id.example.com"\nencryptedsecret = "{record}"\n'
    (commands.path / "dataflow.toml").write_text(text)
    done = commands("secret", "rotate", stdin="a new and longer passphrase")
    assert "encryptedsecret of server.login" in done.err
    assert done.out.startswith("df1.") and done.out.strip() != record
