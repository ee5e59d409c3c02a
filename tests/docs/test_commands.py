"""Every command and option is documented, and every one in the docs exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dataflow.cli.main import COMMANDS, FIRST
from tests.docs.pages import DOCS, PAGES, ROOT, list_code, list_rows, list_sections, name_of
from tests.docs.parsers import EVERYWHERE, list_options, list_parsers

SECTIONS = list_sections(DOCS / "commands.md")
PARSERS = list_parsers()
_OPTION = re.compile(r"(?<![\w-])(--?[a-z][a-z-]*)")


def options_in(text: str) -> set[str]:
    """The options that a section's code names."""
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    indented = [line for line in text.splitlines() if line.startswith("    ")]
    found = [option for code in [*spans, *indented] for option in _OPTION.findall(code)]
    return set(found)


def test_the_page_has_a_section_for_each_command_and_no_other() -> None:
    assert {title for title in SECTIONS if title != "Commands"} - {""} == set(PARSERS)


@pytest.mark.parametrize("command", [name for name in PARSERS if name != "dataflow run"])
def test_the_section_of_a_command_names_all_its_options(command: str) -> None:
    assert list_options(PARSERS[command]) <= options_in(SECTIONS[command])


@pytest.mark.parametrize("command", PARSERS)
def test_the_section_of_a_command_names_no_option_of_another(command: str) -> None:
    assert options_in(SECTIONS[command]) <= list_options(PARSERS[command]) | EVERYWHERE


def test_options_that_every_command_has_are_named_once_for_all() -> None:
    assert options_in(SECTIONS["Commands"]) >= EVERYWHERE


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_a_page_names_only_commands_and_options_that_exist(page: Path) -> None:
    unknown = []
    for code in [code for code in list_code(page) if "# exits 64" not in code]:
        for word, under, rest in re.findall(
            r"(?<![\w/.-])dataflow ([a-z]+)(?: ([a-z]+(?:-[a-z]+)*))?([^|&;#]*)", code
        ):
            command = (
                f"dataflow {word} {under}" if f"dataflow {word} {under}" in PARSERS else f"dataflow {word}"
            )
            known = command in PARSERS or (word in COMMANDS and not under)
            options = list_options(PARSERS[command]) | EVERYWHERE if command in PARSERS else EVERYWHERE
            if not known or (word != "force" and not set(_OPTION.findall(rest)) <= options):
                unknown.append(code)
        for rest in re.findall(r"(?<![\w/-])RunJob((?: --?[a-z][^|&;#]*)?)", code):
            if not set(_OPTION.findall(rest)) <= list_options(PARSERS["RunJob"]) | EVERYWHERE:
                unknown.append(code)
    assert not unknown


def test_the_readme_teaches_the_verbs_that_help_names_first() -> None:
    verbs = list_rows(list_sections(ROOT / "README.md")["The verbs to learn first"])
    taught = " ".join(row[0] for row in verbs).replace("RunJob", "dataflow run")
    assert re.findall(r"dataflow ([a-z]+)", taught) == list(FIRST)


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        ("dataflow chunks", "dataset, dataid, status, version, modified_at, readers"),
        (
            "dataflow runs",
            "run_id, job, dataid, attempt, outcome, exit_code, host, started_at, ended_at",
        ),
        ("dataflow why", "job, dataid, verdict, answers[question, answer, evidence], next"),
    ],
)
def test_the_keys_of_an_answer_in_json_are_documented(command: str, keys: str) -> None:
    assert keys in SECTIONS[command]


def test_every_command_that_answers_in_json_says_so() -> None:
    reading = [name for name, parser in PARSERS.items() if "--json" in parser._option_string_actions]
    assert reading
    assert not [name for name in reading if "--json" not in SECTIONS[name]]


def test_no_two_commands_describe_themselves_in_the_same_words() -> None:
    others = [parser for name, parser in PARSERS.items() if name != "dataflow run"]
    described = [parser.description for parser in others if parser.description]
    assert len(set(described)) == len(described)


def test_every_option_of_a_command_has_a_help_text() -> None:
    silent = [
        f"{name} {action.option_strings[0]}"
        for name, parser in PARSERS.items()
        for action in parser._actions
        if action.option_strings and not action.help
    ]
    assert not silent
