"""The log of a run by byte offset, in whole lines."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dataflow.actions import run_log
from dataflow.actions.run_log import MOST_FOUND, read_log, search_log
from dataflow.config.settings import Config, load_config
from dataflow.errors import BadInput, UnknownName
from dataflow.model.record import replace
from dataflow.model.records import Run
from tests.store.world import World


@pytest.fixture
def config(tmp_path: Path) -> Config:
    found = load_config(str(tmp_path), {"DATAFLOW_PROJECT": str(tmp_path)})
    os.makedirs(found.log_dir)
    return replace(found, host="etl1")


@pytest.fixture
def run(sqlite_world: World) -> Run:
    sqlite_world.chain("raw", "clean")
    sqlite_world.ready("raw", "1")
    return sqlite_world.take("to_clean")


def write(config: Config, run: Run, content: bytes) -> None:
    Path(config.log_dir, f"{run.run_id}.log").write_bytes(content)


def test_parts_are_whole_lines_and_give_the_whole_log(sqlite_world: World, config: Config, run: Run) -> None:
    content = "".join(f"line {number} ä\n" for number in range(200))
    write(config, run, content.encode())
    sqlite_world.finish(run)
    texts, place = [], 0
    while (part := read_log(sqlite_world.store, config, run.run_id, place, 100)).text:
        assert part.text.endswith("\n")
        assert (part.start, part.size) == (place, len(content.encode()))
        texts.append(part.text)
        place = part.next
    assert "".join(texts) == content
    assert not part.is_running


def test_the_last_lines_come_first(sqlite_world: World, config: Config, run: Run) -> None:
    write(config, run, b"one\ntwo\nthree\n")
    part = read_log(sqlite_world.store, config, run.run_id, most=8)
    assert (part.text, part.start, part.next) == ("three\n", 8, 14)
    assert read_log(sqlite_world.store, config, run.run_id).text == "one\ntwo\nthree\n"
    assert read_log(sqlite_world.store, config, run.run_id, most=6).text == "three\n"


def test_a_line_that_is_being_written_is_shown_when_it_has_ended(
    sqlite_world: World, config: Config, run: Run
) -> None:
    write(config, run, b"one\ntw")
    part = read_log(sqlite_world.store, config, run.run_id, 0)
    assert (part.text, part.next, part.is_running) == ("one\n", 4, True)
    assert read_log(sqlite_world.store, config, run.run_id, 4).text == ""
    sqlite_world.finish(run)
    assert read_log(sqlite_world.store, config, run.run_id, 4).text == "tw"


def test_a_very_long_line_is_cut_between_characters(sqlite_world: World, config: Config, run: Run) -> None:
    content = "€" * 50 + "\n"
    write(config, run, content.encode())
    texts, place = [], 0
    while (part := read_log(sqlite_world.store, config, run.run_id, place, 10)).text:
        texts.append(part.text)
        place = part.next
    assert "".join(texts) == content


def test_a_log_on_another_machine_is_named(sqlite_world: World, config: Config, run: Run) -> None:
    part = read_log(sqlite_world.store, replace(config, host="desk"), run.run_id)
    assert part.message.startswith(f"Run {run.run_id} was on etl1. Its log is on that machine: ")
    assert (part.host, part.text) == ("etl1", "")
    assert (
        search_log(sqlite_world.store, replace(config, host="desk"), run.run_id, "x").message == part.message
    )
    assert "has written nothing yet" in read_log(sqlite_world.store, config, run.run_id).message


def test_a_search_finds_lines_in_any_case_and_where_they_begin(
    sqlite_world: World, config: Config, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_log, "BLOCK_BYTES", 16)
    lines = [f"{number} {'Error error' if number % 3 == 0 else 'fine'}\n".encode() for number in range(90)]
    write(config, run, b"".join(lines))
    found = search_log(sqlite_world.store, config, run.run_id, "eRRor")
    assert [one.line for one in found.lines] == [f"{number} Error error" for number in range(0, 90, 3)]
    assert [one.start for one in found.lines] == [len(b"".join(lines[:number])) for number in range(0, 90, 3)]
    assert found.next is None


def test_a_search_is_bounded_and_goes_on(
    sqlite_world: World, config: Config, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(config, run, b"x\n" * (MOST_FOUND + 5))
    first = search_log(sqlite_world.store, config, run.run_id, "x")
    assert (len(first.lines), first.next) == (MOST_FOUND, 2 * MOST_FOUND)
    rest = search_log(sqlite_world.store, config, run.run_id, "x", first.next or 0)
    assert (len(rest.lines), rest.next) == (5, None)
    monkeypatch.setattr(run_log, "SEARCHED_BYTES", 100)
    monkeypatch.setattr(run_log, "BLOCK_BYTES", 50)
    nothing = search_log(sqlite_world.store, config, run.run_id, "y")
    assert (nothing.lines, nothing.next) == ((), 100)


def test_what_cannot_be_read_is_refused(sqlite_world: World, config: Config, run: Run) -> None:
    store = sqlite_world.store
    with pytest.raises(UnknownName):
        read_log(store, config, 999)
    for start, most in ((0, 0), (0, run_log.MOST_BYTES + 1), (-1, 10)):
        with pytest.raises(BadInput):
            read_log(store, config, run.run_id, start, most)
    with pytest.raises(BadInput):
        search_log(store, config, run.run_id, "")


def test_a_log_of_100_mb_is_read_at_once(sqlite_world: World, config: Config, run: Run) -> None:
    write(config, run, (b"a line of a log that goes on for long\n" * 28_000) * 100)
    started = time.process_time()
    assert read_log(sqlite_world.store, config, run.run_id).text
    assert read_log(sqlite_world.store, config, run.run_id, 50_000_000).text
    assert time.process_time() - started < 0.3
