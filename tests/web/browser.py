"""A real Chromium: the system's, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from tests.api.served import Served

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MISSING = "The tests of the page drive Chromium, which is not installed (Debian: apt-get install chromium)."
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 800}
SERIOUS = ("serious", "critical")


def find_chromium() -> str:
    """The path of the browser; without one the test is skipped, and fails in CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None and os.environ.get("CI") == "true":
        pytest.fail(MISSING)
    return found or pytest.skip(MISSING)


@contextmanager
def launch() -> Iterator[Browser]:
    """A browser, until the end of the block."""
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watch:
    """What a page must not do: write errors to the console, or ask another host."""

    host: str
    faults: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()

    def attach(self, page: Page) -> None:
        page.on("console", self._check_message)
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("request", self._check_host)

    def _check_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._note(message.text)

    def _check_host(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.host:
            self._note(f"request to another host: {request.url}")

    def _note(self, text: str) -> None:
        if not any(words in text for words in self.expected):
            self.faults.append(text)


class Visitor:
    """A person with a browser at a server: opens pages, each of which is watched."""

    def __init__(self, browser: Browser, served: Served) -> None:
        self._browser = browser
        self.served = served
        self.watch = Watch(served.host)

    def open(self, path: str = "/", **options: Any) -> Page:
        """A page in a new window, which has the cookie of the server."""
        options.setdefault("viewport", DESKTOP)
        context = self._browser.new_context(base_url=self.served.base, **options)
        context.set_default_timeout(60_000)
        context.set_default_navigation_timeout(60_000)
        page = context.new_page()
        self.watch.attach(page)
        page.goto(self.served.url)
        page.goto(path)
        return page


def list_faults(page: Page) -> list[str]:
    """The serious and critical faults that axe finds on a page."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]
