"""The first DataFlow's dataflow.properties, in Java's syntax and with its JDBC URL."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.config.properties import StoreProperties, parse_properties, read_properties
from dataflow.errors import ConfigError

SEED = """\
url=jdbc:postgresql://localhost:5432/dataflow
user=etl
schema=dataflow
encrypted=ZpLfE+uTYE2mdmjOPrukol3yuzcpAHBnxL6trHa9PHGj
"""


def read(folder: Path, text: str | bytes) -> StoreProperties:
    path = folder / "dataflow.properties"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_properties(str(path))


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(folder, text)
    assert str(caught.value).startswith(f"{folder}/dataflow.properties: ")
    return str(caught.value)


def test_an_old_properties_file_is_accepted_unchanged(tmp_path: Path) -> None:
    found = read(tmp_path, SEED)
    assert found.url == "postgresql://etl@localhost:5432/dataflow"
    assert found.schema == "dataflow"
    assert found.password_record == "ZpLfE+uTYE2mdmjOPrukol3yuzcpAHBnxL6trHa9PHGj"
    assert found.password_record not in repr(found)


def test_the_key_that_names_the_platform_changes_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, SEED + "platform=postgres\n") == read(tmp_path, SEED)


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("a=b", "a", "b"),
        ("a:b", "a", "b"),
        ("a b", "a", "b"),
        ("  a \t=  b c ", "a", "b c "),
        ("a = = b", "a", "= b"),
        ("a", "a", ""),
        ("a=", "a", ""),
        ("a\\ b\\=c=d", "a b=c", "d"),
        ("a=x\\\n    y\\\n\tz", "a", "xyz"),
        ("a=x\\\n# no comment", "a", "x# no comment"),
        ("a=x\\\\", "a", "x\\"),
        ("a=x\\", "a", "x"),
        ("a=\\t\\n\\r\\f\\q\\:", "a", "\t\n\r\fq:"),
        ("a=caf\\u00e9 \\uD83D\\uDE00", "a", "café 😀"),
        ("# c\n! c\n\n  # c\na=#b", "a", "#b"),
        ("a=1\r\na=2\r", "a", "2"),
        ("a=pad==", "a", "pad=="),
    ],
)
def test_lines_are_read_as_java_reads_them(line: str, key: str, value: str) -> None:
    assert parse_properties(line) == {key: value}


def escaped(text: str, *, is_key: bool) -> str:
    """What java.util.Properties.store writes for this text."""
    special = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
    special |= {character: f"\\{character}" for character in "=:#!"}
    written = ""
    for position, character in enumerate(text):
        units = character.encode("utf-16-be")
        if character in special:
            written += special[character]
        elif character == " ":
            written += "\\ " if is_key or position == 0 else " "
        elif " " < character <= "~":
            written += character
        else:
            written += "".join(f"\\u{units[at]:02X}{units[at + 1]:02X}" for at in range(0, len(units), 2))
    return written


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))))
def test_a_file_written_by_java_reads_back(values: dict[str, str]) -> None:
    lines = [f"{escaped(key, is_key=True)}={escaped(value, is_key=False)}\n" for key, value in values.items()]
    assert parse_properties("#comment\n" + "".join(lines)) == values


@given(st.text())
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    try:
        parse_properties(text)
    except ConfigError as error:
        assert str(error).startswith("line ")


def test_a_broken_escape_names_its_line(tmp_path: Path) -> None:
    assert "line 2: \\u needs four hexadecimal digits" in refused(tmp_path, "user=etl\nurl=\\u00zz")
    assert "line 1: half of a character" in refused(tmp_path, "url=\\uD83D")


def test_a_file_in_latin_1_is_read_as_java_reads_it(tmp_path: Path) -> None:
    found = read(tmp_path, "url=jdbc:postgresql://h/d\nuser=jos\xe9\n".encode("latin-1"))
    assert found.url == "postgresql://jos%C3%A9@h/d"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:postgresql://h:5432/d", "postgresql://etl@h:5432/d"),
        ("jdbc:postgresql://h/d", "postgresql://etl@h/d"),
        ("jdbc:postgresql:d", "postgresql://etl@localhost/d"),
        ("jdbc:postgresql:///d", "postgresql://etl@localhost/d"),
        ("jdbc:postgresql://a:1,b:2/d", "postgresql://etl@a:1,b:2/d"),
        ("jdbc:postgresql://[::1]:5432/d", "postgresql://etl@[::1]:5432/d"),
        ("jdbc:postgresql://h/d?user=other", "postgresql://etl@h/d"),
        ("jdbc:postgresql://h/d?ssl=true", "postgresql://etl@h/d?sslmode=verify-full"),
        ("jdbc:postgresql://h/d?ssl=true&sslmode=require", "postgresql://etl@h/d?sslmode=require"),
        ("jdbc:postgresql://h/d?ssl=false", "postgresql://etl@h/d"),
        (
            "jdbc:postgresql://h/d?connectTimeout=5&ApplicationName=a%20b",
            "postgresql://etl@h/d?application_name=a%20b&connect_timeout=5",
        ),
    ],
)
def test_a_jdbc_url_becomes_the_url_libpq_understands(tmp_path: Path, url: str, expected: str) -> None:
    assert read(tmp_path, f"url={url}\nuser=etl\n").url == expected


def test_the_url_may_hold_the_user_and_the_schema_as_current_schema(tmp_path: Path) -> None:
    found = read(tmp_path, "url=jdbc:postgresql://h/d?user=etl&currentSchema=s")
    assert (found.url, found.schema, found.password_record) == ("postgresql://etl@h/d", "s", None)


def test_the_user_name_is_escaped_in_the_url(tmp_path: Path) -> None:
    assert read(tmp_path, "url=jdbc:postgresql://h/d\nuser=a@b:c/d").url == "postgresql://a%40b%3Ac%2Fd@h/d"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("url=jdbc:h2:file:./dataflow;PASSWORD=hunter22", "url jdbc:h2 is not supported; use"),
        ("url=jdbc:mysql://u:hunter22@h/d", "url jdbc:mysql is not supported"),
        ("url=hunter22", "url has no scheme"),
        ("user=etl", "url is missing"),
        ("url=", "url is missing"),
        ("url=jdbc:postgresql://h/d\npassword=hunter22", "`dataflow secret encrypt`"),
        ("url=jdbc:postgresql://h/d?password=hunter22", "plain text"),
        ("url=jdbc:postgresql://u:hunter22@h/d", "use the keys user and encrypted"),
        ("url=jdbc:postgresql://u:hunter22@h/d\nuser=etl", "use the keys user and encrypted"),
        ("url=jdbc:postgresql://h/d?sslfactory=x", "url parameter sslfactory is not supported"),
        ("url=jdbc:postgresql://h/d\nencryptd=x", 'unknown key encryptd. Did you mean "encrypted"?'),
        ("url=jdbc:postgresql://h:x/d", "cannot be read"),
    ],
)  # fmt: skip
def test_an_invalid_value_is_refused_without_showing_a_password(
    tmp_path: Path, text: str, reason: str
) -> None:
    message = refused(tmp_path, text)
    assert reason in message
    assert "hunter22" not in message


def test_keys_of_other_programs_are_accepted(tmp_path: Path) -> None:
    assert read(tmp_path, SEED + "zookeeper.quorum=x\n") == read(tmp_path, SEED)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="gone: cannot be read: No such file"):
        read_properties(str(tmp_path / "gone"))
