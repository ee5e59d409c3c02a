"""What the pages show is what happens: their commands are run, in order, and their output compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dataflow.config.settings import load_config
from tests.docs.pages import PAGES, ROOT, list_blocks, name_of
from tests.docs.session import Command, list_commands, matches, run_page
from tests.project import Project

# The page about operations is about PostgreSQL, and has tests of its own.
WITH_COMMANDS = [page for page in PAGES if list_commands(page) and page.name != "operations.md"]
STARTS_SPARK = {"pipelines.md"}
TOML = [(page, block) for page in PAGES for block in list_blocks(page) if block.kind == "toml"]
KINDS = {"console", "cron", "ini", "mermaid", "python", "sh", "sql", "text", "toml"}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.full if page.name in STARTS_SPARK else (), id=name_of(page))
        for page in WITH_COMMANDS
    ],
)
def test_the_commands_of_a_page_do_what_it_shows(page: Path, project: Project, tmp_path: Path) -> None:
    run_page(page, project, tmp_path / "bin")


@pytest.mark.parametrize(
    ("page", "text"), [(page, block.text) for page, block in TOML], ids=[name_of(page) for page, _ in TOML]
)
def test_a_declaration_that_is_shown_can_be_read(page: Path, text: str, tmp_path: Path) -> None:
    (tmp_path / "dataflow.toml").write_text(text)
    load_config(str(tmp_path), {})


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_block_is_of_a_kind_whose_treatment_is_known(page: Path) -> None:
    assert {block.kind for block in list_blocks(page)} <= KINDS


def test_the_readme_begins_with_one_sentence_and_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    title, sentence, _ = text.split("\n\n", 2)
    assert title == "# DataFlow"
    assert re.fullmatch(r"[A-Z][^.\n]*\.", sentence)
    assert text.index("It is not") < text.index("make demo") < text.index("make test") < text.index("```sh")


def test_the_session_of_the_readme_is_the_quick_start() -> None:
    session = list_commands(ROOT / "README.md")[0].text
    wanted = [
        "dataflow dataset add bobin",
        "dataflow dataset add bobout",
        "dataflow job add loadbob --in bobin --out bobout",
        "dataflow ready bobin 1.0",
        "RunJob ./loadbob.sh",
        "RunJob ./loadbob.sh",
        "dataflow runs",
        'dataflow sql "select * from datastatus"',
        "dataflow resubmit loadbob 1.0",
    ]
    lines = [line.partition("  ")[0] for line in session.splitlines()]
    assert [line for line in lines if line in wanted][: len(wanted)] == wanted


def test_dots_stand_for_what_changes_from_run_to_run() -> None:
    assert matches(["run …", "…", "end"], "run 17\nmore\nand more\nend\n")
    assert not matches(["run …", "end"], "run 17\nmore\nend\n")
    assert not matches(["run 1"], "run 17")


def test_a_comment_tells_the_exit_code_of_an_example() -> None:
    assert Command("dataflow nonsense   # exits 64", 1).exit_code == 64
    assert Command("dataflow status", 1).exit_code == 0
