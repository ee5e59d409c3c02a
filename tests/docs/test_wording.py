"""The worst phrases stay out of the docs, help texts, messages, comments and tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, name_of

PHRASES = (
    "unless told",
    r"\banew\b",
    r"\bmend(s|ed)?\b",
    "so many rows",
    "which is no column",
    r"Refused (is|are)\b",
    "Supported is",
    "must be a text",
    "is there and is no",
    "nobody has said",
    r"\b(is|are|was|were|be) told\b",
    r"\bis no (argument|chunk|column|dataset|file|job|lock|module|name|number|run|table)\b",
    r"\bnot a text\b",
    r"\bas yet\b",
    r"\b1\x20(chunks|columns|dataids|entries|files|intervals|jobs|logs|pages|passwords|rows|runs|versions)\b",
    r"\{[^{}]*\} (chunk|dataid|file|interval|job|log|page|password|row|run|version)\(s\)",
    r"arguments? (is|are) required:",
    "invalid choice:",
    "expected one argument",
    "ignored explicit argument",
)
_PHRASE = re.compile("|".join(PHRASES).replace(" ", r"\s+"), flags=re.IGNORECASE)
FOLDERS = ("benchmarks", "examples", "src/dataflow", "tests")
FILES = (".md", ".py", ".sh", ".sql", ".toml")


def list_texts() -> Iterator[Path]:
    """The pages, the Makefile, and the source of the package, its examples, benchmarks and tests."""
    yield from (*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile")
    for folder in FOLDERS:
        paths = [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in FILES]
        yield from (path for path in paths if path != Path(__file__))


def find_phrases(text: str) -> list[str]:
    """The phrases of the list in a text, each as it is written there, in one line."""
    return [re.sub(r"\s+", " ", found[0]) for found in _PHRASE.finditer(text)]


def test_no_text_has_a_phrase_of_the_list() -> None:
    hits = {name_of(path): found for path in list_texts() if (found := find_phrases(path.read_text()))}
    assert not hits


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("It is 0 unless\ntold.", ["unless told"]),
        ("Published ANEW, and mended.", ["ANEW", "mended"]),
        ("Recommend an amendment to the newcomer.", []),
        ("The folder is no lock; the user is told.", ["is no lock", "is told"]),
        ("It is no longer a lock. Deleted 1 logs, 1 run and 11 rows.", ["1 logs"]),
    ],
)
def test_a_phrase_is_found_in_any_case_and_across_lines(text: str, phrases: list[str]) -> None:
    assert find_phrases(text) == phrases


def test_lines_of_markdown_are_shorter_than_120_characters_except_in_tables_and_blocks() -> None:
    pages = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    assert not [place for page in pages for place in _list_wide(page)]


def _list_wide(page: Path) -> Iterator[str]:
    is_block = False
    for number, line in enumerate(page.read_text().splitlines(), start=1):
        is_block ^= line.startswith("```")
        if len(line) >= 120 and not is_block and not line.startswith("|"):
            yield f"{name_of(page)}:{number}"
