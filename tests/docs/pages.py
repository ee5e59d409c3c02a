"""The pages as data: fenced blocks, tables, sections, links and code spans. Reads only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])

_FENCE = re.compile(r"^```(\S*)\s*$")
_HEADING = re.compile(r"^(#+) (.*)$")
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind (`console`, `sh`, `toml` …), its text, and the line it begins on."""

    kind: str
    text: str
    line: int


def name_of(page: Path) -> str:
    """The page's path in the repository."""
    return str(page.relative_to(ROOT))


def list_blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    blocks: list[Block] = []
    kind: str | None = None
    lines: list[str] = []
    begin = 0
    for number, line in enumerate(page.read_text().splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence is None:
            lines.append(line)
        elif kind is None:
            kind, lines, begin = fence[1], [], number
        else:
            blocks.append(Block(kind, "\n".join(lines), begin))
            kind = None
    assert kind is None, f"{name_of(page)}: the block of line {begin} has no end"
    return blocks


def prose(page: Path) -> str:
    """The text of a page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def list_spans(page: Path) -> list[str]:
    """The code spans in a page's text."""
    return [span.replace("\\|", "|") for span in _SPAN.findall(prose(page))]


def list_code(page: Path) -> list[str]:
    """Everything in a page that is code: spans, and the lines of fenced and indented blocks."""
    lines = [line for block in list_blocks(page) for line in block.text.splitlines()]
    indented = [line for line in prose(page).splitlines() if line.startswith("    ")]
    return [*list_spans(page), *lines, *indented]


def list_links(page: Path) -> list[str]:
    """The targets of a page's links."""
    return _LINK.findall(prose(page))


def list_anchors(page: Path) -> set[str]:
    """What a link to a part of this page may name."""
    headings = [found[2] for line in prose(page).splitlines() if (found := _HEADING.match(line))]
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


def list_sections(page: Path) -> dict[str, str]:
    """The text under each heading, up to the next one of any depth."""
    sections: dict[str, str] = {}
    title = ""
    fenced = False
    for line in page.read_text().splitlines():
        fenced ^= line.startswith("```")
        heading = None if fenced else _HEADING.match(line)
        if heading:
            title = heading[2]
            sections[title] = ""
        else:
            sections[title] = sections.get(title, "") + line + "\n"
    return sections


def list_rows(text: str) -> list[list[str]]:
    """The cells of all table rows in a text, headers and rulers left out."""
    rows = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        is_header = number + 1 < len(lines) and re.match(r"^\|[-|: ]+\|$", lines[number + 1])
        if line.startswith("|") and not is_header and not re.match(r"^\|[-|: ]+\|$", line):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            rows.append([cell.strip() for cell in cells])
    return rows
