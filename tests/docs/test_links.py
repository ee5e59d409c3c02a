"""Links between pages lead somewhere, every page is linked, and the changelog is in its form."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, list_anchors, list_links, name_of

LINKING = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]


def resolve(page: Path, target: str) -> tuple[Path, str]:
    """The file and the anchor that a link leads to."""
    path, _, anchor = target.partition("#")
    return (Path(os.path.normpath(page.parent / path)) if path else page), anchor


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for target in list_links(page):
        if re.match(r"https?://", target):
            continue
        path, anchor = resolve(page, target)
        if not path.exists() or (anchor and anchor not in list_anchors(path)):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_every_image_of_a_page_exists_and_says_what_it_shows(page: Path) -> None:
    text = page.read_text()
    images = re.findall(r'\b(?:src|srcset)="([^"]+)"', text)
    assert not [image for image in images if not (page.parent / image).is_file()]
    assert all('alt="' in tag for tag in re.findall(r"<img[^>]*>", text))


def test_every_image_is_shown() -> None:
    shown = "".join(page.read_text() for page in PAGES)
    assert not [image.name for image in (DOCS / "images").iterdir() if image.name not in shown]


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        ahead += [resolve(page, target)[0] for target in list_links(page) if "://" not in target]
    assert not [name_of(page) for page in DOCS.rglob("*.md") if page not in reached]


def test_the_changelog_says_what_is_not_released_yet() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    unreleased = re.search(r"^## \[Unreleased\]$(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert unreleased
    assert re.search(r"^- ", unreleased[1], flags=re.MULTILINE)
    kinds = set(re.findall(r"^### (.*)$", text, flags=re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_pages_are_short() -> None:
    lengths = {name_of(page): len(page.read_text().splitlines()) for page in PAGES}
    # The reference of all commands grows with them.
    lengths.pop("docs/commands.md")
    assert not {name: lines for name, lines in lengths.items() if lines > 450}
