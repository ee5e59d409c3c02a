"""Answers on stdout: tables for people, JSON for programs, no control characters, constant memory."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator

import pytest

from dataflow.cli.layout import Column
from dataflow.cli.output import as_text, as_value, paint, show_object, to_json
from dataflow.cli.tables import MEASURED_ROWS, show_rows

ROWS: list[dict[str, object]] = [{"name": "bobin", "size": 1}, {"name": "b", "size": None}]


class Terminal(io.StringIO):
    """A stdout that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def use_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Called by the test itself: pytest replaces stdout after the fixtures."""
    found = Terminal()
    monkeypatch.setattr(sys, "stdout", found)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return found


def test_a_pipe_gets_plain_aligned_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_rows(ROWS, ("name", "size"), False) == 2
    assert capsys.readouterr().out == "name   size\nbobin  1\nb\n"


def test_json_is_one_array_of_objects_without_what_only_a_terminal_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert show_rows(ROWS, ("name", Column("size", extra=True)), True) == 2
    assert json.loads(capsys.readouterr().out) == [{"name": "bobin"}, {"name": "b"}]


def test_no_rows_are_an_empty_array_or_a_word_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([], ("name",), True, "nothing")
    assert capsys.readouterr() == ("[]\n", "")
    assert show_rows([], ("name",), False, "nothing") == 0
    assert capsys.readouterr() == ("", "nothing\n")


def test_one_record_is_an_object_or_a_line_per_field(capsys: pytest.CaptureFixture[str]) -> None:
    show_object({"name": "bobin", "modes": ["a", "b"]}, False)
    assert capsys.readouterr().out == "name   bobin\nmodes  a, b\n"
    show_object({"name": "bobin"}, True)
    assert json.loads(capsys.readouterr().out) == {"name": "bobin"}


def test_a_terminal_gets_colours_unless_it_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    show_rows([{"status": "FAILED"}], ("status",), False)
    assert "\x1b[1;31mFAILED" in terminal.getvalue()
    assert "\x1b[" in paint("READY")
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.truncate(0)
    show_rows([{"status": "FAILED"}], ("status",), False)
    assert "31m" not in terminal.getvalue()
    assert "32m" not in paint("READY")


def test_markup_in_data_stays_data_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    show_rows([{"reason": "[red]x[/red] :smile: [/]"}], ("reason",), False)
    assert "[red]x[/red] :smile: [/]" in terminal.getvalue()


def test_colours_are_for_terminals_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert paint("FAILED") == "FAILED"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[2J", "\\u001b[2J"),
        ("\x9b2J", "\\u009b2J"),
        ("\u202eabc", "\\u202eabc"),
        ("\udc80", "\\udc80"),
        ("Zürich 🙂", "Zürich 🙂"),
        (None, ""),
        (True, "yes"),
        ((1, 2), "1, 2"),
        ({"a": 1}, "a=1"),
    ],
)
def test_values_are_shown_without_control_characters(value: object, shown: str) -> None:
    assert as_text(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "NULL"),
        ("", "''"),
        ("NULL", "'NULL'"),
        ("'a'", "'''a'''"),
        ([], "[]"),
        ("[]", "'[]'"),
        ({}, "{}"),
        (True, "true"),
        (False, "false"),
        ([None, "", True], '[null, "", true]'),
        ({"a": 1}, '{"a": 1}'),
        ("a\nb", "a\\nb"),
        (0, "0"),
    ],
)
def test_a_value_of_a_query_is_shown_so_that_different_values_look_different(
    value: object, shown: str
) -> None:
    assert as_value(value) == shown


def test_json_is_ascii_where_the_terminal_supports_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ü" in to_json({"a": "ü"}) or sys.stdout.encoding.lower() != "utf-8"
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert to_json({"a": "ü"}) == '{"a": "\\u00fc"}'


@pytest.mark.parametrize("as_json", [False, True])
def test_many_rows_are_streamed(as_json: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0

    class Counter(io.StringIO):
        def write(self, text: str) -> int:
            nonlocal written
            written += 1
            return len(text)

    def rows() -> Iterator[dict[str, object]]:
        for number in range(20_000):
            # What was given before has been written before the next is asked for, but for the measured ones.
            assert written >= number - MEASURED_ROWS
            yield {"name": f"{'x' * 200}{number}"}

    monkeypatch.setattr(sys, "stdout", Counter())
    tracemalloc.start()
    assert show_rows(rows(), ("name",), as_json) == 20_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def test_rich_is_loaded_only_for_a_terminal() -> None:
    code = (
        "import sys; from dataflow.cli.tables import show_rows; show_rows([{'a': 1}], ('a',), False); "
        "sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.PIPE).returncode == 0


def test_names_in_diagrams_cannot_break_out_of_their_quotes() -> None:
    from dataflow.actions.lineage import Edge, Lineage, Node
    from dataflow.cli.lineage import as_dot, as_mermaid

    name = 'a"b\\c#d;<e>\n'
    found = Lineage((name,), {name: Node(name, "dataset", name)}, (Edge(name, name, 'x"|y'),))
    assert list(as_mermaid(found)) == [
        "flowchart LR",
        '    n0["a#34;b#92;c#35;d#59;#60;e#62;#92;n"]',
        '    n0 -->|"x#34;#124;y"| n0',
    ]
    assert list(as_dot(found))[2:] == [
        '    "a\\"b\\\\c#d;<e>\\\\n" [label="a\\"b\\\\c#d;<e>\\\\n", shape=box];',
        '    "a\\"b\\\\c#d;<e>\\\\n" -> "a\\"b\\\\c#d;<e>\\\\n" [label="x\\"|y"];',
        "}",
    ]
