"""The images of the docs: `make screenshots` writes them, and a test says when they cannot be made."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize

from tests.docs.pages import DOCS
from tests.web.browser import Visitor

IMAGES = DOCS / "images"
SIZE = ViewportSize(width=1000, height=620)
MOST_BYTES = 120_000
JULY = tuple(f"2026-07-{day:02d}" for day in range(6, 32))
SHOTS = {
    "now": "/",
    "dataset": "/datasets/totals?period=2026-07",
    "chunk": "/chunks/totals?dataid=2026-07-06",
    "preview": "/act/datasets/orders/invalidate?from=2026-07-06&to=2026-07-08",
}


def work_in_july(visitor: Visitor) -> None:
    """Weeks in which something of everything happened."""
    flow = visitor.served.flow
    flow.ready("orders", *JULY)
    flow.dataflow("hold", "sum", "2026-07-15", "2026-07-16", "--why", "waiting for the bank")
    flow.script(
        "sum.sh", 'case "$dataid" in 2026-07-09|2026-07-2[12]) echo "no such file" >&2; exit 3;; esac'
    )
    flow.runjob("--drain", "./sum.sh", code=None)
    flow.ready("orders", "2026-07-28", again=True)
    flow.dataflow("resubmit", "sum", "2026-07-30")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_images_of_the_docs_can_be_made_and_are_small(
    sqlite_visitor: Visitor, tmp_path: Path, scheme: str
) -> None:
    work_in_july(sqlite_visitor)
    folder = IMAGES if os.environ.get("DATAFLOW_SCREENSHOTS") else tmp_path
    folder.mkdir(exist_ok=True)
    page = sqlite_visitor.open("/", color_scheme=scheme, viewport=SIZE)
    for name, path in SHOTS.items():
        page.goto(path)
        page.evaluate("document.querySelector('footer').hidden = true")  # it has the path of the project
        page.screenshot(path=folder / f"{name}-{scheme}.png")
        for image in (folder / f"{name}-{scheme}.png", IMAGES / f"{name}-{scheme}.png"):
            data = image.read_bytes()
            assert struct.unpack(">II", data[16:24]) == (SIZE["width"], SIZE["height"])
            assert len(data) < MOST_BYTES, image
