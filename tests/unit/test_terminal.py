"""Text and tables for a terminal: widths, wrapping, short times and durations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from dataflow.cli.incidents import ALL_COLUMNS
from dataflow.cli.layout import PROSE, Column, choose, lay_out
from dataflow.cli.terminal import measure, short_span, short_time, shorten_middle, wrap_line, wrap_words

NOW = datetime(2026, 11, 17, 12, 0, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-11-17T03:59:12.000Z", "04:59"),
        ("2026-11-16T23:30:00.000Z", "00:30"),
        ("2026-11-16T22:30:00.000Z", "16 Nov 23:30"),
        ("2025-11-16T22:30:00.000Z", "16 Nov 2025 23:30"),
        ("2026-11-17", "2026-11-17"),
        ("soon", "soon"),
        ("", ""),
    ],
)
def test_times_are_short_and_local(text: str, shown: str) -> None:
    assert short_time(text, NOW) == shown


def test_a_time_of_today_has_no_date() -> None:
    now = datetime.now(UTC)
    assert short_time(now.isoformat()) == f"{now.astimezone():%H:%M}"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0s"),
        (0.44, "0.4s"),
        (12, "12s"),
        (192, "3m 12s"),
        (180, "3m"),
        (3900, "1h 5m"),
        (190_000, "2d 4h"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, shown: str) -> None:
    assert short_span(seconds) == shown


def test_a_long_line_wraps_at_words_and_keeps_its_indent() -> None:
    assert wrap_line("  one two three", 9) == "  one two\n  three"
    assert wrap_line("short", 9) == "short"


def test_a_word_is_shortened_in_its_middle() -> None:
    assert shorten_middle("/a/very/long/path.csv", 11) == "/a/ve…h.csv"
    assert shorten_middle("short", 11) == "short"


def test_columns_without_a_value_are_dropped_first_then_the_least_important() -> None:
    columns = [Column("name"), Column("count", 1), Column("reason", 2), Column("host", 3)]
    cells = [["a_name_of_20_letters", "0", "some", "etl1"]]
    assert choose(columns, cells, 43) is not None
    for width, hidden in ((34, (1,)), (33, (1, 3)), (28, (1, 3)), (27, (1, 2, 3)), (20, (1, 2, 3))):
        layout = choose(columns, cells, width)
        assert layout
        assert layout.hidden == hidden, width
    assert choose(columns, cells, 19) is None


def test_wide_characters_take_two_columns() -> None:
    assert [measure(text) for text in ("abc", "東京", "e\u0301", "Zürich")] == [3, 4, 1, 6]
    assert wrap_words("東京 大阪 abc", 9) == ["東京 大阪", "abc"]
    assert wrap_words("東京大阪", 4) == ["東京", "大阪"]
    assert measure(shorten_middle("東京大阪名古屋", 7)) <= 7
    layout = choose([Column("city"), Column("host", 1)], [["東京大阪", "etl1"]], 13)
    assert layout
    assert layout.hidden == (1,)


def test_prose_wraps_and_names_do_not() -> None:
    columns = [Column("name"), Column("why", 1, PROSE)]
    row = ["a_long_name", "it waits for a chunk that nobody made"]
    layout = choose(columns, [row], 40)
    assert layout
    lines = lay_out(row, columns, layout)
    assert [line[0] for line in lines] == ["a_long_name", ""]
    assert " ".join(line[1] for line in lines) == row[1]


def test_a_list_of_closed_incidents_shows_that_they_are_closed_on_a_narrow_terminal() -> None:
    row = {
        "id": "12",
        "kind": "quarantine",
        "what": "job load_orders_daily",
        "since": "Nov 18 13:27",
        "chunks": "2",
        "closed": "Nov 18 13:40",
        "acknowledged": "",
        "reason": "quarantined after 2 crashes: runs 51, 52 on etl-machine-1",
        "notified": "operators: sent, oncall: failed 3 times (connection refused)",
    }
    cells = [[row[column] for column in ALL_COLUMNS]]
    layout = choose(ALL_COLUMNS, cells, 100)
    assert layout is not None
    shown = [ALL_COLUMNS[place] for place in layout.shown]
    assert {"id", "what", "since", "closed"} <= set(shown)
